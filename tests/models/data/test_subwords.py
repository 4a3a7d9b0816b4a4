"""Segmentations that are drawn say the same text in other pieces, and the seed decides which."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import BOS, EOS, PAD, Tokenizer
from tests.models.data.test_batches import Reader
from tests.models.data.test_tokenizer import LAYOUTS, Kind, corpus, train


def pairs() -> list[tuple[str, str]]:
    """Fifty sentence pairs."""
    return list(zip(*(side[:50] for side in corpus()), strict=True))


def tokenized(tokenizer: Tokenizer, longest: int = 99, sampling: float = 0.02) -> TokenizedCorpus:
    """A corpus of one document, with many segmentations."""
    document = Document(tuple(Sentence(*pair) for pair in pairs()))
    return TokenizedCorpus([document], tokenizer, longest, subword_sampling=sampling)


def inner(row: Sequence[int]) -> list[int]:
    """A row of a batch without control tokens."""
    return [token for token in row if token not in {PAD, BOS, EOS}]


@pytest.mark.parametrize(("kind", "joint"), LAYOUTS)
def test_drawn_pieces_say_the_same_text(tmp_path: Path, kind: Kind, joint: bool) -> None:
    """Sources and targets are longer than in their best segmentation, but the same text."""
    tokenizer = train(tmp_path, kind, joint=joint)
    sampling = {"unigram": 0.02, "bpe": 0.2}[kind]
    batch = tokenized(tokenizer, sampling=sampling).batch(range(50), Reader(0), seed=(1, 2))
    assert batch.target is not None
    sources, targets = ([inner(row) for row in side.tolist()] for side in (batch.source, batch.target))
    assert [tokenizer.source.decode(ids) for ids in sources] == [source for source, _ in pairs()]
    assert [tokenizer.decode_target(ids) for ids in targets] == [target for _, target in pairs()]
    for drawn, best in (
        (sources, tokenizer.encode_sources([source for source, _ in pairs()])),
        (targets, tokenizer.encode_targets([target for _, target in pairs()])),
    ):
        assert 1.01 < sum(map(len, drawn)) / sum(map(len, best)) < 2


def test_the_seed_decides_what_is_drawn(tmp_path: Path) -> None:
    """The same seed gives the same pieces, another seed gives others, and none gives the best ones."""
    tokenizer = train(tmp_path)
    made, others = tokenized(tokenizer), TokenizedCorpus([Document((Sentence("一", "one"),))], tokenizer, 99)

    def draw(seed: Sequence[int] | None) -> list[list[int]]:
        return made.batch(range(50), Reader(0), seed=seed).source.tolist()

    first = draw((1, 2))
    others.batch([0], Reader(0), seed=(7, 7))
    assert draw((1, 2)) == first
    assert draw((1, 3)) != first
    assert list(map(inner, draw(None))) == tokenizer.encode_sources([source for source, _ in pairs()])


def test_context_is_read_in_its_best_segmentation(tmp_path: Path) -> None:
    """Only a sentence and its translation are drawn: what is read before it is what a service reads."""
    tokenizer, reader = train(tmp_path), Reader(2)
    tokenized(tokenizer).batch([2, 3], reader, seed=(1, 2))
    sources = tokenizer.encode_sources([source for source, _ in pairs()])
    assert reader.seen == [sources[:2], sources[1:3]]


def test_a_drawn_segmentation_is_never_longer_than_what_is_trained_on(tmp_path: Path) -> None:
    """Where the drawn pieces are too many, the sentence has its best ones: positions and memory have their limits."""
    tokenizer = train(tmp_path)
    targets = tokenizer.encode_targets([target for _, target in pairs()])
    longest = max(map(len, targets))
    cut, free = (
        made.batch(made.usable, Reader(0), seed=(1, 2)).target
        for made in (tokenized(tokenizer, longest), tokenized(tokenizer))
    )
    assert cut is not None
    assert free is not None
    assert cut.size(1) <= longest + 1 < free.size(1)
    assert not {tuple(inner(row)) for row in cut.tolist()} <= set(map(tuple, targets))
