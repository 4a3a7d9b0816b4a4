"""Aligned files become documents, and nothing that is wrong with them is ignored silently."""

import bz2
import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.config import ContextWindow
from models.data.documents import (
    MAX_CHARACTERS,
    BadLines,
    Document,
    Sentence,
    Window,
    read_documents,
    read_lines,
    read_translations,
    windows,
)
from models.errors import DataError


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a corpus file, compressed if it is named so."""
    path = folder / name
    raw = text if isinstance(text, bytes) else text.encode("utf-8")
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def sentences(*pairs: tuple[str, str | None]) -> tuple[Sentence, ...]:
    """Make sentences from (source, target) pairs."""
    return tuple(Sentence(source, target) for source, target in pairs)


def error_of(source: Path, target: Path | None = None) -> DataError:
    """Read files that cannot be read; return the error."""
    with pytest.raises(DataError) as caught:
        read_documents(source, target)
    return caught.value


def test_an_empty_line_ends_a_document(tmp_path: Path) -> None:
    """Sentences up to an empty line in both files are one document, named after its first line."""
    source = write(tmp_path, "x.ja", "一。\n二。\n\n三。\n")
    target = write(tmp_path, "x.en", "One.\nTwo.\n\nThree.\n")
    assert read_documents(source, target) == [
        Document(sentences(("一。", "One."), ("二。", "Two.")), "x.ja:1"),
        Document(sentences(("三。", "Three.")), "x.ja:4"),
    ]


@pytest.mark.parametrize("text", ["a\n\nb\n", "a\n\nb", "\n\na\n\n\n\nb\n\n\n", "a\r\n\r\nb\r\n", "\ufeffa\n \t\nb\n"])
def test_surrounding_empty_lines_and_line_end_styles_make_no_difference(tmp_path: Path, text: str) -> None:
    """Repeated empty lines, Windows line ends, a byte order mark or a missing last line end give the same documents."""
    documents = read_documents(write(tmp_path, "x.txt", text))
    assert [document.sentences for document in documents] == [sentences(("a", None)), sentences(("b", None))]


@pytest.mark.parametrize("text", ["", "\ufeff"])
def test_an_empty_file_has_no_documents(tmp_path: Path, text: str) -> None:
    """A file that is empty, or has only a byte order mark, holds no document and no line."""
    file = write(tmp_path, "x.txt", text)
    assert read_documents(file) == []
    assert read_lines(file) == []


def test_a_compressed_file_of_another_name_is_refused(tmp_path: Path) -> None:
    """Otherwise its compressed bytes would be read as lines."""
    path = tmp_path / "x.ja"
    path.write_bytes(gzip.compress(b"a\n"))
    assert str(error_of(path)) == f"{path}: is compressed with gzip: unpack it, or rename it to end in .gz"


@pytest.mark.parametrize(
    ("packed", "kind"),
    [
        (lzma.compress(b"a\n"), "xz"),
        (bz2.compress(b"a\n"), "bzip2"),
        (b"\x28\xb5\x2f\xfd\x04\n\n", "zstd"),
        (b"PK\x03\x04\n\n", "zip"),
    ],
)
def test_files_compressed_in_other_ways_are_refused(tmp_path: Path, packed: bytes, kind: str) -> None:
    """Not as two files with different numbers of lines."""
    source, target = write(tmp_path, "x.ja", "a\n"), write(tmp_path, "x.en", packed)
    expected = f"{target}: is compressed with {kind}: unpack it, or compress it with gzip"
    assert str(error_of(source, target)) == expected


def test_gzip_and_plain_files_mix(tmp_path: Path) -> None:
    """One side may be compressed and the other plain."""
    source = write(tmp_path, "x.ja.gz", "一。\n")
    target = write(tmp_path, "x.en", "One.\n")
    assert read_documents(source, target)[0].sentences == sentences(("一。", "One."))


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1e", "\r"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, character: str) -> None:
    """Other line ends of Unicode stay inside their sentence, so that the two files remain aligned."""
    source = write(tmp_path, "x.ja", f"a{character}b\nc\n")
    assert read_documents(source)[0].sentences == sentences((f"a{character}b", None), ("c", None))


def test_different_line_counts_are_refused(tmp_path: Path) -> None:
    """The error names the longer file, the first line without a counterpart and both counts."""
    source = write(tmp_path, "x.ja", "a\nb\n")
    target = write(tmp_path, "x.en", "A\nB\nC\n")
    error = error_of(source, target)
    assert (error.path, error.line) == (str(target), 3)
    assert "has 3 lines" in str(error)
    assert f"{source} has 2" in str(error)


def test_different_line_counts_cannot_be_skipped(tmp_path: Path) -> None:
    """Files that are not aligned stay an error even when bad lines are left out."""
    source, target = write(tmp_path, "x.ja", "a\nb\n"), write(tmp_path, "x.en", "A\n")
    with pytest.raises(DataError, match="no counterpart"):
        read_documents(source, target, bad=BadLines())


@pytest.mark.parametrize(
    ("source", "target", "blamed"), [("a\n\nc\n", "A\nB\nC\n", 0), ("a\nb\nc\n", "A\n\u3000\nC\n", 1)]
)
def test_a_boundary_in_one_file_only_is_refused(tmp_path: Path, source: str, target: str, blamed: int) -> None:
    """The error names the file that has the empty line, and the line."""
    paths = write(tmp_path, "x.ja", source), write(tmp_path, "x.en", target)
    error = error_of(*paths)
    assert (error.path, error.line) == (paths[blamed], 2)
    assert "is empty" in str(error)


def test_invalid_utf8_is_refused(tmp_path: Path) -> None:
    """The error names file, line and byte."""
    source = write(tmp_path, "x.ja", b"good\nba\xff\xfed\n")
    error = error_of(source)
    assert str(error) == f"{source}:2: is not valid UTF-8 at byte 3"


def test_translations_are_read_as_they_are_or_refused(tmp_path: Path) -> None:
    """Figures on text that is not UTF-8 would be those of another text; an empty line keeps its place."""
    assert read_translations(write(tmp_path, "good", "á b\r\n\n c\n")) == ["á b", "", " c"]
    path = write(tmp_path, "latin", "a\ná\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not valid UTF-8 at byte 1") as caught:
        read_translations(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_a_sentence_over_the_limit_is_refused(tmp_path: Path) -> None:
    """The limit is in characters, not bytes; a sentence of exactly that length passes."""
    longest = write(tmp_path, "x.ja", "あ" * MAX_CHARACTERS + "\n")
    longer = write(tmp_path, "x.en", "a" * (MAX_CHARACTERS + 1) + "\n")
    error = error_of(longest, longer)
    assert (error.path, error.line) == (longer, 1)
    assert f"{MAX_CHARACTERS + 1} characters" in str(error)
    assert len(read_documents(longest)) == 1


def test_skipping_leaves_out_pairs_and_names_them(tmp_path: Path) -> None:
    """With BadLines, every bad pair is left out on both sides, counted and named."""
    source = write(tmp_path, "x.ja", b"a\n\xff\nc\nd\ne\n")
    target = write(tmp_path, "x.en", b"A\nB\n" + b"C" * (MAX_CHARACTERS + 1) + b"\nD\n\n")
    bad = BadLines()
    documents = read_documents(source, target, bad=bad)
    assert [document.sentences for document in documents] == [sentences(("a", "A"), ("d", "D"))]
    assert bad.count == 3
    assert [line.split(": ")[0] for line in bad.found] == [f"{source}:2", f"{target}:3", f"{target}:5"]


def test_skipping_never_joins_two_documents(tmp_path: Path) -> None:
    """An empty line in only one file is left out, and still ends the document."""
    source, target = write(tmp_path, "x.ja", "a\n\nc\n"), write(tmp_path, "x.en", "A\nB\nC\n")
    documents = read_documents(source, target, bad=BadLines())
    assert [document.sentences for document in documents] == [sentences(("a", "A")), sentences(("c", "C"))]


def test_nothing_bad_leaves_the_list_of_bad_lines_empty(tmp_path: Path) -> None:
    """With BadLines, a clean corpus is still read whole."""
    bad = BadLines()
    source = write(tmp_path, "x.ja", "a\n\nb\n")
    assert read_documents(source, bad=bad) == read_documents(source)
    assert bad.count == 0


def test_a_missing_corpus_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside the data folder the error names ANTECEDENT_DATA; elsewhere the variable would not help."""
    monkeypatch.setenv("ANTECEDENT_DATA", str(tmp_path / "corpora"))
    assert "ANTECEDENT_DATA" in str(error_of(tmp_path / "corpora" / "x.ja"))
    elsewhere = str(error_of(tmp_path / "x.ja"))
    assert elsewhere == f"{tmp_path / 'x.ja'}: no such file"


