"""Files that are there whole or not at all, whatever ends the process, or the power, while they are written."""

import os
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from typing import Final

PARTIAL: Final = ".partial"
"""What the name of a file ends with that is being written."""


def write_whole(file: Path, pieces: Iterable[bytes], folder: Path | None = None) -> None:
    """Write a file; after a failure it is what it was before.

    Under a name of this call's own: another process may be writing the same file.

    Args:
        file: to write.
        pieces: of what it holds, in order.
        folder: of the same file system, where it is written; its own if not given.

    Raises:
        OSError: it cannot be written.
    """
    partial = (folder or file.parent) / f".{file.name}.{token_hex(4)}{PARTIAL}"
    try:
        with partial.open("wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
