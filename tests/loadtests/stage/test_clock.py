import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadtests.errors import LoadTestError
from loadtests.stage.clock import Clock

_TELL = "import time; print(time.time(), time.monotonic())"


def test_no_library_for_this_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python package is for x86-64 only; elsewhere an error names the system's, rather than using a right clock."""
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    monkeypatch.setattr("loadtests.stage.clock._DEBIAN", "none/")
    with pytest.raises(LoadTestError, match="faketime"):
        Clock(tmp_path / "clock").environment()


def test_process_goes_by_a_clock_that_is_wrong(tmp_path: Path) -> None:
    """Its time of day is an hour slow, its monotonic clock right; once set right, a new process has the right time."""
    clock = Clock(tmp_path / "clock")
    try:
        clock.environment()
    except LoadTestError as error:
        pytest.skip(str(error))
    clock.set_off(-3600)
    late, monotonic = _told(clock)
    assert -3700 < late - time.time() < -3500
    assert abs(monotonic - time.monotonic()) < 100
    clock.set_off(0)
    assert abs(_told(clock)[0] - time.time()) < 100


def _told(clock: Clock) -> tuple[float, float]:
    environment = os.environ | dict(clock.environment())
    done = subprocess.run([sys.executable, "-c", _TELL], env=environment, check=True, capture_output=True, text=True)
    wall, monotonic = map(float, done.stdout.split())
    return wall, monotonic
