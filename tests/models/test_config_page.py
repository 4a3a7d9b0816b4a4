"""docs/runs.md says of every value of a run what the code says of it."""

import re

from models.config.page import page
from tests.support.servers import ROOT


def test_the_page_is_what_the_code_says() -> None:
    """`python -m models values` has been written to it after the last change."""
    assert (ROOT / "docs" / "runs.md").read_text() == page()


def test_every_value_is_explained() -> None:
    """In a sentence, which ends with a full stop."""
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*?) \|$", page(), re.MULTILINE)
    assert len(rows) > 100
    assert not [name for name, meaning in rows if not meaning.endswith(".")]
