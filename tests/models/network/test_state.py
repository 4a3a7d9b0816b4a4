import pytest
import torch

from models.network.state import ROOM, State
from models.search.running import staying


def words(rows: int, length: int, value: float = 0.0) -> torch.Tensor:
    """States (R, T, X) of so many words of so many rows, whose values are the numbers of the rows plus `value`."""
    return (torch.arange(rows) + value)[:, None, None].expand(rows, length, 4).clone()


def test_a_cache_gives_back_all_that_it_was_given() -> None:
    """States from several calls come back in order, even beyond the blocks by which the cache grows."""
    state = State({}, cached=True)
    parts = [words(3, length, length / 100) for length in (1, ROOM, 5, 3 * ROOM)]
    for count, part in enumerate(parts, 1):
        assert torch.equal(state.extend("keys", part), torch.cat(parts[:count], dim=1))
        state.advance(part.size(1))


def test_without_a_cache_nothing_is_kept() -> None:
    """If a whole target is decoded at once, only the given states come back."""
    state = State({})
    state.extend("keys", words(3, 4))
    assert torch.equal(state.extend("keys", words(3, 2)), words(3, 2))
    assert not state.past


def test_reordering_moves_hypotheses_and_keeping_drops_sentences() -> None:
    """`past` follows the rows, `fixed` the sentences, and neither touches the other."""
    state = State({"memory": torch.tensor([[10.0], [11.0]])}, cached=True)
    state.extend("keys", words(2, 1, 1.0))
    state.advance(1)
    state.reorder(torch.tensor([1, 1, 0]))
    assert state.extend("keys", words(3, 1))[:, 0, 0].tolist() == [2.0, 2.0, 1.0]
    assert state.fixed["memory"].tolist() == [[10.0], [11.0]]
    state.keep(torch.tensor([1]))
    assert state.extend("keys", words(3, 1))[:, 0, 0].tolist() == [2.0, 2.0, 1.0]
    assert state.fixed["memory"].tolist() == [[11.0]]


@torch.no_grad()
@pytest.mark.parametrize("done", [{1}, {0, 4}, {3, 4}, {0, 1, 2, 3}, {1, 2}, set()])
def test_sentences_that_stay_have_what_they_had(done: set[int]) -> None:
    """This holds for the order that moves fewest sentences and for others, whether or not padding can be dropped."""
    stay = staying([number in done for number in range(5)])
    assert sorted(stay) == sorted({*range(5)} - done)
    assert sum(place != number for place, number in enumerate(stay)) <= len(done)
    for order in (stay, sorted(stay), sorted(stay, reverse=True)):
        mask = torch.arange(6) <= torch.tensor([1, 5, 2, 3, 1])[:, None]
        keys = torch.arange(30.0).view(5, 1, 6, 1)
        state = State({"source.keys": keys.clone(), "source.mask": mask[:, None, None]}, cached=True).settle()
        state.keep(torch.tensor(order))
        longest = int(mask[order].sum(1).max())
        assert torch.equal(state.fixed["source.keys"], keys[order][:, :, :longest])
        assert torch.equal(state.fixed["source.mask"][:, 0, 0].lt(0), ~mask[order][:, :longest])
        assert state.fixed["source.keys"].is_contiguous()


def test_nothing_is_moved_that_gradients_need() -> None:
    """With gradients, the original tensor stays as it is, and the kept sentences are copied."""
    kept = torch.arange(5.0)[:, None]
    state = State({"source": kept}, cached=True)
    with torch.enable_grad():
        state.keep(torch.tensor([4, 1, 2]))
    assert state.fixed["source"][:, 0].tolist() == [4, 1, 2]
    assert kept[:, 0].tolist() == [0, 1, 2, 3, 4]


