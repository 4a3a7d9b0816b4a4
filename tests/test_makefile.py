"""What `make` says where it cannot do what it is asked for."""

import subprocess

from tests.support.servers import ROOT


def test_nothing_is_compared_before_it_is_trained() -> None:
    """Whoever has missed a step learns which one."""
    command = [
        "make",
        "--old-file",
        ".venv/.stamp",
        "compare-systems",
        "SET=none",
    ]  # with the environment that there is
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no trained run in runs/none: make train-systems SET=none" in done.stderr
