"""The demonstration succeeds with a working service, and otherwise says why not."""

import os
import subprocess
import sys
from pathlib import Path

from service.demo import sample
from tests.support.bundles import make_bundle


def run_demo(bundle: Path) -> "subprocess.CompletedProcess[str]":
    """Run `python -m service.demo` on a bundle."""
    environment = os.environ | {"ANTECEDENT_BUNDLES": str(bundle), "ANTECEDENT_WORKERS": "1", "COLUMNS": "200"}
    environment |= {"ANTECEDENT_KEYS": "redis", "ANTECEDENT_REDIS_URL": "redis://nowhere"}  # meant for another service
    command = [sys.executable, "-m", "service.demo"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_shows_every_sentence_and_the_timings(tmp_path: Path) -> None:
    """Every sample sentence is printed, and the session gave the same answers as the document."""
    done = run_demo(make_bundle(tmp_path / "bundle"))
    assert done.returncode == 0, done.stderr
    shown = "".join(done.stdout.split())
    assert all(sentence[:8] in shown for sentence in sample())
    assert "session and whole document agree on 10 of 10 sentences" in done.stdout
    assert "s for 10 sentences" in done.stdout


def test_says_why_the_service_does_not_start(tmp_path: Path) -> None:
    """Without a bundle the demonstration ends with one line and status 1."""
    done = run_demo(tmp_path / "missing")
    assert done.returncode == 1
    assert "is not a bundle" in done.stderr
    assert "Traceback" not in done.stderr