def two_started_apart() -> State:
    """A state in which a sentence has two words when another, with a longer source, joins it."""
    state = State({"source": torch.ones(1, 2), "source.mask": torch.ones(1, 1, 1, 2, dtype=torch.bool)}, cached=True)
    state.settle()
    state.extend("keys", words(1, 2, 5.0))
    state.advance(2)
    other = State({"source": torch.ones(1, 3), "source.mask": torch.ones(1, 1, 1, 3, dtype=torch.bool)}, cached=True)
    state.join(other.settle(), 1, 1)
    return state


def test_a_sentence_that_joins_sees_nothing_from_before_it() -> None:
    """Its words count from its own start; whatever is before them is hidden, as is the padding of shorter sources."""
    state = two_started_apart()
    assert state.extend("keys", words(2, 1, 7.0))[:, :, 0].tolist() == [[5.0, 5.0, 7.0], [0.0, 0.0, 8.0]]
    places, unseen = state.places(1), state.unseen(torch.float32)
    assert isinstance(places, torch.Tensor)
    assert unseen is not None
    assert places.tolist() == [[2], [0]]
    assert unseen[:, 0, 0].lt(0).tolist() == [[False, False, False], [True, True, False]]
    assert state.fixed["source.mask"][:, 0, 0].lt(0).tolist() == [[False, False, True], [False, False, False]]


def test_what_was_before_everybody_is_forgotten() -> None:
    """When the first sentence has left and another joins, the cache keeps no words that belong to no sentence."""
    state = two_started_apart()
    state.keep(torch.tensor([1]))
    state.reorder(torch.tensor([1]))
    state.join(State({"source": torch.ones(1, 1), "source.mask": torch.zeros(1, 1, 1, 1)}, cached=True), 1, 1)
    assert state.position == 0
    assert state.extend("keys", words(2, 1)).size(1) == 1


def test_padding_leaves_with_the_sentence_that_needed_it() -> None:
    """When the longest sentence leaves, sources are cut to the longest remaining one; what is seen stays."""
    mask = torch.tensor([[True, True, True], [True, True, False]])[:, None, None]
    keys = torch.arange(6.0).view(2, 1, 3, 1)
    state = State({"source.mask": mask, "source.0.keys": keys, "source.0.values": -keys}, cached=True).settle()
    state.keep(torch.tensor([1]))
    assert state.fixed["source.mask"].flatten().tolist() == [0, 0]
    assert state.fixed["source.0.keys"].flatten().tolist() == [3, 4]
    assert state.fixed["source.0.values"].flatten().tolist() == [-3, -4]


def three_cut(*words: int) -> State:
    """Three rows of five words, cut to so many words each; a word's value tells its row and place."""
    state = State({"source": torch.ones(3, 1)}, cached=True)
    state.extend("keys", (10 * torch.arange(3)[:, None] + torch.arange(5))[:, :, None].float())
    state.advance(5)
    state.cut(torch.tensor(words))
    return state


def test_after_a_cut_each_goes_on_from_its_own_last_word() -> None:
    """What is left of each row is at the end, what is before is hidden, and the next word has the next position."""
    state = three_cut(2, 5, 1)
    unseen, places = state.unseen(torch.float32), state.places(1)
    assert unseen is not None
    assert isinstance(places, torch.Tensor)
    assert places.tolist() == [[2], [5], [1]]
    seen = unseen[:, 0, 0].eq(0)
    assert seen.sum(1).tolist() == [3, 6, 2]
    cache = state.extend("keys", torch.full((3, 1, 1), 99.0))[:, :, 0]
    assert cache[seen].tolist() == [0, 1, 99, 10, 11, 12, 13, 14, 99, 20, 99]


def test_a_cut_to_one_length_needs_no_mask() -> None:
    """If all rows keep the same number of words, there is nothing to hide."""
    state = three_cut(3, 3, 3)
    assert state.places(1) == slice(3, 4)
    assert state.unseen(torch.float32) is None


@pytest.mark.parametrize("order", [1, -1])
def test_sentences_join_with_the_words_that_they_have(order: int) -> None:
    """Whichever has more words, last words are aligned, and each row sees its own."""
    alone = State({"source": torch.full((1, 1), 7.0)}, cached=True)
    alone.extend("keys", torch.tensor([[[70.0], [71.0]]]))
    alone.advance(2)
    one, other = [(three_cut(2, 5, 1), 3), (alone, 1)][::order]
    one[0].join(other[0], one[1], other[1])
    unseen = one[0].unseen(torch.float32)
    assert unseen is not None
    cache = one[0].extend("keys", torch.zeros(4, 1, 1))[:, :, 0]
    own = [row[hidden.eq(0)].tolist() for row, hidden in zip(cache, unseen[:, 0, 0], strict=True)]
    expected = [[0, 1, 0], [10, 11, 12, 13, 14, 0], [20, 0]], [[70, 71, 0]]
    assert own == [*expected[order < 0], *expected[order > 0]]


class Twins:
    """Two states with the same operations, one of which looks up words that the other one moves."""

    def __init__(self, rows: int, chooser: torch.Generator) -> None:
        self.looks_up, self.moves = (State({"source": torch.ones(rows, 1)}, cached=True) for _ in range(2))
        self.rows = rows
        self.chooser = chooser

    def draw(self, most: int, *size: int) -> torch.Tensor:
        """Draw random numbers below `most`."""
        return torch.randint(most, size, generator=self.chooser)

    def read(self, words: int) -> None:
        """Read so many more words; both states must agree on all words so far."""
        new = self.draw(1000, self.rows, words, 3).float()
        columns = self.looks_up.look_up(self.rows, words)
        assert columns is not None
        found, expected = self.looks_up.extend("keys", new), self.moves.extend("keys", new)
        places = torch.arange(expected.size(1))
        starts = torch.zeros(self.rows) if self.moves.starts is None else self.moves.starts
        seen = places >= starts[:, None]
        assert torch.equal(found[columns[:, : len(places)], places][seen], expected[seen])
        self.looks_up.advance(words)
        self.moves.advance(words)

    def reorder(self) -> None:
        """Continue random hypotheses, more or fewer than before."""
        moved = self.draw(self.rows, int(self.draw(7, 1)) + 1)
        self.rows = len(moved)
        for state in (self.looks_up, self.moves):
            state.reorder(moved)
            state.fixed["source"] = torch.ones(self.rows, 1)

    def join(self) -> None:
        """Join two sentences, which have no words yet, or three."""
        others = Twins(2, self.chooser)
        if int(self.draw(2, 1)):
            others.read(3)
        self.looks_up.join(others.looks_up, self.rows, 2)
        self.moves.join(others.moves, self.rows, 2)
        self.rows += 2


@pytest.mark.parametrize("seed", range(5))
def test_words_that_are_looked_up_are_those_that_would_have_been_moved(seed: int) -> None:
    """This holds while beams widen, narrow and are reordered, and sentences join."""
    twins = Twins(2, torch.Generator().manual_seed(seed))
    twins.read(1)
    for step in range(90):
        if step % 3:
            twins.reorder()
        if step % 20 == 7:
            twins.join()
        twins.read(1)


def test_a_large_batch_leaves_no_room_behind() -> None:
    """Even if sentences keep joining for ever, memory for a once larger batch is released."""
    state = State({"source": torch.ones(64, 1)}, cached=True)

    def read(rows: int) -> None:
        for _ in range(ROOM):
            state.look_up(rows, 1)
            state.extend("keys", torch.ones(rows, 1, 3))
            state.advance(1)

    read(64)
    for _ in range(3):
        state.keep(torch.tensor([0]))
        state.reorder(torch.tensor([0]))
        state.join(State({"source": torch.ones(1, 1)}, cached=True), 1, 1)
        read(2)
    assert state.past["keys"].shape[1:] == (2, 3)


def test_words_that_are_looked_up_can_be_cut() -> None:
    """Both ways agree after a cut, too."""
    twins = Twins(3, torch.Generator().manual_seed(1))
    twins.read(4)
    twins.reorder()
    left = twins.draw(4, twins.rows) + 1
    twins.looks_up.cut(left)
    twins.moves.cut(left)
    twins.read(1)
