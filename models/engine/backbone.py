"""A plain Transformer in CTranslate2: the sentence backbone, or a model whose context is part of its source."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import ctranslate2
import torch

from models.bundle.conversion import vocabulary_tokens
from models.data.batches import Example, Tokens
from models.data.tokenizer import Tokenizer
from models.engine.batching import batch_tokens, in_parts, sentences_at_once
from models.engine.computation import ctranslate2_type
from models.engine.flow import AtOnce, Flow
from models.engine.requests import CacheUse
from models.engine.strategies import TokenizedRequest
from models.search.hypotheses import Hypothesis, SearchOptions


class BackboneEngine:
    """A converted Transformer, loaded on first use.

    Once CTranslate2 has run in a process, torch is slower there (both use OpenMP, each in its own way), so a process
    that never translates without context, and runs no self-test, never pays for it.

    CTranslate2's only normalisation is log p / n^alpha. If a bundle uses another one, all hypotheses that CTranslate2
    has found are requested and ranked again.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Tokenizer,
        device: str,
        compute_type: str,
        threads: int,
        source: Callable[[Example], Tokens] = attrgetter("source"),
        lanes: int = 1,
        free: Callable[[], None] = torch.cuda.empty_cache,
    ) -> None:
        """Describe the engine; nothing is loaded yet.

        Args:
            folder: folder of the converted model.
            tokenizer: the tokenizer whose vocabularies the model has.
            device: a device name of torch, such as `cpu` or `cuda:1`.
            compute_type: a type of CTranslate2; float32 if the device does not support it (`ctranslate2_type`).
            threads: number of threads that compute on a CPU.
            source: returns what the encoder reads of an example: the sentence, or the sentence joined with its context.
            lanes: number of batches, of different callers, translated concurrently on a CPU, each by `threads`.
            free: gives back the GPU memory that torch caches in this process, which CTranslate2 cannot use.
        """
        self._folder = folder
        self._source_tokens = vocabulary_tokens(tokenizer.source_pieces)
        self._target_tokens = vocabulary_tokens(tokenizer.target_pieces)
        self._device = torch.device(device)
        self._compute_type = compute_type
        self._threads = threads
        self._source = source
        self._lanes = lanes
        self._free = free

    @property
    def device(self) -> torch.device:
        """The device that it computes on."""
        return self._device

    @cached_property
    def _translator(self) -> ctranslate2.Translator:
        return ctranslate2.Translator(
            str(self._folder),
            self._device.type,
            device_index=self._device.index or 0,
            compute_type=ctranslate2_type(self._compute_type, str(self._device)),
            inter_threads=self._lanes,
            intra_threads=self._threads,
        )

    @cached_property
    def _target_ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self._target_tokens)}

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each request, best first; makes one call for each maximum length."""
        results: dict[int, list[Hypothesis]] = {}
        order = sorted(range(len(requests)), key=lambda i: requests[i].max_length)
        for max_length, group in groupby(order, key=lambda i: requests[i].max_length):
            indices = list(group)
            work = partial(self._translate, requests, options, max_length)
            results |= zip(indices, in_parts(indices, work, self._free), strict=True)
        return [results[i] for i in range(len(requests))]

    def flow(self, options: SearchOptions) -> Flow[TokenizedRequest, list[Hypothesis]]:
        """Return a flow of small batches: CTranslate2 does not expose the steps of its search."""
        return AtOnce(lambda requests: self.translate(requests, options), sentences_at_once(self._device))

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """Return, for each request, the log-probability of every token of its target and of the end of sentence."""

        def work(indices: Sequence[int]) -> list[list[float]]:
            found = self._translator.score_batch(
                [self._strings(requests[i]) for i in indices],
                [[self._target_tokens[token] for token in targets[i]] for i in indices],
                max_batch_size=batch_tokens(self._device),
                batch_type="tokens",
                max_input_length=0,
            )
            return [list(result.log_probs) for result in found]

        return list(in_parts(list(range(len(requests))), work, self._free))

    def score_candidates(
        self, requests: Sequence[TokenizedRequest], candidates: Sequence[Sequence[Tokens]]
    ) -> list[list[list[float]]]:
        """Return what `log_probabilities` gives, for each candidate of each request."""
        repeated = [request for request, each in zip(requests, candidates, strict=True) for _ in each]
        values = iter(self.log_probabilities(repeated, [tokens for each in candidates for tokens in each]))
        return [[next(values) for _ in each] for each in candidates]

    def cache_use(self) -> CacheUse:
        """Return an empty count: no states are kept."""
        return CacheUse()

    def free(self) -> None:
        """Give back the memory that torch caches; CTranslate2 does not give back its own."""
        self._free()

    def _translate(
        self, requests: Sequence[TokenizedRequest], options: SearchOptions, max_length: int, indices: Sequence[int]
    ) -> list[list[Hypothesis]]:
        as_it_ranks = options.normalization == "power" or options.alpha == 0
        found = self._translator.translate_batch(
            [self._strings(requests[i]) for i in indices],
            max_batch_size=batch_tokens(self._device),
            batch_type="tokens",
            beam_size=options.beam_size,
            num_hypotheses=options.n_best if as_it_ranks else options.most_found,
            length_penalty=options.alpha,
            patience=options.patience,
            min_decoding_length=options.min_length,
            max_decoding_length=max_length,
            max_input_length=0,  # truncate nothing: the runtime rejects what is too long
            return_scores=True,
        )
        lists = [
            [self._hypothesis(*one, options, max_length) for one in zip(result.hypotheses, result.scores, strict=True)]
            for result in found
        ]
        return lists if as_it_ranks else [_ranked(each, options) for each in lists]

    def _hypothesis(self, tokens: list[str], score: float, options: SearchOptions, max_length: int) -> Hypothesis:
        finished = len(tokens) < max_length
        total = score * float((len(tokens) + finished) ** options.alpha)
        return Hypothesis([self._target_ids[token] for token in tokens], score, total, finished)

    def _strings(self, request: TokenizedRequest) -> list[str]:
        return [self._source_tokens[i] for i in self._source(request.example)]


def _ranked(found: Sequence[Hypothesis], options: SearchOptions) -> list[Hypothesis]:
    """Return the best hypotheses by the normalization of the options."""
    scored = [replace(one, score=options.normalize(one.log_probability, one.length)) for one in found]
    return sorted(scored, key=lambda one: -one.score)[: options.n_best]
