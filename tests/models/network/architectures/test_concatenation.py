"""Concatenation as in Tiedemann and Scherrer 2017."""

import pytest

from models.config import BackboneConfig, ConcatenationConfig
from models.data.batches import Example, read_batch
from models.data.tokenizer import BOS, EOS
from models.network.architectures.concatenation import SEPARATOR, Concatenation

SMALL = BackboneConfig(width=16, feed_forward=16, heads=2, encoder_layers=1, decoder_layers=1, max_length=12)


@pytest.fixture
def reader() -> Concatenation:
    """A reader of two preceding sentences."""
    return Concatenation(ConcatenationConfig(context_sentences=2), SMALL)


def test_source_is_the_sentences_with_separators_and_target_the_current_one(reader: Concatenation) -> None:
    """The encoder reads all sentences in reading order; the target is only the current sentence's."""
    example = reader.select(Example([9], preceding=[[4], [5, 6], [7]]))
    batch = read_batch([example], [[8]], reader)
    assert batch.source.tolist() == [[5, 6, SEPARATOR, 7, SEPARATOR, 9, EOS]]
    assert batch.target is not None
    assert batch.target.tolist() == [[BOS, 8, EOS]]


def test_no_context_is_the_sentence_alone(reader: Concatenation) -> None:
    """The first sentence of a document has no separator."""
    assert list(reader.source(reader.select(Example([9, 10])))) == [9, 10]


@pytest.mark.parametrize(("lengths", "kept"), [((4, 3), 2), ((5, 3), 1), ((1, 8), 1), ((1, 9), 0), ((20, 1), 1)])
def test_context_too_long_loses_its_oldest_sentences_whole(
    reader: Concatenation, lengths: tuple[int, int], kept: int
) -> None:
    """Including separators, the sentence and its end, at most 12 positions are read, and no sentence is cut."""
    preceding = [[4] * length for length in lengths]
    example = reader.select(Example([9, 9], preceding=preceding))
    assert list(example.preceding) == preceding[2 - kept :]
    assert len(reader.source(example)) + 1 <= SMALL.max_length
