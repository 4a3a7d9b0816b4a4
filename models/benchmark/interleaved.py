"""Tokens per second in every way to translate, against the same backbone without context in CTranslate2.

All ways take turns on the same sentences within one run, so that a machine that becomes slower or faster affects them
all alike; a way's figure is the median of its rounds, a ratio the median of the rounds' ratios. A round has every beam
and batch size once, so that a run that has to end early has measured all of them.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice, product
from statistics import median
from typing import Final, Protocol

from models.benchmark.lane import Way, Work, has_torch_weights, keeps_states
from models.config import ContextWindow
from models.data.documents import Document, windows
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest
from models.errors import DataError
from models.search.hypotheses import SearchOptions

PEER: Final[Way] = "sentence"
PLAIN: Final[Way] = "plain"


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one way with one beam and one batch size."""

    architecture: str
    strategy: Way
    device: str
    compute_type: str
    lanes: int
    beam: int
    batch: int
    """Sentences per lane."""
    tokens_per_second: float
    """Target tokens that all lanes together generate per second: the median of the rounds."""
    slowest: float
    fastest: float
    """The speeds of the slowest and the fastest round, in tokens per second."""
    milliseconds: float
    """Time for one batch in each lane, side by side: the median of the rounds."""
    ratio: float
    """Speed relative to CTranslate2 with the backbone alone."""
    plain_ratio: float | None
    """Speed relative to the plain way, if that was measured."""
    rounds: int
    """Rounds that were measured."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions under which ways are compared."""

    device: str
    compute_type: str
    lanes: int
    beams: Sequence[int]
    batches: Sequence[int]
    rounds: int = 5
    """Rounds that are measured, after a first one that is not counted."""
    seconds: float = math.inf
    """Time for all rounds; one that would not end within it is left out, unless it is the first that counts."""
    length: int | None = None
    """Length of every translation, in tokens; if None, a translation ends where the model ends it."""


