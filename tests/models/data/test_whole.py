"""Files that are whole or not there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from models.data.whole import write_whole


def test_a_file_is_what_it_was_until_it_is_written(tmp_path: Path) -> None:
    """Whatever goes wrong in the middle leaves the old one, and nothing beside it."""
    file = tmp_path / "file"
    write_whole(file, [b"old"])

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_whole(file, broken())
    assert file.read_bytes() == b"old"
    write_whole(file, [b"n", b"ew"])
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]
