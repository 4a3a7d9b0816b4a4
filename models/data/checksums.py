"""The checksum of a file, by which a copy of it is told from anything else."""

import hashlib
from pathlib import Path


def sha256(file: Path) -> str:
    """Checksum of a file, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
