"""Beam search as in CTranslate2 (`BeamSearch::search` in its src/decoding.cc), so that both give the same translations.

At each step the 2N best continuations of a sentence are candidates. Of the first N, those that end are registered as
finished, and the next ones that do not end take their places in the beam. A sentence is done when N hypotheses are
finished; it then leaves the batch. At its maximum length the first N candidates are registered as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from models.data.batches import Batch, Memory
from models.data.tokenizer import BOS, EOS
from models.errors import UnsupportedOptionError
from models.search.decoder import Decoder, State
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.vocabulary import log_probabilities


@dataclass
class _Sentence:
    """A sentence of the batch and what was found for it."""

    max_length: int
    found: list[Hypothesis] = field(default_factory=list)
    led: bool = False
    """Whether the best candidate of some step ended."""

    def is_done(self, options: SearchOptions) -> bool:
        """Whether enough is found; without normalisation no longer hypothesis can overtake one that led."""
        if options.alpha == 0:
            return self.led and len(self.found) >= options.n_best
        return len(self.found) >= options.beam_size


@dataclass
class _Beams:
    """The unfinished hypotheses of the sentences that are not done."""

    sentences: list[_Sentence]
    history: Tensor
    """(B, N, T) tokens, beginning of sentence first; N is 1 in the first step."""
    scores: Tensor
    """(B, N) log-probabilities, float32."""

    @property
    def length(self) -> int:
        """Tokens generated so far."""
        return self.history.size(2) - 1


@dataclass
class _Candidates:
    """The 2N best continuations of each sentence, best first; each (B, 2N)."""

    scores: Tensor
    origins: Tensor
    """Hypothesis that is continued, 0 to N - 1."""
    tokens: Tensor


def beam_search(
    decoder: Decoder[State], batch: Batch, options: SearchOptions, max_lengths: Sequence[int]
) -> list[list[Hypothesis]]:
    """Search with a beam; arguments and result as in `models.search.search.search`.

    Raises:
        UnsupportedOptionError: the vocabulary is too small for the beam.
    """
    sentences = [_Sentence(length) for length in max_lengths]
    history = batch.source.new_full((len(sentences), 1, 1), BOS)
    beams = _Beams(sentences, history, torch.zeros(len(sentences), 1, device=history.device))
    state = decoder.start(batch)
    while True:
        logits = decoder.step(beams.history[:, :, -1].flatten(), state)
        candidates = _continue(beams, logits, options)
        _register(beams, candidates, options, partial(decoder.leave, state=state))
        going = [i for i, sentence in enumerate(beams.sentences) if not _is_done(sentence, beams, options)]
        if not going:
            return [sorted(sentence.found, key=lambda found: -found.score)[: options.n_best] for sentence in sentences]
        kept = candidates.tokens.new_tensor(going)
        if len(going) < len(beams.sentences):
            state.keep(kept)
        beams, rows = _advance(beams, candidates, kept, options.beam_size)
        state.reorder(rows)


def _continue(beams: _Beams, logits: Tensor, options: SearchOptions) -> _Candidates:
    """All continuations of the hypotheses, and of these the best."""
    vocabulary = logits.size(-1)
    if vocabulary < 2 * options.beam_size + 4:
        raise UnsupportedOptionError(f"a vocabulary of {vocabulary} tokens is too small for beam {options.beam_size}")
    totals = log_probabilities(logits, beams.length, options.min_length)
    totals += beams.scores.view(-1, 1)
    scores, flat = best(totals.view(len(beams.sentences), -1), 2 * options.beam_size)
    return _Candidates(scores, flat // vocabulary, flat % vocabulary)


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest of each row, highest first, of equal ones the lowest index first.

    Args:
        scores: (B, X), with X over `count`.
        count: how many.

    Returns:
        Values and indices, each (B, count).
    """
    values, indices = scores.topk(count + 1)
    # topk leaves open which of equal values it takes, and in which order.
    for row in (values[:, 1:] == values[:, :-1]).any(-1).nonzero()[:, 0].tolist():
        among = (scores[row] >= values[row, -1]).nonzero()[:, 0]
        indices[row] = among[scores[row, among].argsort(descending=True, stable=True)[: count + 1]]
    return values[:, :count], indices[:, :count]


def _register(
    beams: _Beams, candidates: _Candidates, options: SearchOptions, leave: Callable[[Sequence[int]], Sequence[Memory]]
) -> None:
    """Add to each sentence what ended among its first N candidates."""
    last = [sentence.max_length <= beams.length + 1 for sentence in beams.sentences]
    first = candidates.tokens[:, : options.beam_size]
    ended = first.eq(EOS) | torch.tensor(last, device=first.device)[:, None]
    places = ended.nonzero().tolist()
    rows = [i * beams.history.size(1) + int(candidates.origins[i, k]) for i, k in places]
    for (i, k), row, memory in zip(places, rows, leave(rows) if rows else (), strict=True):
        sentence = beams.sentences[i]
        sentence.led |= k == 0
        tokens = beams.history.flatten(0, 1)[row, 1:].tolist()
        token, total = int(first[i, k]), float(candidates.scores[i, k])
        score = options.normalize(total, beams.length + 1)
        finished = token == EOS
        if finished:
            sentence.found.append(Hypothesis(tokens, score, total, finished, memory))
        else:  # its last word has not been read
            sentence.found.append(Hypothesis([*tokens, token], score, total, finished))


def _is_done(sentence: _Sentence, beams: _Beams, options: SearchOptions) -> bool:
    return beams.length + 1 >= sentence.max_length or sentence.is_done(options)


def _advance(beams: _Beams, candidates: _Candidates, kept: Tensor, size: int) -> tuple[_Beams, Tensor]:
    """The beams after the step, and the row that each of their hypotheses continues."""
    active = _active(candidates.tokens[kept], size)
    origins = candidates.origins[kept].gather(1, active)  # (B', N)
    rows = (kept[:, None] * beams.history.size(1) + origins).flatten()
    tokens = candidates.tokens[kept].gather(1, active)
    history = torch.cat([beams.history.flatten(0, 1)[rows].unflatten(0, active.shape), tokens[:, :, None]], dim=2)
    sentences = [beams.sentences[i] for i in kept.tolist()]
    return _Beams(sentences, history, candidates.scores[kept].gather(1, active)), rows


def _active(tokens: Tensor, size: int) -> Tensor:
    """For each place in the beam the candidate that takes it, (B, N): at most N of the 2N can end a sentence."""
    ended = tokens.eq(EOS)
    replacements = ended[:, size:].int().argsort(dim=1, stable=True) + size
    own = torch.arange(size, device=tokens.device).expand(len(tokens), size)
    taken = (ended[:, :size].cumsum(1) - 1).clamp(min=0)
    return torch.where(ended[:, :size], replacements.gather(1, taken), own)