@pytest.mark.parametrize(
    "damage",
    [b"not gzip", gzip.compress(b"a\n" * 500)[:-10], gzip.compress(b"a\n")[:10] + b"\xff" * 20],
    ids=["not gzip", "cut", "garbled"],  # not the bytes, which contain the time
)
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, damage: bytes) -> None:
    """The error names a file that is no gzip, is cut short, or cannot be unpacked."""
    path = tmp_path / "x.gz"
    path.write_bytes(damage)
    error = error_of(path)
    assert str(error).startswith(f"{path}: cannot be read")


def test_windows_hold_the_sentences_just_before_oldest_first() -> None:
    """Each sentence occurs once, in order, with up to `size` sentences before it."""
    a, b, c, d = (Sentence(text) for text in "abcd")
    assert list(windows(Document((a, b, c, d)), ContextWindow(size=2))) == [
        Window(a),
        Window(b, (a,)),
        Window(c, (a, b)),
        Window(d, (b, c)),
    ]
    assert list(windows(Document((a, b)), ContextWindow())) == [Window(a), Window(b)]


def test_windows_reach_as_far_as_they_say() -> None:
    """A sliding window moves with the sentence, on both sides; a block is the same for all sentences in it."""
    a, b, c, d, e = (Sentence(text) for text in "abcde")
    document = Document((a, b, c, d, e))
    assert list(windows(document, ContextWindow(size=1, following=1)))[1:3] == [
        Window(b, (a,), (c,)),
        Window(c, (b,), (d,)),
    ]
    assert list(windows(document, ContextWindow(kind="block", size=1, following=1))) == [
        Window(a, (), (b,)),
        Window(b, (a,), ()),
        Window(c, (), (d,)),
        Window(d, (c,), ()),
        Window(e, (), ()),
    ]
    assert list(windows(document, ContextWindow(kind="block", size=2)))[2:4] == [Window(c, (a, b)), Window(d)]


@given(st.lists(st.integers(1, 6), max_size=6), st.integers(0, 4))
def test_windows_never_cross_a_document(lengths: list[int], size: int) -> None:
    """No preceding sentence comes from another document, whatever the lengths."""
    documents = [Document(tuple(Sentence(f"{d}.{s}") for s in range(n))) for d, n in enumerate(lengths)]
    for number, document in enumerate(documents):
        for window in windows(document, ContextWindow(size=size)):
            assert len(window.preceding) <= size
            assert all(sentence.source.startswith(f"{number}.") for sentence in window.preceding)


def test_reading_documents_needs_no_torch() -> None:
    """The HTTP process imports the types of documents without loading torch."""
    code = "import sys, models.data.documents; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
