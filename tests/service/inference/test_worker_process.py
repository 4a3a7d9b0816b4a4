"""A worker ends in silence when nobody is left to answer."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("bundle", ["stand_in_bundle", "missing"])
def test_ends_quietly_when_nobody_hears_its_greeting(
    bundle: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A worker whose service is gone before it can greet, or say what is wrong, ends without a word."""
    folder = tmp_path if bundle == "missing" else request.getfixturevalue(bundle)
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        command = [sys.executable, "-m", "service.inference.worker_process", "--bundle", str(folder)]
        translator = () if bundle == "missing" else ("--translator", "tests.support.stand_in:load")
        done = subprocess.run(
            [*command, "--socket", str(theirs.fileno()), *translator],
            pass_fds=(theirs.fileno(),),
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
