import sys
import tomllib
from pathlib import Path

import pytest

from loadtests.errors import LoadTestError
from loadtests.profiles.fuzz import Plan, fuzz
from loadtests.stage.processes import free_port
from loadtests.users.conversation import pair_of
from tests.support.servers import bundle


def test_requests_are_made_up_in_the_languages_of_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise nearly all of them would be refused for a language pair that no model serves."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LoadTestError, match="schemathesis cannot be run"):
        fuzz("http://nowhere", "key", pair_of(bundle(tmp_path / "b", source="en", target="ja")), Plan(1, 1), tmp_path)
    told = tomllib.loads((tmp_path / "schemathesis.toml").read_text())
    drawn = {name: told["dictionaries"][each["dictionary"]]["values"] for name, each in told["parameters"].items()}
    assert drawn == {"body.source_lang": ["en"], "body.target_lang": ["ja"]}


def test_service_that_cannot_be_asked_is_no_result(tmp_path: Path) -> None:
    """It is an error, in one sentence, although schemathesis writes a report even then, with no operation in it."""
    with pytest.raises(LoadTestError, match="schemathesis has given up"):
        fuzz(f"http://127.0.0.1:{free_port()}", "key", {"source_lang": "ja", "target_lang": "en"}, Plan(1, 1), tmp_path)
