"""A worker ends silently when nobody is left to hear it."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("bundle", ["stand_in_bundle", "missing"])
def test_ends_quietly_when_nobody_hears_its_greeting(
    bundle: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A worker whose service has gone before it can send its greeting or an error ends without any output."""
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
