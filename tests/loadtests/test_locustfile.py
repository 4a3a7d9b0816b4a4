"""Locust run without the profiles, as docs/load.md describes."""

import json
import subprocess
import sys
from collections.abc import Sequence
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
    """The command ends with one sentence, rather than starting users again and again."""
    file = tmp_path / "scenario.json"
    if scenario is not None:
        file.write_text(scenario)
    assert _refusal(file, "--users", "3").endswith(said)


@pytest.mark.parametrize("users", [(), ("--users", "2")])
def test_too_few_users(users: Sequence[str], tmp_path: Path) -> None:
    """One user is needed for each kind, and each waits for the others: with fewer, they would wait for ever."""
    file = tmp_path / "scenario.json"
    file.write_text(_scenario(str(tmp_path / "outcomes")))
    assert _refusal(file, *users).startswith("locust: --users has to be 3")


def _refusal(scenario: Path, *users: str) -> str:
    options = ["--headless", *users, "--loglevel", "WARNING", "--scenario", str(scenario)]
    command = [sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests" / "locustfile.py"), *options]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("locust: ")
    return line
