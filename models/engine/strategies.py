"""Ways to translate tokenized sentences: the interface of every engine behind a runtime, and the engine in torch."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol

import torch

from models.data.batches import CONTEXT_SHARE, Batch, Example, Memory, Tokens, pad_memories, read_batch
from models.engine.batching import batch_tokens, in_batches
from models.engine.candidates import Reading, score
from models.engine.continuous import Continuous
from models.engine.flow import Flow, run
from models.engine.memories import Memories
from models.engine.requests import CacheUse
from models.engine.token_budget import TokenBudget
from models.network.inference.graph_decoder import decoder_of
from models.network.model import TranslationModel
from models.network.recent import Recent
from models.search.decoder import Decoder
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.running import Unwanted
from models.search.search import new_search

RECALLED = 256
"""How many sentences have their memories at hand at once, if a model has memories."""


@dataclass(frozen=True, slots=True)
class TokenizedRequest:
    """A sentence with the context that is used, and the maximum length of its translation."""

    example: Example
    max_length: int
    """The most target tokens to generate, end of sentence included."""
    draft: Tokens = ()
    """A guess at the translation; empty if there is none."""
    unwanted: Unwanted | None = None
    """Which hypotheses beam search drops as long as it has others; only `TorchEngine` drops them."""

    @property
    def size(self) -> int:
        """How many tokens it counts as in a batch: those of its sentence or, if more, a share of its context's."""
        example = self.example
        sides = [example.preceding, example.translations, example.following]
        if (own := example.own) is not None:
            sides.append([*own.preceding, own.source, *own.following])
        return max(len(example.source), *(sum(map(len, side)) // CONTEXT_SHARE for side in sides)) + 1


class Engine(Protocol):
    """Translates and scores; the result for one request does not depend on the other requests in the same call."""

    @property
    def device(self) -> torch.device:
        """The device that it computes on."""

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each request, best first."""

    def flow(self, options: SearchOptions) -> Flow[TokenizedRequest, list[Hypothesis]]:
        """Return an empty flow in which requests are translated as they come."""

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """Return, for each request, the log-probability of every token of its target and of the end of sentence."""

    def score_candidates(
        self, requests: Sequence[TokenizedRequest], candidates: Sequence[Sequence[Tokens]]
    ) -> list[list[list[float]]]:
        """Return what `log_probabilities` gives, for each candidate of each request, which has at least one."""

    def cache_use(self) -> CacheUse:
        """Return how often states of the context were reused since the engine was made, and how often not."""

    def free(self) -> None:
        """Give back the memory that is cached for later batches; called when the device has none left."""


class TorchEngine:
    """A translation model in torch, with the context that its architecture reads.

    If sentences leave a memory to the next ones, it is kept; where it is not kept any more, it is made again from the
    texts.
    """

    def __init__(
        self, model: TranslationModel, memories: Memories | None = None, decoder: Decoder[Any] | None = None
    ) -> None:
        """Translate with `model`, which is in evaluation mode, on its device and in its precision.

        Args:
            model: the model that translates and scores.
            memories: replaces the engine's own memories.
            decoder: a decoder of the model, in place of the default one, which caches what it has computed.
        """
        self.model = model
        self._decoder = decoder or decoder_of(model)
        self._device = model.device
        self._budget = TokenBudget(batch_tokens(self._device))
        kept = memories or Memories(model, free=self._decoder.free)
        self._memories = kept if model.architecture.recurrent else None

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self._device

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each request, best first."""
        return [found for part in self._parts(requests) for found in run(self.flow(options), part)]

    def flow(self, options: SearchOptions) -> Flow[TokenizedRequest, list[Hypothesis]]:
        """Return a flow in which requests are translated as they come; finished ones make room for others."""
        begin = partial(new_search, self._decoder, options)
        continuous = Continuous(begin, self._decoder, self._batch_of, self._budget)
        return _Remembering(continuous, self._recall, self._memories)

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """Return, for each request, the log-probability of every token of its target and of the end of sentence."""
        return [values for (values,) in self.score_candidates(requests, [[target] for target in targets])]

    def score_candidates(
        self, requests: Sequence[TokenizedRequest], candidates: Sequence[Sequence[Tokens]]
    ) -> list[list[list[float]]]:
        """Return what `log_probabilities` gives, for each candidate of each request; each sentence is read once."""
        remaining = iter(candidates)
        return [
            values for part in self._parts(requests) for values in self._score(part, list(islice(remaining, len(part))))
        ]

    def reads(self, request: TokenizedRequest) -> bool:
        """Return whether a request has all that the model reads; its own tokenization is missing without context."""
        return self.model.architecture.pretrained is None or request.example.own is not None

    def read(self, request: TokenizedRequest) -> Reading:
        """Read the sentence of a request with its context, in order to score translations of it."""
        (memory,) = self._recall([request])
        return Reading.of(self.model, self._batch_of([_Recalled.of(request, memory)]))

    @property
    def caches(self) -> list[Recent[Any, Any]]:
        """The caches of context states that are kept from one call to the next; empty if the architecture has none."""
        return [*self.model.architecture.caches(), *([] if self._memories is None else [self._memories.kept])]

    def cache_use(self) -> CacheUse:
        """Return how often states of the context were reused since the engine was made, and how often not."""
        return CacheUse(sum(cache.hits for cache in self.caches), sum(cache.misses for cache in self.caches))

    def free(self) -> None:
        """Give back the memory that the decoder caches for later batches."""
        self._decoder.free()

    def _parts(self, requests: Sequence[TokenizedRequest]) -> Iterator[Sequence[TokenizedRequest]]:
        """Yield all requests at once, or as many as may have memories at hand: those of a document are adjacent."""
        size = max(1, len(requests)) if self._memories is None else RECALLED
        return (requests[start : start + size] for start in range(0, len(requests), size))

    def _score(
        self, requests: Sequence[TokenizedRequest], candidates: Sequence[Sequence[Tokens]]
    ) -> list[list[list[float]]]:
        memories = self._recall(requests)

        def score_some(indices: list[int]) -> list[list[list[float]]]:
            recalled = [_Recalled.of(requests[i], memories[i]) for i in indices]
            return score(self.model, self._batch_of(recalled), [candidates[i] for i in indices])

        pairs = zip(requests, candidates, strict=True)
        sizes = [max(request.size, sum(len(tokens) + 1 for tokens in each)) for request, each in pairs]
        return in_batches(sizes, score_some, self.free, batch_tokens(self._device))

    def _recall(self, requests: Sequence[TokenizedRequest]) -> Sequence[Memory | None]:
        if self._memories is None:
            return [None] * len(requests)
        return self._memories.recall([request.example for request in requests])

    def _batch_of(self, recalled: Sequence["_Recalled"]) -> Batch:
        examples = [one.request.example for one in recalled]
        batch = read_batch(examples, None, self.model.architecture).to(self._device)
        memories = [one.memory for one in recalled if one.memory is not None]
        return replace(batch, memory=pad_memories(memories)) if memories else batch


@dataclass(frozen=True, slots=True)
class _Recalled:
    """A request, and the memory that the sentence before it has left, if the model reads memories."""

    request: TokenizedRequest
    memory: Memory | None
    size: int
    """The request's size, stored because it is needed at every step."""

    @classmethod
    def of(cls, request: TokenizedRequest, memory: Memory | None) -> "_Recalled":
        return cls(request, memory, request.size)

    @property
    def max_length(self) -> int:
        return self.request.max_length

    @property
    def draft(self) -> Tokens:
        return self.request.draft

    @property
    def unwanted(self) -> Unwanted | None:
        return self.request.unwanted


class _Remembering:
    """A flow that recalls the memories that its requests continue from, and keeps those that they leave."""

    def __init__(
        self,
        flow: Continuous[_Recalled],
        recall: Callable[[Sequence[TokenizedRequest]], Sequence[Memory | None]],
        memories: Memories | None,
    ) -> None:
        self._flow = flow
        self._recall = recall
        self._memories = memories
        self._examples: dict[int, Example] = {}

    @property
    def running(self) -> int:
        return self._flow.running

    def add(self, requests: Mapping[int, TokenizedRequest]) -> None:
        memories = self._recall(list(requests.values()))
        self._flow.add(
            {key: _Recalled.of(each, memory) for (key, each), memory in zip(requests.items(), memories, strict=True)}
        )
        self._examples |= {key: request.example for key, request in requests.items()}

    def step(self) -> list[tuple[int, list[Hypothesis]]]:
        found = self._flow.step()
        for key, (best, *_) in found:
            example = self._examples.pop(key)
            if self._memories is not None:
                self._memories.keep(example, best.tokens, best.memory)
        return found

    def drop(self, keys: Collection[int]) -> None:
        self._flow.drop(keys)
        for key in keys:
            self._examples.pop(key, None)
