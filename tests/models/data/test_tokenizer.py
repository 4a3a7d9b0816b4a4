"""Tokens preserve the text, never turn it into control symbols, and are the same every time."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from models.config import TokenizerConfig
from models.data.tokenizer import BOS, EOS, PAD, SPECIAL_PIECES, UNK, Tokenizer, train_tokenizer
from models.errors import CheckpointError, DataError

Kind = Literal["unigram", "bpe"]
LAYOUTS = [("unigram", True), ("unigram", False), ("bpe", True), ("bpe", False)]


def corpus() -> tuple[list[str], list[str]]:
    """Make sentences of two tiny languages."""
    chooser = random.Random(1)
    kana = ["".join(chooser.choices("あいうえおカキクケコ山川田猫犬", k=3)) for _ in range(80)]
    words = ["horse", *("".join(chooser.choices("abcdefgimnoprstu", k=5)) for _ in range(80))]
    sources = ["".join(chooser.choices(kana, k=6)) + "。" for _ in range(300)]
    targets = [" ".join(chooser.choices(words, k=6)) + "." for _ in range(300)]
    return sources, targets


def train(folder: Path, kind: Kind = "unigram", *, joint: bool = True, vocabulary: int = 340) -> Tokenizer:
    """Train a tokenizer on the corpus."""
    sources, targets = corpus()
    return train_tokenizer(
        TokenizerConfig(path=folder, kind=kind, joint=joint, vocabulary=vocabulary), sources, targets
    )


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A joint tokenizer that several tests share."""
    return train(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize(("kind", "joint"), LAYOUTS)
def test_text_survives_encoding_and_decoding(tmp_path: Path, kind: Kind, joint: bool) -> None:
    """Known text comes back from its ids, and takes fewer tokens than characters."""
    tokenizer = train(tmp_path, kind, joint=joint)
    for sentence in corpus()[1][:20]:
        ids = tokenizer.encode_target(sentence)
        assert tokenizer.decode_target(ids) == sentence
        assert len(ids) < len(sentence)


@pytest.mark.parametrize(("kind", "joint"), LAYOUTS)
def test_a_saved_tokenizer_is_loaded_as_it_was(tmp_path: Path, kind: Kind, joint: bool) -> None:
    """The folder holds exactly the files that are named, and loading gives the same vocabularies."""
    trained = train(tmp_path, kind, joint=joint)
    loaded = Tokenizer.load(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(loaded.files()) == sorted(trained.files())
    assert loaded.joint is joint
    assert (loaded.source_pieces, loaded.target_pieces) == (trained.source_pieces, trained.target_pieces)
    assert (loaded.source_pieces == loaded.target_pieces) is joint
    assert len(loaded.target_pieces) == 340


@pytest.mark.parametrize("joint", [True, False])
def test_special_pieces_have_the_ids_of_the_contract(tmp_path: Path, joint: bool) -> None:
    """Padding, begin, end and unknown are 0 to 3 in every vocabulary."""
    tokenizer = train(tmp_path, joint=joint)
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    for pieces in (tokenizer.source_pieces, tokenizer.target_pieces):
        assert tuple(pieces[:4]) == SPECIAL_PIECES


TRAIN = """
import pathlib, sys
from models.config import TokenizerConfig
from models.data.tokenizer import train_tokenizer
texts = [f"{a}{b}{c} {c}{a}{b}." for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx"]
train_tokenizer(TokenizerConfig(path=pathlib.Path(sys.argv[1]), vocabulary=300), texts, texts, sample=200)
"""


def test_the_same_text_gives_the_same_files(tmp_path: Path) -> None:
    """Two processes that train on a sample of the same sentences write the same bytes, and nothing to the terminal."""
    for name in ("first", "second"):
        command = [sys.executable, "-c", TRAIN, str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("", "")
    assert (tmp_path / "first/tokenizer.model").read_bytes() == (tmp_path / "second/tokenizer.model").read_bytes()


def test_a_sample_is_drawn_from_both_languages(tmp_path: Path) -> None:
    """A joint vocabulary from a sample also knows the characters of the language that is read last."""
    sources, targets = corpus()
    config = TokenizerConfig(path=tmp_path, vocabulary=100, byte_fallback=False, character_coverage=1.0)
    tokenizer = train_tokenizer(config, sources, targets, sample=150)
    assert UNK not in tokenizer.encode_target(sources[0] + targets[0])


@pytest.mark.parametrize("text", ["</s>", "<s>", "<pad>", "<unk>", "the cat</s>ran<s>", "<0x41>", "a\x01\x02b"])
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_text_never_becomes_a_control_symbol(tmp_path: Path, kind: Kind, text: str) -> None:
    """A user who writes `</s>` gets those characters translated, not an end of sentence."""
    tokenizer = train(tmp_path, kind, joint=False)
    for ids in (tokenizer.encode_source(text), tokenizer.encode_target(text)):
        assert not {PAD, BOS, EOS, UNK}.intersection(ids)
    assert tokenizer.decode_target(tokenizer.encode_target(text)) == text.replace("\x01\x02", "")


@pytest.mark.parametrize("text", ["𠮷野家 😀", "Ünïcödé", "ქართული"])
def test_unseen_characters_are_spelt_in_bytes(tokenizer: Tokenizer, text: str) -> None:
    """Characters that training never saw are preserved, none as unknown."""
    ids = tokenizer.encode_target(text)
    assert UNK not in ids
    assert tokenizer.decode_target(ids) == text
    assert "\ufffd" not in tokenizer.decode_target(ids[:-1])  # perhaps in the middle of a character


@pytest.mark.parametrize("character", ["\n", "\r", " ", "\u2028"])
def test_translation_is_one_line(tokenizer: Tokenizer, character: str) -> None:
    """A model may generate any byte, but a corpus has one translation a line."""
    said = [tokenizer.target.piece_to_id(f"<0x{byte:02X}>") for byte in character.encode()]
    words = tokenizer.encode_target("the cat")
    decoded = tokenizer.decode_target([*said, *words, *said, *words, *said])
    assert decoded.splitlines() == [decoded.strip()]
    assert decoded.split() == ["the", "cat"] * 2
    assert tokenizer.decode_target(said) == ""


def test_without_byte_fallback_unseen_characters_are_unknown(tmp_path: Path) -> None:
    """The switch does turn byte pieces off."""
    sources, targets = corpus()
    config = TokenizerConfig(path=tmp_path, vocabulary=60, byte_fallback=False)
    tokenizer = train_tokenizer(config, sources, targets)
    assert UNK in tokenizer.encode_source("ქ")
    assert len(tokenizer.source_pieces) == 60


def test_too_small_a_vocabulary_is_told_by_the_names_of_the_run(tmp_path: Path) -> None:
    """SentencePiece's error would name options of its own command line."""
    sources, targets = corpus()
    config = TokenizerConfig(path=tmp_path, vocabulary=32)
    with pytest.raises(DataError, match=r"Increase tokenizer\.vocabulary or decrease .* tokenizer\.character_coverage"):
        train_tokenizer(config, sources, targets)


def test_every_sentence_is_learnt_from(tmp_path: Path) -> None:
    """Characters of the first and of the last sentence are known without byte pieces."""
    sources, targets = corpus()
    config = TokenizerConfig(path=tmp_path, vocabulary=100, byte_fallback=False, character_coverage=1.0)
    tokenizer = train_tokenizer(config, ["ქ", *sources], [*targets, "Ж"])
    assert UNK not in tokenizer.encode_source("ქЖ")


def test_the_kinds_learn_different_vocabularies(tmp_path: Path) -> None:
    """Unigram and BPE are two algorithms, not two names."""
    unigram, bpe = train(tmp_path / "unigram"), train(tmp_path / "bpe", "bpe")
    assert set(unigram.target_pieces) != set(bpe.target_pieces)


def test_forms_of_the_same_letter_are_one(tokenizer: Tokenizer) -> None:
    """Full-width letters and half-width kana, which Japanese text mixes, encode as their usual forms."""
    assert tokenizer.encode_source("ｃａｔ　ﾈｺ") == tokenizer.encode_source("cat ネコ")


@pytest.mark.parametrize("text", ["น้ำ ทำ", "ນ້ຳ"])
def test_vowels_of_thai_and_lao_are_written_whole(tokenizer: Tokenizer, text: str) -> None:
    """Decoding composes the vowels that normalisation decomposes into a form that nobody writes."""
    assert tokenizer.decode_target(tokenizer.encode_target(text)) == text


def test_a_batch_is_each_of_its_sentences(tokenizer: Tokenizer) -> None:
    """Encoding many sentences at once, in threads, gives the same as one at a time, in order."""
    sources = corpus()[0] * 4
    assert tokenizer.encode_sources(sources) == [tokenizer.encode_source(text) for text in sources]
    assert tokenizer.encode_targets(["the cat", "", "a dog"])[1] == []
    assert tokenizer.encode_sources([]) == []


def test_control_ids_decode_to_nothing(tokenizer: Tokenizer) -> None:
    """Boundary and padding ids leave no trace in the text."""
    ids = tokenizer.encode_target("the cat ran.")
    assert tokenizer.decode_target([BOS, *ids, EOS, PAD, PAD]) == "the cat ran."
    assert tokenizer.decode_target([]) == ""


def test_a_new_layout_replaces_the_old_files(tmp_path: Path) -> None:
    """Separate vocabularies saved in place of a joint one leave no joint one to be loaded by mistake."""
    train(tmp_path / "joint", joint=True)
    train(tmp_path / "separate", joint=False).save(tmp_path / "joint")
    assert not Tokenizer.load(tmp_path / "joint").joint


@pytest.mark.parametrize("joint", [True, False])
def test_a_tokenizer_that_is_there_is_left_alone(tmp_path: Path, joint: bool) -> None:
    """Runs may have been trained with it, so only the very same tokenizer may be made again there."""
    train(tmp_path, joint=joint)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    train(tmp_path, joint=joint)
    for layout, vocabulary in ((not joint, 340), (joint, 341)):
        with pytest.raises(CheckpointError, match="contains another tokenizer"):
            train(tmp_path, joint=layout, vocabulary=vocabulary)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_vocabulary_that_the_text_cannot_fill_is_refused(tmp_path: Path) -> None:
    """The error names the size that was asked for and what is possible, and writes nothing."""
    with pytest.raises(DataError, match=r"vocabulary of 9000 pieces.*value <="):
        train(tmp_path / "new", vocabulary=9000)
    assert not (tmp_path / "new").exists()


def test_no_text_is_refused(tmp_path: Path) -> None:
    """For an empty corpus, the error is a clear sentence, not SentencePiece's internals."""
    with pytest.raises(DataError, match="without any text"):
        train_tokenizer(TokenizerConfig(path=tmp_path), [], ["", " "])


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    """The error names the folder, or the file of the pair that is missing."""
    with pytest.raises(DataError, match=r"nowhere: there is no tokenizer model"):
        Tokenizer.load(tmp_path / "nowhere")
    train(tmp_path, joint=False)
    (tmp_path / "tokenizer.target.model").unlink()
    with pytest.raises(DataError, match=r"tokenizer\.target\.model: cannot be read: No such file"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"text", b"\x00" * 100])
def test_a_damaged_model_is_refused(tmp_path: Path, content: bytes) -> None:
    """A file that is no SentencePiece model is named, whatever its bytes."""
    (tmp_path / "tokenizer.model").write_bytes(content)
    with pytest.raises(DataError, match=r"tokenizer\.model: is damaged"):
        Tokenizer.load(tmp_path)


def test_a_model_whose_pieces_are_no_text_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """SentencePiece itself would load it, and fail only when the piece is asked for."""
    content = tokenizer.source.serialized_model_proto()
    (tmp_path / "tokenizer.model").write_bytes(content.replace(b"horse", b"\xfforse"))
    with pytest.raises(DataError, match=r"tokenizer\.model: is damaged"):
        Tokenizer.load(tmp_path)
