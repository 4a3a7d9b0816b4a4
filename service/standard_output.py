"""Print to standard output, which may be a file on a full disk, or a pipe that nobody reads any more."""

import os
import sys
from pathlib import Path


def print_line(line: str) -> None:
    """Print a line, and flush it.

    Raises:
        OSError: it cannot be written. It is dropped, or flushing it at the end of the process would fail again.
    """
    try:
        print(line, flush=True)
    except OSError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise
