"""What `make` says when it cannot do what it is asked to."""

import subprocess

from tests.support.servers import ROOT


def test_nothing_is_compared_before_it_is_trained() -> None:
    """If a step has been skipped, `make` says which command is missing."""
    command = [
        "make",
        "--old-file",
        ".venv/.stamp",
        "compare-systems",
        "SET=none",
    ]  # uses the existing environment
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no trained run in runs/none: make train-systems SET=none" in done.stderr
