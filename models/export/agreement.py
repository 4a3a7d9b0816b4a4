"""Whether a converted backbone agrees with the one in torch, on real sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from statistics import fmean
from typing import Final

from models.data.batches import Tokens
from models.data.tokenizer import BOS, PAD
from models.engine.strategies import Engine, TokenizedRequest
from models.search.hypotheses import Hypothesis, SearchOptions

EXACT: Final = 1e-4
"""Nats: the most by which two float32 engines may differ in a token's log-probability or a translation's score."""
CLOSE: Final = 0.02
"""Nats per token: the most by which rounded weights may change the mean log-probability of the references, 2 % of
perplexity. For the shipped model's step one, int8 changed it by 0.0004, and swapping keys and values in one layer by
0.4. Smaller mistakes are found by the exact comparison, which the conversion itself must pass in float32.
"""
BEAMS: Final = (1, 4)
NEVER_GENERATED: Final = {PAD, BOS}
"""Our search forbids them, CTranslate2 does not; a trained model gives them practically no probability."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Sentences, as requests without context, and their translations, on which two engines are compared."""

    requests: Sequence[TokenizedRequest]
    targets: Sequence[Tokens]


def exact_disagreement(reference: Engine, other: Engine, sample: Sample) -> str | None:
    """Compare two engines that should compute the same.

    Log-probabilities of the targets are compared token by token; greedy and beam-4 translations must be equal, or their
    scores must be within `EXACT` (a tie).

    Returns:
        A description of the difference; None if there is none.
    """
    ours, theirs = (engine.log_probabilities(sample.requests, sample.targets) for engine in (reference, other))
    difference = max(starmap(_distance, zip(chain(*ours), chain(*theirs), strict=True)))
    if not difference <= EXACT:
        return f"log-probabilities of tokens differ by up to {difference:.2g}"
    for beam_size in BEAMS:
        options = SearchOptions(beam_size)
        pairs = list(zip(*(engine.translate(sample.requests, options) for engine in (reference, other)), strict=True))
        if untrained := sum(not NEVER_GENERATED.isdisjoint(two[0].tokens) for _, two in pairs):
            return f"{untrained} of {len(pairs)} translations contain control tokens: the model has hardly been trained"
        if different := sum(not _same(one[0], two[0]) for one, two in pairs):
            return f"{different} of {len(pairs)} translations with beam {beam_size} differ"
    return None


def mean_shift(reference: Engine, other: Engine, sample: Sample) -> float:
    """Return by how many nats the targets' mean log-probability per token is higher in the other engine."""
    ours, theirs = (engine.log_probabilities(sample.requests, sample.targets) for engine in (reference, other))
    return fmean(chain(*theirs)) - fmean(chain(*ours))


def _distance(one: float, two: float) -> float:
    distance = abs(one - two)
    return math.inf if math.isnan(distance) else distance


def _same(one: Hypothesis, two: Hypothesis) -> bool:
    return one.tokens == two.tokens or abs(one.score - two.score) <= EXACT
