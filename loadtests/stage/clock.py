"""A wall clock that can be set wrong for a process with libfaketime; the monotonic clock stays right."""

import platform
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Final

from loadtests.errors import LoadTestError

SEEN_SECONDS: Final = 1.5
_NAME: Final = "libfaketime.so.1"
_DEBIAN: Final = "*/faketime/"


class Clock:
    """What a process sees as the time of day; `file` holds by how much it is wrong."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set_off(0)

    def set_off(self, seconds: float) -> None:
        """Make the clock wrong by `seconds`; processes see that within SEEN_SECONDS."""
        self._file.write_text(f"{seconds:+.0f}s\n")

    def environment(self) -> Mapping[str, str]:
        """Return environment variables that make a process and its children use this clock.

        Raises:
            LoadTestError: libfaketime is not installed, or not available for this processor.
        """
        return {
            "LD_PRELOAD": str(_library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


def _library() -> Path:
    """Return the library of the system's package, else that of the Python package, which is for x86-64 only."""
    for found in sorted(Path("/usr/lib").glob(_DEBIAN + _NAME)):
        return found
    with suppress(PackageNotFoundError):
        for file in files("libfaketime") or []:
            if file.name == _NAME and platform.machine() == "x86_64":
                return Path(str(file.locate()))
    raise LoadTestError(f"{_NAME} is not there: the system's package faketime has it")
