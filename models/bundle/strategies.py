"""Ways to translate tokenized sentences: what every engine behind a runtime offers, and the one that is torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import torch
from torch import Tensor

from models.bundle.batching import in_batches
from models.bundle.memories import Memories
from models.bundle.requests import CacheUse
from models.data.batches import Batch, Example, Memory, Tokens, pad_memories, read_batch
from models.network.decoding import ModelDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.search import search
from models.training.objective import token_losses

RECALLED = 256
"""Sentences whose memories are at hand together, where a model has any."""


@dataclass(frozen=True, slots=True)
class TokenizedRequest:
    """A sentence with the context that is used, and how long its translation may be."""

    example: Example
    max_length: int
    """The most target tokens to generate, end of sentence included."""

    @property
    def size(self) -> int:
        """Tokens of the longest of source and contexts, each with its end of sentence."""
        example = self.example
        sides = [example.preceding, example.translations, example.following]
        if (own := example.own) is not None:
            sides.append([*own.preceding, own.source, *own.following])
        return max(len(example.source), *(sum(map(len, side)) for side in sides)) + 1


class Engine(Protocol):
    """Translates and scores; the result for one request depends on nothing else that is asked with it."""

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """For each request its `n_best` hypotheses, best first."""

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """For each request the log-probability of every token of its target, and of the end of sentence."""

    def cache_use(self) -> CacheUse:
        """How often states of the context were kept, since the engine was made."""


class TorchEngine:
    """A translation model in torch, with the context that its architecture reads.

    Where sentences leave something to the next ones, it is kept, and read again from the texts where it is not.
    """

    def __init__(self, model: TranslationModel, memories: Memories | None = None) -> None:
        """Translate with `model`, which is in evaluation mode, on its device and in its precision."""
        self.model = model
        self._decoder = ModelDecoder(model)
        self._device = next(model.parameters()).device
        self._memories = (memories or Memories(model)) if model.architecture.recurrent else None

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """For each request its `n_best` hypotheses, best first."""
        return [found for part in self._parts(requests) for found in self._translate(part, options)]

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """For each request the log-probability of every token of its target, and of the end of sentence."""
        remaining = iter(targets)
        return [
            values for part in self._parts(requests) for values in self._score(part, list(islice(remaining, len(part))))
        ]

    def cache_use(self) -> CacheUse:
        """How often states of the context were kept, since the engine was made."""
        caches = [*self.model.architecture.caches(), *([] if self._memories is None else [self._memories.kept])]
        return CacheUse(sum(cache.hits for cache in caches), sum(cache.misses for cache in caches))

    def _parts(self, requests: Sequence[TokenizedRequest]) -> Iterator[Sequence[TokenizedRequest]]:
        """All requests at once, or as many as their memories allow: those of a document stand together."""
        size = max(1, len(requests)) if self._memories is None else RECALLED
        return (requests[start : start + size] for start in range(0, len(requests), size))

    def _translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        memories = self._recall(requests)

        def translate(indices: list[int]) -> list[list[Hypothesis]]:
            batch = self._batch(requests, None, memories, indices)
            return search(self._decoder, batch, options, [requests[i].max_length for i in indices])

        found = in_batches([request.size for request in requests], translate)
        if self._memories is not None:
            for request, hypotheses in zip(requests, found, strict=True):
                self._memories.keep(request.example, hypotheses[0].tokens, hypotheses[0].memory)
        return found

    def _score(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        memories = self._recall(requests)

        def score(indices: list[int]) -> list[list[float]]:
            losses = self._losses(self._batch(requests, targets, memories, indices))
            return [(-row[: len(targets[i]) + 1]).tolist() for row, i in zip(losses, indices, strict=True)]

        pairs = zip(requests, targets, strict=True)
        return in_batches([max(request.size, len(target) + 1) for request, target in pairs], score)

    def _recall(self, requests: Sequence[TokenizedRequest]) -> list[Memory] | None:
        return None if self._memories is None else self._memories.recall([request.example for request in requests])

    @torch.inference_mode()
    def _losses(self, batch: Batch) -> Tensor:
        return token_losses(self.model, batch).cpu()

    def _batch(
        self,
        requests: Sequence[TokenizedRequest],
        targets: Sequence[Tokens] | None,
        memories: Sequence[Memory] | None,
        indices: Sequence[int],
    ) -> Batch:
        wanted = None if targets is None else [targets[i] for i in indices]
        batch = read_batch([requests[i].example for i in indices], wanted, self.model.architecture).to(self._device)
        return batch if memories is None else replace(batch, memory=pad_memories([memories[i] for i in indices]))
