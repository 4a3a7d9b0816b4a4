"""Strategies that are made of others: reranking, where the backbone proposes and the model chooses; and verification.

The sentence backbone proposes the n-best list of a beam search in CTranslate2; the model with context reads each
sentence once, and all proposals for it in one pass. Its normalised log-probability alone decides, not a mixture of
both: the backbone's has already shaped the list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat

import torch

from models.data.batches import Tokens
from models.engine.batching import sentences_at_once
from models.engine.flow import AtOnce, Flow
from models.engine.requests import CacheUse, Strategy
from models.engine.strategies import Engine, TokenizedRequest
from models.search.hypotheses import Hypothesis, SearchOptions


def combined(engines: Mapping[Strategy, Engine], positions: int) -> dict[Strategy, Engine]:
    """Return all strategies that the engines allow; `direct` must be among them, and reranking needs a backbone.

    `positions` is how many positions the models have for a translation.
    """
    strategies: dict[Strategy, Engine] = {**engines, "verify": engines["direct"]}
    if "sentence" in engines:
        strategies["rerank"] = RerankEngine(engines["sentence"], engines["direct"], positions)
    return strategies


class RerankEngine:
    """Translates by choosing among translations of another engine; satisfies `models.engine.strategies.Engine`."""

    def __init__(self, proposes: Engine, chooses: Engine, positions: int) -> None:
        """Let one engine propose as many hypotheses as the beam is wide, and the other score them."""
        self._longest = positions - 1  # what is scored has a position for its end, too
        self._proposes = proposes
        self._chooses = chooses

    @property
    def device(self) -> torch.device:
        """The device of the engine that chooses."""
        return self._chooses.device

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each request, best first; in a tie, the one proposed first wins."""
        asked = [replace(request, max_length=min(request.max_length, self._longest)) for request in requests]
        lists = self._proposes.translate(asked, replace(options, n_best=options.beam_size))
        scored = self._chooses.score_candidates(requests, [[one.tokens for one in proposed] for proposed in lists])
        return [
            sorted(map(_rescored, proposed, values, repeat(options)), key=lambda one: -one.score)[: options.n_best]
            for proposed, values in zip(lists, scored, strict=True)
        ]

    def flow(self, options: SearchOptions) -> Flow[TokenizedRequest, list[Hypothesis]]:
        """Return a flow of small batches, like the backbone's; each sentence takes as many rows as the beam is wide."""
        return AtOnce(lambda requests: self.translate(requests, options), sentences_at_once(self.device))

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """Return those of the engine that chooses."""
        return self._chooses.log_probabilities(requests, targets)

    def score_candidates(
        self, requests: Sequence[TokenizedRequest], candidates: Sequence[Sequence[Tokens]]
    ) -> list[list[list[float]]]:
        """Return those of the engine that chooses."""
        return self._chooses.score_candidates(requests, candidates)

    def cache_use(self) -> CacheUse:
        """Return that of the engine that chooses."""
        return self._chooses.cache_use()

    def free(self) -> None:
        """Give back the memory that both engines cache."""
        self._proposes.free()
        self._chooses.free()


def _rescored(proposed: Hypothesis, values: Sequence[float], options: SearchOptions) -> Hypothesis:
    """Return a hypothesis with the score of another model."""
    total = sum(values[: proposed.length])
    return replace(proposed, score=options.normalize(total, proposed.length), log_probability=total, memory={})
