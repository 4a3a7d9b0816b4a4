"""The batching policy, on plain data."""

from collections.abc import Sequence
from itertools import count, pairwise

from hypothesis import given
from hypothesis import strategies as st

from models.data.documents import Sentence
from models.engine.requests import Options, TranslationRequest
from service.inference.backlog import Backlog, Budget, Turn, Waiting
from service.inference.wire import PRIORITIES, Priority

BUDGET = Budget(characters=10, sentences=3, wait=1.0)
DIRECT, ALONE = Options(), Options(strategy="sentence")


class _Future:
    """Takes the place of a future that is never awaited."""


def waiting(
    source: str,
    flow: str = "a flow",
    options: Options = DIRECT,
    *,
    since: float = 0.0,
    priority: Priority = "bulk",
) -> Waiting:
    """An element of the backlog."""
    turn = Turn(flow, priority)
    return Waiting(TranslationRequest(source), options, turn, since, _Future())  # type: ignore[arg-type]


def session(source: str, flow: str = "a session") -> Waiting:
    """An interactive element, for which somebody waits."""
    return waiting(source, flow, priority="interactive")


def backlog(*elements: Waiting, budget: Budget = BUDGET) -> Backlog:
    """A backlog with these elements, in order."""
    made = Backlog(budget)
    for element in elements:
        made.put(element)
    return made


def size(queue: Backlog) -> int:
    """How many elements wait, of all classes."""
    return sum(map(queue.of, PRIORITIES))


def sources(batch: Sequence[Waiting]) -> list[str]:
    """The texts of a batch."""
    return [element.request.source for element in batch]


def drained(queue: Backlog) -> list[Waiting]:
    """All elements, in the order in which they are served."""
    taken: list[Waiting] = []
    while batch := next(filter(None, map(queue.pop, PRIORITIES)), None):
        taken += batch
    return taken


def test_batch_ends_where_the_budget_ends() -> None:
    """A batch takes the oldest sentences first, up to the limits on sentences and characters."""
    queue = backlog(*map(waiting, ["aaaa", "bbbb", "cccc", "d", "e", "f", "g"]))
    assert [sources(queue.pop("bulk")) for _ in range(4)] == [["aaaa", "bbbb"], ["cccc", "d", "e"], ["f", "g"], []]


def test_context_counts() -> None:
    """Characters of preceding and following context, of translations in it and of drafts count like the sentence's."""
    with_context = waiting("aa")
    with_context.request = TranslationRequest("aa", (Sentence("xx", "yyy"),), (Sentence("z"),), draft="d")
    assert with_context.characters == 9
    assert sources(backlog(with_context, waiting("bb")).pop("bulk")) == ["aa"]


def test_sentence_beyond_the_budget_goes_alone() -> None:
    """A sentence larger than any batch forms a batch of its own."""
    queue = backlog(waiting("a" * 50), waiting("b"))
    assert [sources(queue.pop("bulk")), sources(queue.pop("bulk"))] == [["a" * 50], ["b"]]


def test_only_equal_options_share_a_batch() -> None:
    """Sentences with other options wait for the next batch, in order."""
    queue = backlog(waiting("a"), waiting("b", "another", ALONE), waiting("c"), waiting("d", "another", ALONE))
    assert [sources(queue.pop("bulk")), sources(queue.pop("bulk"))] == [["a", "c"], ["b", "d"]]


def test_short_batch_waits_for_more() -> None:
    """An incomplete batch is due when its oldest sentence has waited long enough, a full one at once."""
    queue = backlog()
    assert queue.due() is None
    queue.put(waiting("a", since=5.5))
    queue.put(waiting("b", "another", since=5.0))
    assert queue.due() == 6.0
    queue.put(waiting("c", since=5.6))
    assert queue.due() == float("-inf")


def test_sentence_that_does_not_fit_makes_a_batch_full() -> None:
    """Waiting is pointless once the next sentence has to go into another batch."""
    assert backlog(waiting("a" * 9), waiting("bb")).due() == float("-inf")