@dataclass(frozen=True, slots=True)
class Round:
    """One measurement of a way."""

    tokens: int
    seconds: float

    @property
    def speed(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds


class Team(Protocol):
    """A number of lanes that translate, such as `models.benchmark.lanes.Lanes`."""

    def give(self, work: Sequence[Work]) -> None:
        """Hand each lane its next sentences."""

    def forget(self) -> None:
        """Make all lanes forget the context states that they keep."""

    def run(self, way: Way, options: SearchOptions) -> int:
        """Let every lane translate its sentences; return the number of target tokens of all."""


def benchmark(
    runtime: Runtime,
    documents: Sequence[Document],
    conditions: Conditions,
    team: Team,
    *,
    clock: Callable[[], float] = time.perf_counter,
    progress: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> list[Row]:
    """Measure every way with every beam and batch size.

    Args:
        runtime: the runtime of the lanes' bundle, which prepares the sentences.
        documents: the sentences to translate. They repeat if the lanes need more, which saves work for ways that read a
            context only once.
        conditions: the same for all ways.
        team: `conditions.lanes` lanes.
        clock: the time in seconds.
        progress: wraps the iteration over the rounds of all beams and batch sizes.

    Raises:
        DataError: there is no sentence.
        UnsupportedOptionError: a beam is too large, or there is no backbone to compare with.
    """
    for beam in conditions.beams:
        runtime.check(TranslationRequest(""), Options(beam_size=beam))
    work = _work(runtime, documents, conditions.length)
    settings = list(product(conditions.beams, conditions.batches))
    measured: dict[tuple[int, int], dict[Way, list[Round]]] = {
        (beam, batch): {way: [] for way in _ways(runtime, beam, conditions)} for beam, batch in settings
    }
    start = clock()
    for number in progress(range(len(settings) * (conditions.rounds + 1))):
        turn, place = divmod(number, len(settings))
        if place == 0 and turn > 1 and (clock() - start) * (turn + 1) / turn > conditions.seconds:
            break
        setting = settings[place]
        options = _options(runtime, setting[0], conditions.length)
        team.give(_parts(work, turn, conditions.lanes, setting[1]))
        for way, rounds in measured[setting].items():
            if conditions.device != "cpu":  # captures CUDA graphs, as a service has after a while
                _measure(team, way, options, clock)
            found = _measure(team, way, options, clock)
            if turn:
                rounds.append(found)
    return [
        row for (beam, batch), rounds in measured.items() for row in _rows(runtime, conditions, beam, batch, rounds)
    ]


def _measure(team: Team, way: Way, options: SearchOptions, clock: Callable[[], float]) -> Round:
    if way != "warm":  # `warm` uses the states that the way before it kept
        team.forget()
    start = clock()
    tokens = team.run(way, options)
    return Round(tokens, clock() - start)


def _ways(runtime: Runtime, beam: int, conditions: Conditions) -> list[Way]:
    runtime.engine("sentence")  # raises if there is no backbone to compare with
    ways: list[Way] = [PEER]
    if conditions.device != "cpu":
        ways.append("float16")
    ways.append("direct")
    if keeps_states(runtime):
        ways.append("warm")
    if conditions.device != "cpu" and has_torch_weights(runtime):
        ways.append("eager")  # shows what graphs are worth
    if beam > 1:  # else there is nothing to choose from
        ways.append("rerank")
    if conditions.length is not None or has_torch_weights(runtime):
        ways.append(PLAIN)  # untrained weights would not end a translation
    return ways


def _work(runtime: Runtime, documents: Sequence[Document], length: int | None) -> Work:
    requests = list(_requests(documents, runtime.manifest.window))
    work = [part for prepared in runtime.prepare(requests, Options()) for part in prepared.parts]
    if not work:
        raise DataError("there are no sentences to measure with")
    return work if length is None else [replace(request, max_length=length) for request in work]


def _requests(documents: Sequence[Document], window: ContextWindow) -> Iterator[TranslationRequest]:
    for document in documents:
        for each in windows(document, window):
            yield TranslationRequest(each.current.source, each.preceding, each.following)


def _parts(work: Work, turn: int, lanes: int, batch: int) -> Sequence[Work]:
    """Choose what each lane translates in a round: other sentences than in the last one, while there are more.

    Sentences are dealt by length, back and forth over the lanes, so that all take about equally long.
    """
    first = turn * lanes * batch % len(work)
    chosen = sorted(islice(cycle(work), first, first + lanes * batch), key=lambda request: -len(request.example.source))
    parts: list[list[TokenizedRequest]] = [[] for _ in range(lanes)]
    for request, part in zip(chosen, cycle([*parts, *reversed(parts)]), strict=False):
        part.append(request)
    return parts


def _options(runtime: Runtime, beam: int, length: int | None) -> SearchOptions:
    decoding = runtime.manifest.decoding
    least = 1 if length is None else length
    return SearchOptions(beam, 1, decoding.normalization, decoding.alpha, decoding.patience, min_length=least)


def _rows(
    runtime: Runtime, conditions: Conditions, beam: int, batch: int, rounds: dict[Way, list[Round]]
) -> Iterator[Row]:
    for way, measured in rounds.items():
        speeds = [each.speed for each in measured]
        yield Row(
            architecture=runtime.manifest.architecture.kind,
            strategy=way,
            device=conditions.device,
            compute_type=conditions.compute_type,
            lanes=conditions.lanes,
            beam=beam,
            batch=batch,
            tokens_per_second=median(speeds),
            slowest=min(speeds),
            fastest=max(speeds),
            milliseconds=1000 * median(each.seconds for each in measured),
            ratio=_ratio(measured, rounds[PEER]),
            plain_ratio=_ratio(measured, rounds[PLAIN]) if PLAIN in rounds else None,
            rounds=len(measured),
        )


def _ratio(ours: Sequence[Round], theirs: Sequence[Round]) -> float:
    return median(one.speed / other.speed for one, other in zip(ours, theirs, strict=True))
