import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from loadtests.__main__ import app, main
from loadtests.commands import measurements
from loadtests.report.report import Report
from loadtests.stage.processes import ROOT
from tests.support.command_line import run_here


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Restore the signal handlers that a command run in this process has replaced."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process of its own until it ends."""
    command = [sys.executable, "-m", "loadtests", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_throughput_is_measured_on_the_device_that_it_is_told() -> None:
    """A device that does not exist is refused in one sentence, without a traceback."""
    done = run("throughput", "--device", "nowhere", "--workers", "1")
    assert done.returncode != 0
    assert "loadtests: there is no device 'nowhere'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_throughput_counts_the_rounds_that_it_is_told_to(tmp_path: Path) -> None:
    """On the shipped model, one of three rounds counts, and the service translates as the runtime does."""
    small = ("--rounds", "1", "--uncounted", "2", "--documents", "1", "--sentences", "3", "--single", "3")
    done = run("throughput", *small, "--workers", "1", "--report", str(tmp_path))
    assert "the service translates as the runtime does" in done.stdout, done.stderr
    found = json.loads((tmp_path / "throughput.json").read_text())
    assert (found["conditions"]["rounds"], found["conditions"]["uncounted"]) == (1, 2)
    ratio, *of_rounds = (found["figures"][f"HTTP / direct{w}"] for w in ("", ", slowest round", ", fastest round"))
    assert of_rounds == pytest.approx([ratio, ratio])
    assert found["checks"][-1]["found"] == "0 differ"


def test_report_is_written_and_a_missed_budget_is_status_1(tmp_path: Path) -> None:
    """A sentence that takes three seconds in the worker is late on any machine; users of all kinds are answered."""
    corpus = tmp_path / "corpus.ja"
    corpus.write_text("雨が降った。\n")
    slow = ("--stand-in-ms", "3000", "--workers", "3", "--corpus", str(corpus))
    done = run("smoke", "--seconds", "1", "--rate", "0.1", *slow, "--report", str(tmp_path / "reports"))
    assert (done.returncode, "MISSED  live, ms at 50 %" in done.stdout) == (1, True)
    assert all(f"{kind}, answers" in done.stdout for kind in ("live", "first event", "document"))
    assert {file.name for file in (tmp_path / "reports").iterdir()} == {"smoke.html", "smoke.json"}


def test_report_is_written_and_its_verdict_counts_though_nobody_reads_what_is_shown(tmp_path: Path) -> None:
    """`| head` closes the output early, but the report, written after that, may hold an hour of measurements."""
    program = (
        "import sys; from pathlib import Path; import loadtests.__main__ as command\n"
        "from loadtests.commands.options import end; from loadtests.report.report import Report\n"
        f"command.app = lambda **_: (print('first'), end(Report('smoke', {{}}, {{}}, []), Path({str(tmp_path)!r})))\n"
        "sys.exit(command.main())\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert {file.name for file in tmp_path.iterdir()} == {"smoke.html", "smoke.json"}


def test_what_cannot_be_run_is_status_2(tmp_path: Path) -> None:
    """One line on standard error says why."""
    done = run("smoke", "--bundle", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert done.stderr.startswith("loadtests: ")
    assert len(done.stderr.splitlines()) == 1
    assert run_here(main, "no-such-profile").returncode == 2


@pytest.mark.parametrize("command", ["smoke", "fuzz"])
def test_report_that_could_not_be_written_is_status_2_at_once(tmp_path: Path, command: str) -> None:
    """It is refused before anything starts, even before the bundle is looked for; a missing folder is made."""
    nothing = (command, "--bundle", str(tmp_path / "nowhere"))
    (tmp_path / "file").touch()
    done = run_here(main, *nothing, "--report", str(tmp_path / "file" / "reports"))
    assert (done.returncode, "Not a directory" in done.stderr, len(done.stderr.splitlines())) == (2, True, 1)
    run_here(main, *nothing, "--report", str(tmp_path / "new" / "reports"))
    assert [*(tmp_path / "new" / "reports").iterdir()] == []


def _numbers() -> list[tuple[str, str]]:
    """Every option that takes a fractional number, with its command."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    options = [(name, option) for name, command in group.commands.items() for option in command.params]
    return [(name, option.opts[0]) for name, option in options if option.type.name == "float range"]


@pytest.mark.parametrize(("command", "option"), _numbers())
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_number_that_is_on_no_side_of_a_bound_is_refused(
    tmp_path: Path, command: str, option: str, number: str
) -> None:
    """With NaN or infinity as a rate or a time, users would never come, or never stop coming."""
    done = run_here(main, command, option, number, "--bundle", str(tmp_path / "nowhere"))
    assert (done.returncode, f"{number} is not a finite number" in done.stderr) == (2, True), done.stderr


def test_bundle_is_named_from_the_folder_of_the_command(stand_in_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service that is started has another working directory, from which a relative name would lead elsewhere."""
    asked: list[Path] = []

    def fuzz(_: object, bundle: Path) -> Report:
        asked.append(bundle)
        return Report("fuzz", {}, {}, [])

    monkeypatch.setattr(measurements.fuzz_test, "run", fuzz)
    monkeypatch.chdir(stand_in_bundle.parent)
    assert run_here(main, "fuzz", "--bundle", stand_in_bundle.name).returncode == 0
    assert asked == [stand_in_bundle]