def test_forgotten_sentence_costs_nothing() -> None:
    """A sentence that nobody waits for any more joins no batch and takes up no room."""
    left, stays = waiting("a"), waiting("b", "another")
    queue = backlog(left, stays)
    queue.discard(left)
    queue.discard(left)
    assert (size(queue), queue.flows) == (1, 1)
    assert sources(queue.pop("bulk")) == ["b"]


def test_suspect_goes_alone_and_first() -> None:
    """A sentence over which a worker died is retried at once, before all others and by itself."""
    queue = backlog(waiting("c"))
    queue.put_back([waiting("a"), waiting("b")])
    assert queue.due() == float("-inf")
    assert [sources(queue.pop("bulk")) for _ in range(3)] == [["a"], ["b"], ["c"]]


def test_sessions_are_served_between_two_suspects() -> None:
    """A session waits for one suspect, not for all; suspects of sessions are retried before those of documents."""
    queue = backlog(session("c"), waiting("d"))
    queue.put_back([waiting("a"), session("b", "other")])
    served = [queue.pop("interactive") or queue.pop("bulk")]
    queue.put(session("e", "another"))
    served += [queue.pop("interactive") or queue.pop("bulk") for _ in range(3)]
    assert list(map(sources, served)) == [["b"], ["c", "e"], ["a"], ["d"]]


def test_flows_take_turns() -> None:
    """Documents are served in alternation although they arrived one after the other, each in its own order."""
    queue = backlog(*(waiting(f"{flow}{number}", flow) for flow in "abc" for number in range(3)))
    assert sources(drained(queue)) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


def test_turns_go_on_with_the_next_batch() -> None:
    """The next batch continues with the flow whose turn it is."""
    queue = backlog(*(waiting(f"{flow}{number}", flow) for flow in "abcd" for number in range(2)))
    assert [sources(queue.pop("bulk")), sources(queue.pop("bulk"))] == [["a0", "b0", "c0"], ["d0", "a1", "b1"]]


def test_classes_are_apart() -> None:
    """A batch holds either sessions or documents, and a worker that is full of one has room for the other."""
    queue = backlog(*(waiting(f"d{n}") for n in range(3)), *(session(f"s{n}") for n in range(4)))
    assert queue.pop("bulk", 10, 3) == []
    assert sources(queue.pop("interactive")) == ["s0", "s1", "s2"]
    assert sources(queue.pop("bulk")) == ["d0", "d1", "d2"]
    assert sources(queue.pop("interactive", 4, 2)) == ["s3"]


def test_a_session_does_not_wait_for_a_batch_of_documents_to_be_full() -> None:
    """The earliest due time of either class counts."""
    queue = backlog(waiting("a", since=7.0), session("b"))
    assert queue.due() == 1.0


def test_long_document_is_no_obstacle_to_a_short_one() -> None:
    """Each other flow has at most as many sentences ahead of a request as the request has itself."""
    queue = backlog(*(waiting("x", "long") for _ in range(50)), *(waiting("x", "short") for _ in range(2)))
    assert queue.ahead("new", 1) == 2
    assert queue.ahead("new", 5) == 7
    assert queue.ahead("new", 100) == 52
    assert queue.ahead("long", 1) == 52
    queue.put_back([waiting("suspect")])
    assert queue.ahead("new", 1) == 3


OPERATIONS = st.lists(
    st.one_of(
        st.just("pop"),
        st.tuples(st.sampled_from("abcd"), st.text("x", max_size=12), st.booleans()),
        st.tuples(st.sampled_from("stu"), st.text("x", max_size=12), st.just(False)),
    ),
    max_size=60,
)
"""Flows a to d are documents, s to u sessions; True means other options."""


def _element(flow: str, text: str, alone: bool) -> Waiting:
    priority: Priority = "interactive" if flow in "stu" else "bulk"
    return waiting(text, flow, ALONE if alone else DIRECT, priority=priority)


