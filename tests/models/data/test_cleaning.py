"""Training leaves out the pairs that the config says, but they remain context for others."""

import numpy as np
import pytest

from models.config import CleaningConfig, TokenizerConfig
from models.data.cleaning import left_out
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.errors import DataError
from tests.models.data.test_batches import Reader

PAIRS = [("a b", "x y"), ("c", "p q r s t"), ("a b", "x y"), ("www", "www"), ("a b", "z"), ("a b", "x y")]
SENTENCES = [Sentence(source, target) for source, target in PAIRS]
SOURCE, TARGET = (np.array([len(text.split()) + 1 for text in side]) for side in zip(*PAIRS, strict=True))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer that has learnt from the pairs, and from more text, since a vocabulary has a minimum size."""
    more = ["abcdefghij klmnopqrst uvwxyz", "the quick brown fox jumps over the lazy dog"]
    config = TokenizerConfig(path=tmp_path_factory.mktemp("tokenizer"), kind="bpe", vocabulary=40, byte_fallback=False)
    return train_tokenizer(config, [source for source, _ in PAIRS] + more, [target for _, target in PAIRS] + more)


@pytest.mark.parametrize(
    ("cleaning", "expected"),
    [
        (CleaningConfig(), []),
        (CleaningConfig(max_ratio=2.5), [1]),
        (CleaningConfig(max_ratio=3), []),
        (CleaningConfig(max_copies=1), [2, 5]),
        (CleaningConfig(max_copies=2), [5]),
        (CleaningConfig(untranslated=True), [3]),
        (CleaningConfig(max_ratio=1.4, max_copies=2, untranslated=True), [1, 3, 4, 5]),
    ],
)
def test_what_is_left_out(cleaning: CleaningConfig, expected: list[int]) -> None:
    """Pairs of very different lengths, further copies, and untranslated sentences, each only if asked for."""
    assert np.flatnonzero(left_out(cleaning, SENTENCES, SOURCE, TARGET)).tolist() == expected


def test_what_is_left_out_is_context_all_the_same(tokenizer: Tokenizer) -> None:
    """A sentence is still read with a predecessor that is not learnt from."""
    corpus = TokenizedCorpus([Document(tuple(SENTENCES))], tokenizer, 99, cleaning=CleaningConfig(untranslated=True))
    assert corpus.usable.tolist() == [0, 1, 2, 4, 5]
    reader = Reader(1)
    corpus.batch([4], reader)
    assert reader.seen == [[list(corpus.sources[3])]]


def test_cleaning_that_leaves_nothing_is_refused(tokenizer: Tokenizer) -> None:
    """It is an error, rather than a run without sentences."""
    alone = Document((Sentence("www", "www"),))
    with pytest.raises(DataError, match="left out by cleaning"):
        TokenizedCorpus([alone], tokenizer, 99, cleaning=CleaningConfig(untranslated=True))
