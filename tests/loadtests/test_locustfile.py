"""Locust without the profiles, as docs/load.md has it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers import ROOT


def _scenario(outcomes: str) -> str:
    members = {"urls": [], "pair": {}, "documents": [], "expected": [], "shares": {}, "load": {"shape": "once"}}
    return json.dumps(members | {"outcomes": outcomes})


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (None, "scenario.json'"),
        ('{"urls": "x"}', "scenario.json is no scenario: urls: Input should be a valid array"),
        (_scenario("missing/outcomes"), "missing/outcomes'"),
    ],
)
def test_scenario_that_cannot_be_run(scenario: str | None, said: str, tmp_path: Path) -> None:
    """It ends the command with one sentence, and no user is started anew for ever."""
    file = tmp_path / "scenario.json"
    if scenario is not None:
        file.write_text(scenario)
    options = ["--headless", "--users", "3", "--loglevel", "WARNING", "--scenario", str(file)]
    command = [sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests" / "locustfile.py"), *options]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("locust: ")
    assert line.endswith(said)
