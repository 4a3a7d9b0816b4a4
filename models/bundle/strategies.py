"""Ways to translate tokenized sentences: what every engine behind a runtime offers, and the one that is torch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from models.data.batches import Batch, Example, Tokens, read_batch
from models.network.decoding import ModelDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.search import search
from models.training.objective import token_losses

BATCH_TOKENS = 2048
"""Padded source tokens of a batch: on a CPU more of them gain nothing."""

Result = TypeVar("Result")


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


class TorchEngine:
    """A translation model in torch, with the context that its architecture reads."""

    def __init__(self, model: TranslationModel) -> None:
        """Translate with `model`, which is in evaluation mode, on its device and in its precision."""
        self._model = model
        self._decoder = ModelDecoder(model)
        self._device = next(model.parameters()).device

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """For each request its `n_best` hypotheses, best first."""

        def translate(indices: list[int]) -> list[list[Hypothesis]]:
            batch = self._batch([requests[i] for i in indices], None)
            return search(self._decoder, batch, options, [requests[i].max_length for i in indices])

        return in_batches([request.size for request in requests], translate)

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """For each request the log-probability of every token of its target, and of the end of sentence."""

        def score(indices: list[int]) -> list[list[float]]:
            wanted = [targets[i] for i in indices]
            losses = self._losses(self._batch([requests[i] for i in indices], wanted))
            return [(-row[: len(target) + 1]).tolist() for row, target in zip(losses, wanted, strict=True)]

        pairs = zip(requests, targets, strict=True)
        return in_batches([max(request.size, len(target) + 1) for request, target in pairs], score)

    @torch.inference_mode()
    def _losses(self, batch: Batch) -> Tensor:
        return token_losses(self._model, batch).cpu()

    def _batch(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens] | None) -> Batch:
        examples = [request.example for request in requests]
        return read_batch(examples, targets, self._model.architecture).to(self._device)


def in_batches(sizes: Sequence[int], work: Callable[[list[int]], Sequence[Result]]) -> list[Result]:
    """Do work in batches of like sizes and give the results in the order of the sizes.

    Args:
        sizes: tokens of each piece of work.
        work: takes the indices of a batch and gives a result for each.
    """
    results: dict[int, Result] = {}
    for indices in _batches(sizes):
        results |= zip(indices, work(indices), strict=True)
    return [results[i] for i in range(len(sizes))]


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        # Sorted by size, so the first of a batch is its longest.
        if batch and (len(batch) + 1) * sizes[batch[0]] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
