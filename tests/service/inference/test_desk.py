"""What a worker does between orders, without a process around it."""

from collections.abc import Collection, Mapping

import pytest

from models.engine.requests import CacheUse, Options, Translation, TranslationRequest
from models.errors import RequestError
from service.inference.desk import BULK_SHARE, Desk
from service.inference.wire import Batch, Drop, Failure, Job, Outcomes, Priority
from service.telemetry.tracing import NO_TRACER
from tests.support.lanes import translation

GREEDY, BEAM = Options(beam_size=1), Options(beam_size=4)


class Countdown:
    """Translates a text in as many steps as it has letters; `steps` records the options of each step.

    By the clock `now`, a step takes as many seconds as it has texts.
    """

    def __init__(self) -> None:
        self.steps: list[Options] = []
        self.seconds = 0

    def now(self) -> float:
        """The time."""
        return float(self.seconds)

    def cache_use(self) -> CacheUse:
        """One hit per step."""
        return CacheUse(hits=len(self.steps))

    def flow(self, options: Options) -> "CountdownFlow":
        """A flow whose steps are counted."""
        return CountdownFlow(options, self)


class CountdownFlow:
    """The texts in progress, with the number of letters left of each."""

    def __init__(self, options: Options, translator: Countdown) -> None:
        self._options = options
        self._translator = translator
        self._left: dict[int, tuple[str, int]] = {}

    @property
    def running(self) -> int:
        """The number of unfinished texts."""
        return len(self._left)

    def add(self, requests: Mapping[int, TranslationRequest]) -> None:
        """Add texts; refuse nothing but `refuse`."""
        if any(request.source == "refuse" for request in requests.values()):
            raise RequestError("the model refuses this sentence")
        self._left |= {key: (request.source, len(request.source)) for key, request in requests.items()}

    def step(self) -> list[tuple[int, Translation]]:
        """Do one letter of each text."""
        assert self._left
        self._translator.steps.append(self._options)
        self._translator.seconds += len(self._left)
        self._left = {key: (text, left - 1) for key, (text, left) in self._left.items()}
        done = [key for key, (_, left) in self._left.items() if left == 0]
        return [(key, translation(self._left.pop(key)[0])) for key in done]

    def drop(self, keys: Collection[int]) -> None:
        """Drop texts."""
        for key in keys:
            self._left.pop(key, None)


def batch(options: Options, priority: Priority = "interactive", **texts: str) -> Batch:
    """A batch of sentences, whose numbers are given by names `n1`, `n2` and so on."""
    jobs = tuple(Job(int(name[1:]), TranslationRequest(text)) for name, text in texts.items())
    return Batch(options, jobs, priority)


def said(outcomes: Outcomes | None) -> dict[int, str | None]:
    """The outcome of each number: the text, the code of a failure, or None."""
    if outcomes is None:
        return {}
    return {outcome.number: _shown(outcome.result) for outcome in outcomes.outcomes}


def _shown(result: Translation | Failure | None) -> str | None:
    if result is None:
        return None
    return result.code if isinstance(result, Failure) else result.text


def test_each_sentence_is_answered_when_it_is_done() -> None:
    """A short sentence that comes later is answered before a long one, and a refused one at once."""
    desk = Desk(Countdown(), NO_TRACER)
    desk.take(batch(GREEDY, n1="long", n2="a", n3="refuse"))
    assert said(desk.work()) == {3: "invalid_request", 2: "a"}
    desk.take(batch(GREEDY, n4="b"))
    assert [said(desk.work()) for _ in range(3)] == [{4: "b"}, {}, {1: "long"}]
    assert not desk.busy


def test_nothing_is_left_of_a_batch_that_is_refused() -> None:
    """All of its sentences are answered at once, and no turn is spent on their options."""
    desk = Desk(Countdown(), NO_TRACER)
    desk.take(batch(GREEDY, n1="refuse", n2="refuse"))
    desk.take(batch(BEAM, n3="a"))
    assert said(desk.work()) == {1: "invalid_request", 2: "invalid_request", 3: "a"}
    assert not desk.busy


def test_options_take_turns() -> None:
    """Sentences with different options never share a step, and none has to wait for the others to end."""
    translator = Countdown()
    desk = Desk(translator, NO_TRACER, translator.now)
    desk.take(batch(GREEDY, n1="xxxx"))
    desk.take(batch(BEAM, n2="yy"))
    found = [said(desk.work()) for _ in range(6)]
    assert translator.steps == [GREEDY, BEAM, GREEDY, BEAM, GREEDY, GREEDY]
    assert found == [{}, {}, {}, {2: "yy"}, {}, {1: "xxxx"}]


