"""Text in BERT's own word pieces."""

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer

from models.data.wordpiece import CONFIG, SETTINGS, TOKENIZER, VOCABULARY, WordPiece
from models.errors import DataError

CONTROL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*CONTROL, "a", "##b", "##c", "abc", "A", "é", "e", "[", "]", "sep", "神", "社"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with only a vocabulary."""
    (tmp_path / VOCABULARY).write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return tmp_path


def pieces(folder: Path, text: str) -> list[str]:
    """The pieces of a text."""
    return [PIECES[number] for number in WordPiece.load(folder).encode([text])[0]]


def test_longest_pieces_first_in_lower_case(folder: Path) -> None:
    """As in BERT: lower case without accents, the longest piece first, and each Chinese character by itself."""
    assert pieces(folder, "ABC ab") == ["abc", "a", "##b"]
    assert pieces(folder, "é神社x") == ["e", "神", "社", "[UNK]"]


def test_settings_of_the_folder_count(folder: Path) -> None:
    """A cased BERT keeps capitals and accents."""
    (folder / SETTINGS).write_text(json.dumps({"do_lower_case": False}), encoding="utf-8")
    assert pieces(folder, "A é") == ["A", "é"]


def test_control_pieces_in_a_text_are_text(folder: Path) -> None:
    """A separator in a sentence is read as text, whichever file the vocabulary is read from."""
    assert pieces(folder, "[SEP]") == ["[", "sep", "]"]
    WordPiece.load(folder).save(folder)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.add_special_tokens([AddedToken("[SEP]", special=True)])
    tokenizer.save(str(folder / TOKENIZER))
    assert pieces(folder, "[SEP]") == ["[", "sep", "]"]


def test_what_is_saved_reads_as_before(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One file holds everything; its settings for truncation and padding are ignored."""
    wordpiece, other = WordPiece.load(folder), tmp_path_factory.mktemp("saved")
    wordpiece.tokenizer.enable_truncation(2)
    wordpiece.tokenizer.enable_padding(length=9)
    wordpiece.save(other)
    assert pieces(other, "ABC ab a") == ["abc", "a", "##b", "a"]
    assert WordPiece.load(other).size == len(PIECES)


def test_a_line_of_the_vocabulary_ends_with_a_line_feed_alone(folder: Path) -> None:
    """A vocabulary may have a line separator as a piece; later pieces keep their numbers."""
    before = WordPiece.load(folder).encode(["abc a"])[0]
    file = folder / "vocab.txt"
    file.write_text("\u2028\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    wordpiece = WordPiece.load(folder)
    assert wordpiece.encode(["abc a"])[0] == [number + 1 for number in before]
    assert wordpiece.size == len(PIECES) + 1


def test_many_texts_are_as_each(folder: Path) -> None:
    """Encoding many texts gives the same as encoding each one."""
    wordpiece = WordPiece.load(folder)
    texts = ["abc a", "", "神 ab"] * 800
    assert wordpiece.encode(texts) == [wordpiece.encode([text])[0] for text in texts[:3]] * 800


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no tokenizer.json or vocab.txt"),
        ({TOKENIZER: "{"}, "can be read"),
        ({SETTINGS: "{", VOCABULARY: "a"}, "cannot be read"),
        ({SETTINGS: "[" * 10**5, VOCABULARY: "a"}, "cannot be read"),
        ({VOCABULARY: "a\nb\n[UNK]"}, r"has no \[CLS\]"),
        ({VOCABULARY: "a\n[CLS]\n[SEP]"}, r"has no \[UNK\]"),
        ({SETTINGS: json.dumps({"tokenizer_class": "BertJapaneseTokenizer"})}, "BertJapaneseTokenizer"),
        (
            {CONFIG: json.dumps({"tokenizer_class": "BertJapaneseTokenizer"}), VOCABULARY: "[CLS]\n[SEP]\n[UNK]"},
            "BertJapaneseTokenizer",
        ),
        ({TOKENIZER: json.dumps({"model": {"type": "BPE", "vocab": {}, "merges": []}, "version": "1.0"})}, "WordPiece"),
    ],
)
def test_a_foreign_folder_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    """The error names the folder and what is wrong with it."""
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        WordPiece.load(tmp_path)
