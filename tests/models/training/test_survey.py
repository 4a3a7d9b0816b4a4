"""A survey counts what a corpus consists of, and what a run learns from."""

from pathlib import Path

import pytest

from models.config import (
    BackboneConfig,
    CleaningConfig,
    Corpus,
    DataConfig,
    DocTransformerConfig,
    Languages,
    RunConfig,
    TokenizerConfig,
    TrainingConfig,
)
from models.data.documents import Document, Sentence
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.training.run import read_corpus
from models.training.survey import Finding, survey

SENTENCES = [
    Sentence("寺（てら）は古い。", "The temple is old."),
    Sentence("歴史", "History"),
    Sentence("歴史", "History"),
    Sentence("www.example.org", "www.example.org"),
    Sentence("庭\u200e", "A garden"),
    Sentence("川", "The long river that flows by the old temple and the garden of the temple"),
]
DOCUMENTS = [Document(tuple(SENTENCES[:3])), Document(tuple(SENTENCES[3:]))]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer that knows the sentences' characters."""
    config = TokenizerConfig(path=tmp_path_factory.mktemp("tokenizer"), kind="bpe", vocabulary=80, byte_fallback=False)
    return train_tokenizer(config, [s.source for s in SENTENCES], [s.target or "" for s in SENTENCES])


def found(
    tokenizer: Tokenizer, cleaning: CleaningConfig, *, context: int | None = None, positions: int = 512
) -> dict[str, Finding]:
    """The findings of a survey, by kind."""
    nowhere = Corpus(source=Path("source"), target=Path("target"))
    data = DataConfig(train=nowhere, max_tokens=30, cleaning=cleaning, max_context_tokens=context)
    run = RunConfig(
        name="run",
        languages=Languages(source="ja", target="en"),
        data=data,
        tokenizer=TokenizerConfig(path=Path("tokenizer"), vocabulary=80),
        backbone=BackboneConfig(max_length=positions),
        architecture=DocTransformerConfig(),
        training=TrainingConfig(step="joint", updates=1),
        output=Path("output"),
    )
    return {one.what: one for one in survey(run, DOCUMENTS, tokenizer)}


def test_every_kind_is_counted_with_its_first_example(tokenizer: Tokenizer) -> None:
    """All pairs of each kind are counted, even those that the run leaves out."""
    kinds = found(tokenizer, CleaningConfig())
    assert {what: one.pairs for what, one in kinds.items()} == {
        "all": 6,
        "over 30 tokens on a side": 1,
        "over 2 times as long on a side": 1,
        "over 3 times as long on a side": 1,
        "over 5 times as long on a side": 1,
        "beyond copy 1": 1,
        "beyond copy 10": 0,
        "the same on both sides": 1,
        "with invisible or broken characters": 1,
        "with readings in brackets": 1,
        "learnt from": 5,
    }
    assert kinds["beyond copy 1"].example == "歴史 | History"
    assert kinds["beyond copy 10"].example == ""
    assert kinds["learnt from"].target_tokens < kinds["all"].target_tokens


def test_what_cleaning_leaves_out_is_not_learnt_from(tokenizer: Tokenizer) -> None:
    """The last line depends on the config."""
    cleaning = CleaningConfig(max_copies=1, untranslated=True)
    assert found(tokenizer, cleaning)["learnt from"].pairs == 3


def test_what_has_too_long_a_context_is_not_learnt_from(tokenizer: Tokenizer) -> None:
    """Pairs with more tokens than the model has positions are not learnt from, either."""
    cleaning = CleaningConfig()
    assert found(tokenizer, cleaning, context=1)["learnt from"].pairs == 2  # the first of each document
    assert (
        found(tokenizer, cleaning, positions=8)["learnt from"].pairs < found(tokenizer, cleaning)["learnt from"].pairs
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n" * 101, "all of its 101 sentences are one document; an empty line ends a document"),
        ("a\n\n" * 3, "none of its documents has more than one sentence; an empty line ends a document"),
        ("a\n" * 100, ""),
        ("a\na\n\na\n", ""),
    ],
)
def test_a_corpus_without_documents_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """Otherwise nobody would notice that a model learns to read unrelated sentences as context, or none."""
    monkeypatch.setenv("ANTECEDENT_DATA", str(tmp_path))
    (tmp_path / "source").write_text(text)
    read_corpus(Corpus(source=Path("source"), target=Path("source")))
    assert capsys.readouterr().err == (f"{tmp_path / 'source'}: {said}\n" if said else "")
