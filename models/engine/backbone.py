"""A plain Transformer in CTranslate2: the sentence backbone, or a model whose context is a part of its source."""

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
    """A converted Transformer; it is loaded when it is first asked for anything.

    Once CTranslate2 has run in a process, torch computes more slowly there (both use OpenMP, each in its own way), so a
    process that never translates without context, and tests nothing of itself, never pays for it.

    CTranslate2's only normalisation is log p / n^alpha. Where a bundle asks for another one, all that it has found are
    asked for, and ranked anew.
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
        """Describe the engine; nothing is read yet.

        Args:
            folder: of the converted model.
            tokenizer: whose vocabularies it has.
            device: a name of torch's, as `cpu` or `cuda:1`.
            compute_type: one of CTranslate2's; float32 where the device does not offer it (`ctranslate2_type`).
            threads: that compute, on a CPU.
            source: what the encoder reads of an example: the sentence, or the sentence joined with its context.
            lanes: batches of several callers' that are translated at once on a CPU, each by `threads`.
            free: gives back the memory of a GPU that torch keeps in this process, of which CTranslate2 knows nothing.
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
        """Where it computes."""
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
        """For each request its `n_best` hypotheses, best first; one call for each maximum length."""
        results: dict[int, list[Hypothesis]] = {}
        order = sorted(range(len(requests)), key=lambda i: requests[i].max_length)
        for max_length, group in groupby(order, key=lambda i: requests[i].max_length):
            indices = list(group)
            work = partial(self._translate, requests, options, max_length)
            results |= zip(indices, in_parts(indices, work, self._free), strict=True)
        return [results[i] for i in range(len(requests))]

    def flow(self, options: SearchOptions) -> Flow[TokenizedRequest, list[Hypothesis]]:
        """A flow of small batches: CTranslate2 has no steps that others could see."""
        return AtOnce(lambda requests: self.translate(requests, options), sentences_at_once(self._device))

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """For each request the log-probability of every token of its target, and of the end of sentence."""

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
        """For each request, and each of its candidates, what `log_probabilities` gives."""
        repeated = [request for request, each in zip(requests, candidates, strict=True) for _ in each]
        values = iter(self.log_probabilities(repeated, [tokens for each in candidates for tokens in each]))
        return [[next(values) for _ in each] for each in candidates]

    def cache_use(self) -> CacheUse:
        """Nothing is kept."""
        return CacheUse()

    def free(self) -> None:
        """Give back what torch keeps; CTranslate2 does not give back its own."""
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
            max_input_length=0,  # nothing is cut: the runtime lets nothing pass that is too long
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
    """The best hypotheses by the rule of the options."""
    scored = [replace(one, score=options.normalize(one.log_probability, one.length)) for one in found]
    return sorted(scored, key=lambda one: -one.score)[: options.n_best]
