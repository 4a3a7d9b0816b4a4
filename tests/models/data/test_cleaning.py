"""What is left out of training is what the config names, and it stays the context of what is learnt."""

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
    """Of the letters of the pairs, and more, since a vocabulary has a least size."""
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
    """Sides of unlike length, further copies of a pair, and what is no translation; each only where it is asked for."""
    assert np.flatnonzero(left_out(cleaning, SENTENCES, SOURCE, TARGET)).tolist() == expected


def test_what_is_left_out_is_context_all_the_same(tokenizer: Tokenizer) -> None:
    """A sentence whose predecessor is not learnt from is read with it."""
    corpus = TokenizedCorpus([Document(tuple(SENTENCES))], tokenizer, 99, cleaning=CleaningConfig(untranslated=True))
    assert corpus.usable.tolist() == [0, 1, 2, 4, 5]
    reader = Reader(1)
    corpus.batch([4], reader)
    assert reader.seen == [[list(corpus.sources[3])]]


def test_cleaning_that_leaves_nothing_is_refused(tokenizer: Tokenizer) -> None:
    """Rather than a run of no sentences."""
    alone = Document((Sentence("www", "www"),))
    with pytest.raises(DataError, match="left out by cleaning"):
        TokenizedCorpus([alone], tokenizer, 99, cleaning=CleaningConfig(untranslated=True))
