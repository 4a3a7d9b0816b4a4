"""A file that `translate` writes is complete or absent, even if others write it, too."""

import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from models.commands.files import readable, writable
from models.data.documents import read_documents
from models.errors import DataError


def test_two_processes_that_write_one_file_leave_it_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is that of the process that ends last, and nothing is left beside it."""
    out = tmp_path / "out"
    with writable(out) as one:
        one.write("one\n")
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(os, "getpid", os.getppid)
            with writable(out) as other:
                other.write("other\n")
        assert out.read_text(encoding="utf-8") == "other\n"
        one.write("more\n")
    assert out.read_text(encoding="utf-8") == "one\nmore\n"
    assert list(tmp_path.iterdir()) == [out]


def test_what_had_been_translated_before_a_failure_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is kept under a name that is reported; what a killed process has left is removed by the next one."""
    out, killed = tmp_path / "out", tmp_path / f".out.{2**30}.partial"
    killed.write_text("half of it", encoding="utf-8")

    def fail() -> None:
        with writable(out) as stream:
            stream.write("half\n")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        fail()
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [("out.partial", "half\n")]
    assert f"{out}.partial: contains what had been translated" in capsys.readouterr().err


def test_what_is_wrong_with_the_standard_input_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names standard input, not the temporary file that holds it, which is gone when somebody looks."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\n\xff\n")))
    with pytest.raises(DataError, match=r"^standard input:2: is not valid UTF-8"), readable(None) as file:
        read_documents(file)


def test_a_file_that_ends_in_gz_is_compressed_and_is_read_so(tmp_path: Path) -> None:
    """Corpora are read in the same way."""
    out = tmp_path / "out.gz"
    with writable(out) as stream:
        stream.write("ein Satz\n")
    assert gzip.decompress(out.read_bytes()) == b"ein Satz\n"
    assert read_documents(out)[0].sentences[0].source == "ein Satz"


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_what_cannot_take_its_place_is_kept(tmp_path: Path, name: str) -> None:
    """It is kept as plain text, under a name by which it is read as such."""
    out = tmp_path / name

    def fail() -> None:
        with writable(out) as stream:
            stream.write("a sentence\n")
            out.mkdir()

    with pytest.raises(IsADirectoryError):
        fail()
    assert read_documents(tmp_path / f"{name}.partial")[0].sentences[0].source == "a sentence"
    assert sorted(file.name for file in tmp_path.iterdir()) == [name, f"{name}.partial"]