@given(operations=OPERATIONS, suspects=st.integers(0, 3))
def test_every_sentence_is_in_exactly_one_batch(operations: list[str | tuple[str, str, bool]], suspects: int) -> None:
    """All sentences are served, exactly once except suspects; a flow's sentences with equal options stay in order.

    No batch mixes options or classes, or exceeds the budget.
    """
    queue, made, batches = backlog(), [], []
    for operation in operations:
        if isinstance(operation, tuple):
            made.append(_element(*operation))
            queue.put(made[-1])
        elif batch := queue.pop("bulk") or queue.pop("interactive"):
            batches.append(batch)
    again = [element for batch in batches for element in batch][:suspects]
    queue.put_back(again)
    assert size(queue) == len(made) - sum(map(len, batches)) + len(again)
    while batch := queue.pop("interactive") or queue.pop("bulk"):
        batches.append(batch)
    for batch in batches:
        assert len({(element.options, element.turn.priority) for element in batch}) == 1
        assert len(batch) <= BUDGET.sentences
        assert len(batch) == 1 or sum(element.characters for element in batch) <= BUDGET.characters
    seen = [element for batch in batches for element in batch]
    assert sorted(map(id, seen)) == sorted(map(id, made + again))
    first = {id(element): place for place, element in reversed(list(enumerate(seen)))}
    for flow in "abcdstu":
        for options in (DIRECT, ALONE):
            own = [first[id(each)] for each in made if (each.turn.flow, each.options) == (flow, options)]
            assert own == sorted(own)
    assert size(queue) == queue.flows == 0


@given(sizes=st.dictionaries(st.sampled_from("abcdstu"), st.integers(1, 20), min_size=1), sentences=st.integers(1, 9))
def test_no_flow_waits_for_more_than_its_share(sizes: dict[str, int], sentences: int) -> None:
    """Between two sentences of a flow, every other flow of its class has at most one.

    So before the n-th sentence of a flow, each other flow of its class has had n at most.
    """
    numbers = count()
    elements = [_element(flow, "x" * (next(numbers) % 5), False) for flow, size in sizes.items() for _ in range(size)]
    served = [each.turn for each in drained(backlog(*elements, budget=Budget(40, sentences, 0.0)))]
    for flow in sizes:
        own = [place for place, turn in enumerate(served) if turn.flow == flow]
        for before, after in pairwise([-1, *own]):
            others = [turn.flow for turn in served[before + 1 : after] if turn.priority == served[after].priority]
            assert len(others) == len(set(others))


@given(sizes=st.lists(st.integers(1, 30), max_size=8), own=st.integers(1, 30))
def test_what_goes_before_is_what_is_counted(sizes: list[int], own: int) -> None:
    """For a document that comes last, `ahead` predicts how many other sentences are served before its last one."""
    queue = backlog(*(waiting("x", f"flow {at}") for at, size in enumerate(sizes) for _ in range(size)))
    said = queue.ahead("new", own)
    for _ in range(own):
        queue.put(waiting("x", "new"))
    served = [each.turn.flow for each in drained(queue)]
    last = max(place for place, flow in enumerate(served) if flow == "new")
    assert sum(flow != "new" for flow in served[:last]) == said


def test_worker_with_room_gets_what_is_left_of_its_budget() -> None:
    """What a worker already has counts towards its budget; one that has used it up gets nothing."""
    queue = backlog(*map(waiting, ["aaaa", "bbbb", "cc"]))
    assert queue.pop("bulk", 10, 1) == queue.pop("bulk", 2, 3) == []
    assert sources(queue.pop("bulk", 3, 1)) == ["aaaa"]
    assert sources(queue.pop("bulk", 9, 2)) == ["bbbb"]
    assert sources(queue.pop("bulk", 0, 0)) == ["cc"]


def test_suspect_goes_to_nobody_who_is_busy() -> None:
    """A suspect waits for an idle worker; until then others are served before it."""
    queue = backlog(waiting("b"))
    queue.put_back([waiting("a")])
    assert queue.suspects
    assert sources(queue.pop("bulk", 1, 1, idle=False)) == ["b"]
    assert queue.pop("bulk", 1, 1, idle=False) == []
    assert sources(queue.pop("bulk")) == ["a"]
    assert not queue.suspects


def test_everything_can_be_taken_out() -> None:
    """Clearing leaves nothing behind: no suspects, sessions or documents."""
    queue = backlog(waiting("b"), session("c"))
    queue.put_back([waiting("a")])
    assert sources(queue.clear()) == ["a", "c", "b"]
    assert (size(queue), queue.flows, queue.due()) == (0, 0, None)
