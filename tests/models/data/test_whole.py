"""Files are complete or absent."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.data.documents import read_lines
from models.data.whole import abandoned, beside, put_folder, write_whole
from tests.support.full_disk import no_file_larger_than


def test_a_file_is_what_it_was_until_it_is_written(tmp_path: Path) -> None:
    """If anything goes wrong in the middle, the old file stays, and nothing is left beside it."""
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


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    """If a command writes several files, its one line of error says which one has no room."""
    with no_file_larger_than(2), pytest.raises(OSError, match=r"File too large: .*/file'"):
        write_whole(tmp_path / "file", [b"new"])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_ends_in_gz_is_compressed(tmp_path: Path) -> None:
    """Such files are read so, too; equal content gives equal bytes, whatever the time and the name."""
    file, link = tmp_path / "lines.gz", tmp_path / "link.gz"
    link.symlink_to(tmp_path / "other.gz")
    for each in (file, link):
        write_whole(each, [b"one\n", b"two\n"])
    assert read_lines(file) == read_lines(link) == [b"one", b"two"]
    assert file.read_bytes() == link.read_bytes() != b"one\ntwo\n"
    assert file.read_bytes()[4:8] == bytes(4)  # no modification time, by RFC 1952


def test_what_is_no_file_of_its_own_is_written_to(tmp_path: Path) -> None:
    """A pipe stays a pipe, and gets what is written; a link still leads where it did."""
    pipe, link, file = (tmp_path / name for name in ("pipe", "link", "file"))
    os.mkfifo(pipe)
    link.symlink_to(file)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, [b"n", b"ew"])
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    write_whole(link, [b"new"])
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_what_a_link_names_is_what_it_was_until_it_is_written(tmp_path: Path) -> None:
    """After a failure, the target of a link is as before; a given folder, perhaps on another disk, is not used."""
    link, file, folder = tmp_path / "link", tmp_path / "elsewhere" / "file", tmp_path / "folder"
    file.parent.mkdir()
    file.write_bytes(b"old")
    link.symlink_to(file)

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_whole(link, broken(), folder)
    assert file.read_bytes() == b"old"
    write_whole(link, [b"new"], folder)
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert list(file.parent.iterdir()) == [file]


def test_a_link_to_the_standard_output_is_written_to(tmp_path: Path) -> None:
    """Even if it is redirected to a file, that file is written to, not replaced."""
    out, script = tmp_path / "out", "from pathlib import Path; from models.data.whole import write_whole as write; "
    with out.open("wb") as stream:
        subprocess.run(
            [sys.executable, "-c", f"{script}write(Path('/dev/stdout'), [b'new'])"], stdout=stream, check=True
        )
        assert os.path.samestat(out.stat(), os.fstat(stream.fileno()))
    assert out.read_bytes() == b"new"


def test_what_was_left_is_told_from_what_is_being_written(tmp_path: Path) -> None:
    """What is named after a process is left over if that process has ended, or is this one."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder = tmp_path / "a.b"
    others = [f".a.b.{os.getppid()}.partial", ".a.b.1.former", ".axb.0.partial", ".a.b.c.0.partial", ".a.b.x.partial"]
    left = [f".a.b.{number}.partial" for number in (0, ended.pid, os.getpid(), 10**30)]
    for name in (*others, *left):
        (tmp_path / name).mkdir()
    assert {path.name for path in abandoned(folder)} == set(left)
    assert beside(folder) in abandoned(folder)
    assert beside(folder, ".former") not in abandoned(folder)


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    """Nothing of the other one is left; if it cannot be moved, the other one stays."""
    folder = tmp_path / "folder"
    for content in ("old", "new"):
        beside(folder).mkdir()
        (beside(folder) / content).touch()
        put_folder(beside(folder), folder)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["folder", "folder/new"]
    with pytest.raises(FileNotFoundError):
        put_folder(beside(folder), folder)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["folder", "folder/new"]
