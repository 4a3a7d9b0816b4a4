"""Checksums of files, to tell copies from anything else, and of this program."""

import hashlib
from pathlib import Path

import models


def sha256(file: Path) -> str:
    """Return the checksum of a file, in hexadecimal.

    Raises:
        OSError: a file cannot be read.
    """
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_program(folder: Path = Path(models.__path__[0])) -> str:
    """Return the checksum of this package's code: another version may translate the same text differently.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)} {sha256(file)}\n".encode())
    return digest.hexdigest()
