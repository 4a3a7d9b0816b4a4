"""Strategies that are made of others: the sentence backbone proposes and the model with context chooses; drafts.

What the backbone proposes is an n-best list of a beam search in CTranslate2; the model with context reads each sentence
once and all that was proposed for it in one pass. Its normalised log-probability decides, not a mixture of the two: the
backbone's has gone into the list.
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
    """All strategies that engines offer, where `direct` is one of them; without a backbone nothing can be reranked.

    `positions` is how many the models have for a translation.
    """
    strategies: dict[Strategy, Engine] = {**engines, "verify": engines["direct"]}
    if "sentence" in engines:
        strategies["rerank"] = RerankEngine(engines["sentence"], engines["direct"], positions)
    return strategies


class RerankEngine:
    """Translates by choosing among the translations of another engine; satisfies `models.engine.strategies.Engine`."""

    def __init__(self, proposes: Engine, chooses: Engine, positions: int) -> None:
        """Let one engine propose as many hypotheses as the beam is wide, and the other score them."""
        self._longest = positions - 1  # what is scored has a position for its end, too
        self._proposes = proposes
        self._chooses = chooses

    @property
    def device(self) -> torch.device:
        """That of the engine that chooses."""
        return self._chooses.device

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """For each request its `n_best` hypotheses, best first; in a tie the one that was proposed first."""
        asked = [replace(request, max_length=min(request.max_length, self._longest)) for request in requests]
        lists = self._proposes.translate(asked, replace(options, n_best=options.beam_size))
        scored = self._chooses.score_candidates(requests, [[one.tokens for one in proposed] for proposed in lists])
        return [
            sorted(map(_rescored, proposed, values, repeat(options)), key=lambda one: -one.score)[: options.n_best]
            for proposed, values in zip(lists, scored, strict=True)
        ]

    def flow(self, options: SearchOptions) -> Flow[TokenizedRequest, list[Hypothesis]]:
        """A flow of small batches, as the backbone's is; each sentence is as many rows as the beam is wide."""
        return AtOnce(lambda requests: self.translate(requests, options), sentences_at_once(self.device))

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """Those of the engine that chooses."""
        return self._chooses.log_probabilities(requests, targets)

    def score_candidates(
        self, requests: Sequence[TokenizedRequest], candidates: Sequence[Sequence[Tokens]]
    ) -> list[list[list[float]]]:
        """Those of the engine that chooses."""
        return self._chooses.score_candidates(requests, candidates)

    def cache_use(self) -> CacheUse:
        """That of the engine that chooses."""
        return self._chooses.cache_use()

    def free(self) -> None:
        """Give back the memory that both engines keep."""
        self._proposes.free()
        self._chooses.free()


def _rescored(proposed: Hypothesis, values: Sequence[float], options: SearchOptions) -> Hypothesis:
    """A hypothesis with the score of another model."""
    total = sum(values[: proposed.length])
    return replace(proposed, score=options.normalize(total, proposed.length), log_probability=total, memory={})
