import subprocess
import sys
from pathlib import Path

from loadtests.processes import ROOT


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command line, to its end."""
    command = [sys.executable, "-m", "loadtests", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_report_is_written_and_a_missed_budget_is_status_1(tmp_path: Path) -> None:
    """In one second no whole document comes and is answered, which its budget finds."""
    done = run("smoke", "--seconds", "1", "--rate", "3", "--stand-in-ms", "0", "--report", str(tmp_path))
    assert (done.returncode, "MISSED  document, ms at 99 %" in done.stdout) == (1, True)
    assert {file.name for file in tmp_path.iterdir()} == {"smoke.html", "smoke.json"}


def test_what_cannot_be_run_is_status_2(tmp_path: Path) -> None:
    """One line says why."""
    done = run("smoke", "--bundle", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert done.stderr.startswith("loadtests: ")
    assert len(done.stderr.splitlines()) == 1
    assert run("no-such-profile").returncode == 2
