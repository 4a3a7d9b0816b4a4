import sys
import tomllib
from pathlib import Path

import pytest

from loadtests.conversation import pair_of
from loadtests.errors import LoadTestError
from loadtests.fuzz import Plan, fuzz
from tests.support.servers import bundle


def test_requests_are_made_up_in_the_languages_of_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or next to none of them would get beyond the refusal of a pair that no model serves."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LoadTestError, match="schemathesis cannot be run"):
        fuzz("http://nowhere", "key", pair_of(bundle(tmp_path / "b", source="en", target="ja")), Plan(1, 1), tmp_path)
    told = tomllib.loads((tmp_path / "schemathesis.toml").read_text())
    drawn = {name: told["dictionaries"][each["dictionary"]]["values"] for name, each in told["parameters"].items()}
    assert drawn == {"body.source_lang": ["en"], "body.target_lang": ["ja"]}
