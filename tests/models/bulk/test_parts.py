"""A corpus is divided between documents; a part's key depends on its text and on how it is to be translated."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.bulk.parts import CorpusFile, Part
from models.errors import DataError

TEXT = "\n\n一。\n二。\n\n三。\n\n\n四。\n五。\n六。\n\n七。\n\n\n"
lines = st.lists(st.sampled_from(["", " ", "\u3000", "から。", "きく。\r", "け\u2028く。", " かも。 "]), max_size=30)


def write(folder: Path, text: str, how: str = "how") -> CorpusFile:
    """A corpus of this text."""
    file = folder / "corpus.ja"
    file.write_text(text, encoding="utf-8", newline="")
    return CorpusFile(file, file, how)


def texts(corpus: CorpusFile, parts: list[Part]) -> list[str]:
    """The texts of the parts."""
    return [corpus.read(part).decode() for part in parts]


def test_parts_are_whole_documents(tmp_path: Path) -> None:
    """A part ends with the document that fills it, and knows its first line and how many sentences it has."""
    corpus = write(tmp_path, TEXT)
    parts = list(corpus.parts(2))
    assert texts(corpus, parts) == ["\n\n一。\n二。\n\n", "三。\n\n\n四。\n五。\n六。\n\n", "七。\n\n\n"]
    assert [(part.line, part.sentences) for part in parts] == [(1, 2), (6, 4), (13, 1)]
    assert len(list(corpus.parts(100))) == 1
    assert texts(corpus, list(corpus.parts(1)))[1] == "三。\n\n\n"


@settings(max_examples=60)
@given(lines=lines, least=st.integers(1, 6), mark=st.sampled_from(["", "\ufeff"]), end=st.sampled_from(["", "\n"]))
def test_parts_are_the_corpus(tmp_path: Path, lines: list[str], least: int, mark: str, end: str) -> None:
    """However a corpus is laid out, its parts add up to it; all but the last are full, and none cuts a document."""
    text = "\n".join(lines) + end
    corpus = write(tmp_path, mark + text)
    parts = list(corpus.parts(least))
    found = texts(corpus, parts)
    assert "".join(found) == text
    assert all(part.sentences >= least for part in parts[:-1])
    assert all(not one.split("\n")[-2].strip() for one in found[:-1])
    assert sum(part.sentences for part in parts) == sum(bool(line.strip()) for line in lines)
    assert [part.line for part in parts] == [1 + "".join(found[:number]).count("\n") for number in range(len(found))]


def test_key_is_of_text_and_settings(tmp_path: Path) -> None:
    """Equal texts to be translated in the same way share a key, wherever they are; all others have another."""
    first, second, third = write(tmp_path, "一。\n\n一。\n\n二。\n\n").parts(1)
    assert first.key == second.key != third.key
    (otherwise, *_) = write(tmp_path, "一。\n\n", how="otherwise").parts(1)
    (alike, *_) = write(tmp_path, "一。\n\n").parts(1)
    assert alike.key == first.key != otherwise.key


def test_corpus_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    """A text is never translated under the key of another one."""
    corpus = write(tmp_path, "一。\n\n二。\n")
    _, part = corpus.parts(1)
    write(tmp_path, "一。\n\n三。\n")
    with pytest.raises(DataError, match=r"corpus\.ja:3: has changed"):
        corpus.read(part)


def test_corpus_is_read_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a cluster run in another folder than the command, whose messages name the corpus as it was given."""
    monkeypatch.chdir(tmp_path)
    Path("corpus.ja").write_text(TEXT, encoding="utf-8")
    with CorpusFile.open(Path("corpus.ja"), "how") as corpus:
        parts = list(corpus.parts(2))
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert "".join(texts(corpus, parts)) == TEXT
    assert corpus.name == Path("corpus.ja")


@pytest.mark.parametrize(("line", "message"), [(b"\xff", "not valid UTF-8"), (b"a" * 5000, "5000 characters")])
def test_bad_line_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    """A line that cannot be a sentence is found while the corpus is divided, before anything is translated."""
    file = tmp_path / "corpus.ja"
    file.write_bytes("一。\n\n".encode() + line + b"\n")
    with pytest.raises(DataError, match=rf"corpus\.ja:3: .*{message}"):
        list(CorpusFile(file, file, "how").parts(1))


def test_compressed_corpus_is_the_same(tmp_path: Path) -> None:
    """Compression makes no difference to parts and texts."""
    expected = list(write(tmp_path, TEXT).parts(2))
    packed = tmp_path / "corpus.ja.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    with CorpusFile.open(packed, "how") as corpus:
        parts = list(corpus.parts(2))
        assert parts == expected
        assert "".join(texts(corpus, parts)) == TEXT


def test_compressed_corpus_whose_name_does_not_say_so_is_refused(tmp_path: Path) -> None:
    """As without a cluster, the error says that it is compressed, not that some byte is no text."""
    packed = tmp_path / "corpus.ja"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    with (
        CorpusFile.open(packed, "how") as corpus,
        pytest.raises(DataError, match=r"corpus\.ja: is compressed with gzip"),
    ):
        list(corpus.parts(2))


@pytest.mark.parametrize(
    "damaged",
    [gzip.compress(TEXT.encode())[:-9], TEXT.encode(), gzip.compress(b"")[:10] + b"\xff" * 20],
    ids=["cut", "plain", "other bytes"],
)
def test_damaged_corpus_is_refused_by_its_name(tmp_path: Path, damaged: bytes) -> None:
    """It has been cut short, is not compressed at all, or is corrupted."""
    packed = tmp_path / "corpus.ja.gz"
    packed.write_bytes(damaged)
    with pytest.raises(DataError, match=r"corpus\.ja\.gz: cannot be read"), CorpusFile.open(packed, "how"):
        pass
