"""Lines on standard output, which may be a file on a disk that is full, or a pipe that nobody reads any more."""

import os
import sys
from pathlib import Path


def say(line: str) -> None:
    """Print a line at once.

    Raises:
        OSError: it cannot be written, and is dropped: the end of the process would fail on it once more.
    """
    try:
        print(line, flush=True)
    except OSError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise
