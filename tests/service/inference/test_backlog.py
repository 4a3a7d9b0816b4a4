"""The batching policy on plain data."""

from hypothesis import given
from hypothesis import strategies as st

from models.bundle.requests import Options, TranslationRequest
from models.data.documents import Sentence
from service.inference.backlog import Backlog, Budget, Turn, Waiting

BUDGET = Budget(characters=10, sentences=3, wait=1.0)
TURN = Turn("a flow", "interactive")
DIRECT, ALONE = Options(), Options(strategy="sentence")


class _Future:
    """Stands where nothing is ever awaited."""


def waiting(source: str, options: Options = DIRECT, *, since: float = 0.0, attempts: int = 0) -> Waiting:
    """An element of the backlog."""
    return Waiting(TranslationRequest(source), options, TURN, since, _Future(), attempts)  # type: ignore[arg-type]


def backlog(*elements: Waiting) -> Backlog:
    """A backlog with these elements, in order."""
    made = Backlog(BUDGET)
    for element in elements:
        made.put(element)
    return made


def sources(batch: list[Waiting]) -> list[str]:
    """The texts of a batch."""
    return [element.request.source for element in batch]


def test_batch_ends_where_the_budget_ends() -> None:
    """A batch takes the oldest first, and neither more sentences nor more characters than allowed."""
    queue = backlog(*map(waiting, ["aaaa", "bbbb", "cccc", "d", "e", "f", "g"]))
    assert [sources(queue.pop()) for _ in range(4)] == [["aaaa", "bbbb"], ["cccc", "d", "e"], ["f", "g"], []]


def test_context_counts() -> None:
    """What a sentence is read with costs as much as the sentence."""
    with_context = waiting("aaaa")
    with_context.request = TranslationRequest("aaaa", (Sentence("xxxx"),))
    assert sources(backlog(with_context, waiting("bbbb")).pop()) == ["aaaa"]


def test_sentence_beyond_the_budget_goes_alone() -> None:
    """A sentence that no batch has room for is a batch of its own."""
    queue = backlog(waiting("a" * 50), waiting("b"))
    assert [sources(queue.pop()), sources(queue.pop())] == [["a" * 50], ["b"]]


def test_only_equal_options_share_a_batch() -> None:
    """Others wait for the next batch, and keep their order."""
    queue = backlog(waiting("a"), waiting("b", ALONE), waiting("c"), waiting("d", ALONE))
    assert [sources(queue.pop()), sources(queue.pop())] == [["a", "c"], ["b", "d"]]


def test_short_batch_waits_for_more() -> None:
    """One that is not full is due when its oldest sentence has waited long enough, a full one at once."""
    queue = backlog()
    assert queue.due() is None
    queue.put(waiting("a", since=5.0))
    queue.put(waiting("b", since=5.5))
    assert queue.due() == 6.0
    queue.put(waiting("c", since=5.6))
    assert queue.due() == float("-inf")


def test_sentence_that_does_not_fit_makes_a_batch_full() -> None:
    """There is nothing to wait for once the next sentence has to go with another batch."""
    assert backlog(waiting("a" * 9), waiting("bb")).due() == float("-inf")


def test_forgotten_sentence_costs_nothing() -> None:
    """A sentence that nobody waits for is in no batch and takes no room."""
    left, stays = waiting("a"), waiting("b")
    queue = backlog(left, stays)
    queue.discard(left)
    queue.discard(left)
    assert len(queue) == 1
    assert sources(queue.pop()) == ["b"]


def test_suspect_goes_alone_and_first() -> None:
    """A sentence over which a worker died is tried again before others, at once, and with none beside it."""
    queue = backlog(waiting("c"))
    queue.put_back([waiting("a", attempts=1), waiting("b", attempts=1)])
    assert queue.due() == float("-inf")
    assert [sources(queue.pop()) for _ in range(3)] == [["a"], ["b"], ["c"]]


@given(st.lists(st.tuples(st.text("x", max_size=12), st.booleans(), st.integers(0, 1)), max_size=30))
def test_every_sentence_is_in_exactly_one_batch(elements: list[tuple[str, bool, int]]) -> None:
    """Whatever waits, it all goes, once, in order among its equals, and no batch mixes options."""
    made = [waiting(text, ALONE if alone else DIRECT, attempts=attempts) for text, alone, attempts in elements]
    queue, seen = backlog(*made), []
    while batch := queue.pop():
        assert len({element.options for element in batch}) == 1
        assert len(batch) <= BUDGET.sentences
        assert len(batch) == 1 or sum(element.characters for element in batch) <= BUDGET.characters
        seen += batch
    assert len(seen) == len(made)
    assert set(seen) == set(made)
