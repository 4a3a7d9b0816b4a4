"""What a step of beam search chooses from, and who takes which place in the beam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import torch
from torch import Tensor

from models.data.tokenizer import BOS, EOS, PAD
from models.errors import UnsupportedOptionError
from models.kernels.choices import Chosen
from models.kernels.continuations import choose, unpacked
from models.search.vocabulary import keep_from_ending, keep_short_from_ending, kernels_for, likeliest_by_torch

FUSED: Final = 8
"""Hypotheses of a sentence that the kernel for a GPU chooses among; for more of them it takes long to compile."""


@dataclass
class Continuations:
    """Continuations of hypotheses of each sentence, in one tensor that a GPU copies at once."""

    packed: Tensor
    """(3, B, K): see `models.kernels.continuations.unpacked`."""

    @property
    def scores(self) -> Tensor:
        """Log-probabilities of the hypotheses with them, (B, K), float32."""
        return unpacked(self.packed)[0]

    @property
    def origins(self) -> Tensor:
        """Hypothesis that is continued, (B, K), 0 to N - 1."""
        return self.packed[1]

    @property
    def tokens(self) -> Tensor:
        """(B, K)."""
        return self.packed[2]

    @classmethod
    def of(cls, scores: Tensor, origins: Tensor, tokens: Tensor) -> Self:
        """Of log-probabilities in float32, hypotheses and tokens, (B, K) each."""
        return cls(torch.stack([scores.view(torch.int32), origins.int(), tokens.int()]))


@dataclass
class Candidates:
    """What is found of each sentence in a step."""

    best: Continuations
    """The 2N best continuations, best first."""
    going: Continuations
    """The N that take places in the beam: the best ones, but in place of those that end the next that do not."""

    @property
    def chosen(self) -> Chosen:
        """What search takes of them.

        Found are the first N of the best, for no others can end a sentence, and those that go on.
        """
        going, (sentences, size) = self.going, self.going.tokens.shape
        first = torch.arange(0, sentences * size, size, device=going.packed.device)
        found = torch.cat([self.best.packed[:, :, :size], going.packed], dim=2)
        return Chosen((found,), going.tokens.flatten().long(), going.scores, (going.origins + first[:, None]).flatten())


@dataclass(frozen=True, slots=True)
class Best:
    """The best of all continuations, as `candidates_of`; satisfies `models.kernels.choices.Choice`."""

    min_length: int
    """Tokens before the end of sentence."""

    def __call__(self, logits: Tensor, totals: Tensor, said: Tensor) -> Chosen:
        """As `Candidates.chosen`.

        Raises:
            UnsupportedOptionError: the vocabulary is too small for the beam.
        """
        keep_short_from_ending(logits, said, self.min_length)
        if kernels_for(logits, ()) is not None:
            return candidates_of(logits, totals, (), ()).chosen
        return by_torch(logits.clone(), totals, (), ()).chosen


def candidates_of(
    logits: Tensor, totals: Tensor, early: Sequence[int], forbidden: Sequence[tuple[int, int]]
) -> Candidates:
    """The best of all continuations, by a kernel where there is one, else by torch; the rest is as of `by_torch`."""
    _check(logits.size(-1), totals.size(1))
    fused = kernels_for(logits, forbidden) if totals.size(1) <= FUSED else None
    if fused is None and logits.device.type != "cpu":
        return by_torch(logits, totals, early, forbidden)
    keep_from_ending(logits, early)
    if fused is not None:
        best, going = fused.choose(logits, totals, (PAD, BOS), EOS)
    else:
        best, going = choose(logits, totals, (PAD, BOS), forbidden, EOS)
    return Candidates(Continuations(best), Continuations(going))


def by_torch(logits: Tensor, totals: Tensor, early: Sequence[int], forbidden: Sequence[tuple[int, int]]) -> Candidates:
    """The best of all continuations, without waiting for the device.

    Args:
        logits: (B x N, V) of the next token; overwritten.
        totals: (B, N) log-probabilities of the hypotheses so far.
        early: rows that must not end yet.
        forbidden: rows, and a token of each that must not come next.

    Raises:
        UnsupportedOptionError: the vocabulary is too small for the beam.
    """
    (sentences, size), vocabulary = totals.shape, logits.size(-1)
    _check(vocabulary, size)
    tokens, values = likeliest_by_torch(logits, 2 * size, early, forbidden)
    flat = tokens + torch.arange(size, device=tokens.device).repeat(sentences)[:, None] * vocabulary
    values, places = (values + totals.view(-1, 1)).view(sentences, -1).topk(2 * size)
    values, flat = _in_order(values, flat.view(sentences, -1).gather(1, places))
    best = Continuations.of(values, flat // vocabulary, flat % vocabulary)
    places = _active(best.tokens, size)
    return Candidates(best, Continuations(best.packed.gather(2, places.expand(3, -1, -1))))


def _check(vocabulary: int, size: int) -> None:
    """There are so many continuations, and some that must not come."""
    if vocabulary < 2 * size + 4:
        raise UnsupportedOptionError(f"a vocabulary of {vocabulary} tokens is too small for beam {size}")


def _in_order(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Highest values first, of equal ones the lowest index first.

    It is left open which of the ones that equal the last are taken: to look would be to wait for the device.
    """
    by_index = indices.argsort(dim=-1)
    values, indices = values.gather(1, by_index), indices.gather(1, by_index)
    by_value = values.argsort(dim=-1, descending=True, stable=True)
    return values.gather(1, by_value), indices.gather(1, by_value)


def _active(tokens: Tensor, size: int) -> Tensor:
    """For each place in the beam the candidate that takes it, (B, N): at most N of the 2N can end a sentence."""
    ended = tokens.eq(EOS)
    replacements = ended[:, size:].int().argsort(dim=1, stable=True) + size
    own = torch.arange(size, device=tokens.device).expand(len(tokens), size)
    taken = (ended[:, :size].cumsum(1) - 1).clamp(min=0)
    return torch.where(ended[:, :size], replacements.gather(1, taken), own)
