"""Many sequences of token ids in one array."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.data import ragged
from models.data.ragged import Ragged

SEQUENCES = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=4), max_size=30)


def made(sequences: Sequence[Sequence[int]]) -> Ragged:
    """The sequences as a tokenizer would make them, from texts that are their numbers."""
    return Ragged.of([str(number) for number in range(len(sequences))], lambda t: [sequences[int(each)] for each in t])


@given(SEQUENCES, st.integers(-2, 32), st.integers(-2, 32))
def test_it_is_read_as_a_list_of_lists(sequences: list[list[int]], first: int, end: int) -> None:
    """Its length, single sequences and slices are those of a list, including empty sequences."""
    found = made(sequences)
    assert [each.tolist() for each in found] == sequences
    assert len(found) == len(sequences)
    assert [each.tolist() for each in found[first:end]] == sequences[first:end]
    assert found.lengths.tolist() == [len(each) for each in sequences]


def test_texts_are_tokenized_a_part_at_a_time() -> None:
    """So Python integers of all texts never exist at once; no text is lost between two parts."""
    sizes: list[int] = []

    def encode(texts: Sequence[str]) -> list[list[int]]:
        sizes.append(len(texts))
        return [[int(text)] for text in texts]

    count = 2 * ragged._AT_ONCE + 1
    found = Ragged.of([str(number) for number in range(count)], encode)
    assert sizes == [ragged._AT_ONCE, ragged._AT_ONCE, 1]
    assert np.array_equal(found.ids, np.arange(count))


def test_sequences_are_no_copies() -> None:
    """Reading sequences gives views of one array."""
    found = made([[1, 2], [3]])
    assert all(np.shares_memory(each, found.ids) for each in found[0:2])
