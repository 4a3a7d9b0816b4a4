"""The candidates of a step of beam search, and which of them take the places in the beam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import torch
from torch import Tensor

from models.data.tokenizer import BOS, EOS, PAD
from models.kernels.choices import Chosen
from models.kernels.continuations import choose, require_choice, unpacked
from models.search.vocabulary import keep_from_ending, keep_short_from_ending, kernels_for, likeliest_by_torch

FUSED: Final = 8
"""The widest beam for which the GPU kernel is used; for wider ones, it takes long to compile."""


@dataclass
class Continuations:
    """Continuations of each sentence's hypotheses, in one tensor, so that one copy brings all from a GPU."""

    packed: Tensor
    """(3, B, K): see `models.kernels.continuations.unpacked`."""

    @property
    def scores(self) -> Tensor:
        """Log-probabilities of the continued hypotheses, (B, K), float32."""
        return unpacked(self.packed)[0]

    @property
    def origins(self) -> Tensor:
        """The hypothesis that is continued, (B, K), 0 to N - 1."""
        return self.packed[1]

    @property
    def tokens(self) -> Tensor:
        """The next tokens, (B, K)."""
        return self.packed[2]

    @classmethod
    def of(cls, scores: Tensor, origins: Tensor, tokens: Tensor) -> Self:
        """Pack float32 log-probabilities, hypotheses and tokens, (B, K) each."""
        return cls(torch.stack([scores.view(torch.int32), origins.int(), tokens.int()]))


@dataclass
class Candidates:
    """The candidates of each sentence in a step."""

    best: Continuations
    """The 2N best continuations, best first."""
    going: Continuations
    """The N that take places in the beam: the best N, where each that ends is replaced by the next that does not."""

    @property
    def chosen(self) -> Chosen:
        """What search uses of the candidates.

        `found` has the first N of the best, since only these can end a sentence, and then the N that go on.
        """
        going, (sentences, size) = self.going, self.going.tokens.shape
        first = torch.arange(0, sentences * size, size, device=going.packed.device)
        found = torch.cat([self.best.packed[:, :, :size], going.packed], dim=2)
        return Chosen((found,), going.tokens.flatten().long(), going.scores, (going.origins + first[:, None]).flatten())


@dataclass(frozen=True, slots=True)
class Best:
    """Chooses the best continuations, like `candidates_of`; satisfies `models.kernels.choices.Choice`."""

    min_length: int
    """The fewest tokens before the end of sentence."""

    def __call__(self, logits: Tensor, totals: Tensor, said: Tensor) -> Chosen:
        """Return `Candidates.chosen`.

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
    """Return the best continuations, by a kernel if there is one, else by torch; the rest is as for `by_torch`."""
    require_choice(logits.size(-1), totals.size(1))
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
    """Return the best continuations, without waiting for the device.

    Args:
        logits: (B x N, V), for the next token; overwritten.
        totals: (B, N) log-probabilities of the hypotheses so far.
        early: rows that must not end yet.
        forbidden: pairs of a row and a token that must not come next there.

    Raises:
        UnsupportedOptionError: the vocabulary is too small for the beam.
    """
    (sentences, size), vocabulary = totals.shape, logits.size(-1)
    require_choice(vocabulary, size)
    tokens, values = likeliest_by_torch(logits, 2 * size, early, forbidden)
    flat = tokens + torch.arange(size, device=tokens.device).repeat(sentences)[:, None] * vocabulary
    values, places = (values + totals.view(-1, 1)).view(sentences, -1).topk(2 * size)
    values, flat = _in_order(values, flat.view(sentences, -1).gather(1, places))
    best = Continuations.of(values, flat // vocabulary, flat % vocabulary)
    places = _active(best.tokens, size)
    return Candidates(best, Continuations(best.packed.gather(2, places.expand(3, -1, -1))))


def _in_order(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Sort by falling value, and equal values by index.

    Which of the candidates that equal the last one are among them is undefined: checking would mean waiting for the
    device.
    """
    by_index = indices.argsort(dim=-1)
    values, indices = values.gather(1, by_index), indices.gather(1, by_index)
    by_value = values.argsort(dim=-1, descending=True, stable=True)
    return values.gather(1, by_value), indices.gather(1, by_value)


def _active(tokens: Tensor, size: int) -> Tensor:
    """Return the candidate for each place in the beam, (B, N); at most N of the 2N candidates end a sentence."""
    ended = tokens.eq(EOS)
    replacements = ended[:, size:].int().argsort(dim=1, stable=True) + size
    own = torch.arange(size, device=tokens.device).expand(len(tokens), size)
    taken = (ended[:, :size].cumsum(1) - 1).clamp(min=0)
    return torch.where(ended[:, :size], replacements.gather(1, taken), own)