def test_options_that_come_later_take_turns_at_once() -> None:
    """Newcomers are not compensated for time that others had before they came."""
    translator = Countdown()
    desk = Desk(translator, NO_TRACER, translator.now)
    desk.take(batch(GREEDY, n1="x" * 20))
    for _ in range(10):
        desk.work()
    translator.steps.clear()
    desk.take(batch(BEAM, n2="y" * 4))
    for _ in range(4):
        desk.work()
    assert translator.steps == [GREEDY, BEAM, GREEDY, BEAM]


def test_options_whose_steps_take_long_have_no_more_time_than_others() -> None:
    """A sentence with quick steps waits for a single step of sixteen other sentences, not for all their steps."""
    translator = Countdown()
    desk = Desk(translator, NO_TRACER, translator.now)
    desk.take(batch(BEAM, **{f"n{number}": "x" * 40 for number in range(20, 36)}))
    desk.work()
    desk.take(batch(GREEDY, n1="short"))
    found: dict[int, str | None] = {}
    while 1 not in found:
        found |= said(desk.work())
    assert translator.steps.count(BEAM) <= 2
    assert translator.steps.count(GREEDY) == len("short")


def test_a_spoken_sentence_waits_for_no_document() -> None:
    """An interactive sentence is done after its own steps plus a share for documents, however long these are."""
    translator = Countdown()
    desk = Desk(translator, NO_TRACER, translator.now)
    desk.take(batch(BEAM, "bulk", **{f"n{number}": "x" * 40 for number in range(20, 52)}))
    desk.work()
    desk.take(batch(GREEDY, n1="spoken"))
    found: dict[int, str | None] = {}
    while 1 not in found:
        found |= said(desk.work())
    assert translator.steps == [BEAM, *[GREEDY] * len("spoken")]


def test_a_document_that_comes_waits_for_what_is_spoken() -> None:
    """Documents are owed nothing for time in which none was waiting."""
    translator = Countdown()
    desk = Desk(translator, NO_TRACER, translator.now)
    desk.take(batch(BEAM, "bulk", n1="x"))
    desk.work()
    desk.take(batch(GREEDY, n2="long ago"))
    while desk.busy:
        desk.work()
    desk.take(batch(BEAM, "bulk", n3="x"))
    desk.take(batch(GREEDY, n4="a"))
    assert [said(desk.work()) for _ in range(2)] == [{4: "a"}, {3: "x"}]


def test_documents_have_their_share_of_the_time() -> None:
    """Documents get their share however many interactive sentences there are, and all of the time if there are none."""
    translator = Countdown()
    desk = Desk(translator, NO_TRACER, translator.now)
    desk.take(batch(BEAM, "bulk", n1="x" * 30, n2="x" * 30))
    desk.take(batch(GREEDY, n3="y" * 60))
    for _ in range(70):
        desk.work()
    both = translator.steps[: translator.steps.index(GREEDY) + 60]
    assert 2 * both.count(BEAM) / (2 * both.count(BEAM) + both.count(GREEDY)) == pytest.approx(1 / BULK_SHARE, abs=0.03)
    while desk.busy:
        desk.work()
    assert (translator.steps.count(BEAM), translator.steps.count(GREEDY)) == (30, 60)


def test_what_is_dropped_costs_no_further_step() -> None:
    """A drop is confirmed once, but not if the sentence was already answered or is unknown."""
    translator = Countdown()
    desk = Desk(translator, NO_TRACER)
    desk.take(batch(GREEDY, n1="xxxx", n2="y"))
    desk.take(batch(BEAM, n3="zzzz"))
    assert said(desk.work()) == {2: "y"}
    for number in (1, 2, 3, 77):
        desk.take(Drop(number))
    assert desk.busy
    assert said(desk.work()) == {1: None, 3: None}
    assert not desk.busy
    assert len(translator.steps) == 1


def test_time_and_cache_use_are_told_once() -> None:
    """Each answer reports the time and cache use since the previous one."""
    seconds = iter(range(100))
    desk = Desk(Countdown(), NO_TRACER, lambda: float(next(seconds)))
    desk.take(batch(GREEDY, n1="xx", n2="yyy"))
    told = [found for _ in range(3) if (found := desk.work()) is not None]
    assert [found.seconds for found in told] == [3.0, 1.0]
    assert [found.cache_use.hits for found in told] == [2, 1]
