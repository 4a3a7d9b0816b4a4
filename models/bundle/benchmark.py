"""Tokens per second with context against the same backbone without it in CTranslate2.

All strategies take turns on the same sentences within one run, so that a machine that grows slower or faster does so
for each of them; a strategy's figure is the median of its rounds, and only ratios within a run mean anything.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median
from typing import Final

from models.bundle.requests import Options, Strategy, TranslationRequest
from models.bundle.runtime import Runtime
from models.config import ContextWindow
from models.data.documents import Document, windows
from models.errors import DataError

PEER: Final[Strategy] = "sentence"
STRATEGIES: Final[tuple[Strategy, ...]] = (PEER, "direct")


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy on one batch size."""

    architecture: str
    strategy: Strategy
    device: str
    compute_type: str
    beam: int
    batch: int
    tokens_per_second: float
    """Target tokens generated a second: the median of the rounds."""
    slowest: float
    fastest: float
    """Of the rounds, in tokens a second."""
    ratio: float
    """To CTranslate2 alone, the strategy `sentence`, in this run."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which strategies are compared; the runtime has been loaded for `device` and `compute_type`."""

    device: str
    compute_type: str
    beam: int
    batches: Sequence[int]
    """Sentences in a call."""
    rounds: int = 5
    """After one that is not counted."""


def benchmark(
    runtime: Runtime,
    documents: Sequence[Document],
    conditions: Conditions,
    *,
    clock: Callable[[], float] = time.perf_counter,
    progress: Callable[[Iterator[int]], Iterator[int]] = iter,
) -> list[Row]:
    """Measure every strategy with every batch size.

    Args:
        runtime: of a bundle.
        documents: whose sentences are translated; repeated where a batch takes more.
        conditions: the same for all.
        clock: seconds.
        progress: wraps what is iterated over.

    Raises:
        DataError: there is no sentence.
    """
    requests = _requests(documents, runtime.manifest.window)
    speeds: dict[tuple[Strategy, int], list[float]] = {
        (s, batch): [] for batch in conditions.batches for s in STRATEGIES
    }
    for turn in progress(iter(range(conditions.rounds + 1))):
        for (strategy, batch), measured in speeds.items():
            given = list(islice(cycle(requests), batch))
            start = clock()
            translated = runtime.translate(given, Options(strategy=strategy, beam_size=conditions.beam))
            seconds = clock() - start
            if turn:
                measured.append(sum(each.tokens for each in translated) / seconds)
    return [
        Row(
            architecture=runtime.manifest.architecture.kind,
            strategy=strategy,
            device=conditions.device,
            compute_type=conditions.compute_type,
            beam=conditions.beam,
            batch=batch,
            tokens_per_second=median(measured),
            slowest=min(measured),
            fastest=max(measured),
            ratio=median(measured) / median(speeds[PEER, batch]),
        )
        for (strategy, batch), measured in speeds.items()
    ]


def _requests(documents: Sequence[Document], window: ContextWindow) -> list[TranslationRequest]:
    requests = [
        TranslationRequest(each.current.source, each.preceding, each.following)
        for document in documents
        for each in windows(document, window)
    ]
    if not requests:
        raise DataError("there is no sentence to measure with")
    return requests
