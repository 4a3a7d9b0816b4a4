"""Checksums: of a file, by which a copy of it is told from anything else, and of this program."""

import hashlib
from pathlib import Path

import models


def sha256(file: Path) -> str:
    """Checksum of a file, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_program(folder: Path = Path(models.__path__[0])) -> str:
    """Checksum of this package's code: another version of it may translate the same text otherwise.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)} {sha256(file)}\n".encode())
    return digest.hexdigest()
