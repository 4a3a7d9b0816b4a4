"""docs/runs.md explains every value of a run in the words of the code."""

import re

from models.config.page import page
from tests.support.servers import ROOT


def test_the_page_is_what_the_code_says() -> None:
    """docs/runs.md is what `python -m models values` prints now."""
    assert (ROOT / "docs" / "runs.md").read_text() == page()


def test_every_value_is_explained() -> None:
    """Every value has an explanation that ends with a full stop."""
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*?) \|$", page(), re.MULTILINE)
    assert len(rows) > 100
    assert not [name for name, meaning in rows if not meaning.endswith(".")]
