"""Contexts are left out and exchanged: as many as asked for, the same with the same seed, and never made up."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.config import TokenizerConfig
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.noise import ContextNoise
from models.data.tokenizer import train_tokenizer
from tests.models.data.test_batches import Reader

INDICES = list(range(100, 1100))


@given(st.integers(0, 2**32))
def test_no_noise_leaves_every_sentence_its_context(seed: int) -> None:
    """Without being asked for, noise changes nothing."""
    assert ContextNoise().neighbours(INDICES, [seed]) == INDICES


@given(st.floats(0, 0.5), st.floats(0, 0.5), st.integers(0, 2**32))
def test_as_many_contexts_are_changed_as_asked_for(dropout: float, shuffling: float, seed: int) -> None:
    """The others keep their context; those that exchange it do so among themselves, none twice."""
    found = ContextNoise(dropout, shuffling).neighbours(INDICES, [seed])
    kept = [own for own, other in zip(INDICES, found, strict=True) if own == other]
    exchanged = [(own, other) for own, other in zip(INDICES, found, strict=True) if other not in (own, None)]
    assert found.count(None) == pytest.approx(1000 * dropout, abs=80)
    assert len(kept) == pytest.approx(1000 * (1 - dropout - shuffling), abs=80)
    assert {own for own, _ in exchanged} == {other for _, other in exchanged}


def test_the_seed_decides() -> None:
    """A resumed run continues with the same noise, and another batch has different noise."""
    noise = ContextNoise(0.3, 0.3)
    assert noise.neighbours(INDICES, (1, 2, 3)) == noise.neighbours(INDICES, (1, 2, 3))
    assert noise.neighbours(INDICES, (1, 2, 3)) != noise.neighbours(INDICES, (1, 2, 4))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> TokenizedCorpus:
    """Thirty documents of four sentences."""
    chooser = random.Random(2)
    texts = [["".join(chooser.choices("abcdef ", k=12)).strip() + "." for _ in range(4)] for _ in range(30)]
    documents = [Document(tuple(Sentence(text, text) for text in each)) for each in texts]
    config = TokenizerConfig(path=tmp_path_factory.mktemp("t"), kind="bpe", vocabulary=40, byte_fallback=False)
    every = [sentence for each in texts for sentence in each]
    return TokenizedCorpus(documents, train_tokenizer(config, every, every), 99)


def test_a_batch_reads_the_contexts_that_it_is_told_to(corpus: TokenizedCorpus) -> None:
    """A sentence whose neighbour is None has no context; one with another sentence as neighbour has that one's."""
    reader = Reader(2)
    batch = corpus.batch([2, 7, 10], reader, [2, None, 5])
    assert batch.context["counts"].tolist() == [2, 0, 1]
    assert reader.seen == [[list(corpus.sources[i]) for i in read] for read in ([0, 1], [], [4])]
    plain = corpus.batch([2, 7, 10], reader)
    assert plain.source.tolist() == batch.source.tolist()
    assert plain.context["counts"].tolist() == [2, 2, 2]


def test_no_sentence_reads_itself_as_its_context(corpus: TokenizedCorpus) -> None:
    """If another's context contains a sentence, that keeps its own: otherwise it could read its own translation."""
    reader = Reader(2)
    corpus.batch([4, 5, 6, 7], reader, [6, 7, 5, 4])
    assert reader.seen == [[list(corpus.sources[i]) for i in read] for read in ([], [4], [4], [])]
