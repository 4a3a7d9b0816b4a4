"""Beam search as in CTranslate2 (`BeamSearch::search` in its src/decoding.cc), so that both give the same translations.

At each step, the 2N best continuations of a sentence are its candidates. Of the first N, those that end are registered
as finished, and their places in the beam go to the next candidates that do not end. A sentence is done, and leaves the
batch, when N hypotheses times the options' patience are finished. At its maximum length, the first N candidates are
registered as they are.

Other than there, a sentence may name hypotheses that it does not want: they are dropped before they are continued.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic

import numpy as np
import torch
from torch import Tensor

from models.data.batches import Batch, Memory
from models.data.tokenizer import BOS, EOS
from models.kernels.choices import Chosen, Stretch
from models.search.candidates import FUSED, Best, candidates_of
from models.search.decoder import Decoder, State
from models.search.histories import Array, Histories
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.loops import LoopGuard
from models.search.running import Found, Wanted, enough_to_move, staying, worth_moving


@dataclass
class _Sentence:
    """A sentence of the batch and what was found for it."""

    wanted: Wanted
    length: int = 0
    """How many tokens each of its hypotheses has."""
    found: list[Hypothesis] = field(default_factory=list)
    led: bool = False
    """Whether the best candidate of any step has ended."""
    done: bool = False

    @property
    def remaining(self) -> int:
        """How many more tokens may follow."""
        return 0 if self.done else self.wanted.max_length - self.length

    @property
    def at_end(self) -> bool:
        """Whether the next token is its last."""
        return self.length + 1 >= self.wanted.max_length

    def has_enough(self, options: SearchOptions) -> bool:
        """Return whether enough is found; without normalisation, no longer hypothesis can overtake one that led."""
        if options.alpha == 0:
            return self.led and len(self.found) >= options.n_best
        return len(self.found) >= options.most_found

    def result(self, options: SearchOptions) -> Found:
        ranked = sorted(self.found, key=lambda hypothesis: -hypothesis.score)
        return Found(self.wanted.key, ranked[: options.n_best])


@dataclass
class _Beams(Generic[State]):
    """The hypotheses of the sentences in the batch, R = B x N rows."""

    state: State
    tokens: Tensor
    """(R,) the last token of each hypothesis."""
    scores: Tensor
    """(B, N) log-probabilities, float32; minus infinity where there is no hypothesis yet."""


class BeamSearch(Generic[State]):
    """Search with a beam; satisfies `models.search.running.Search`."""

    def __init__(self, decoder: Decoder[State], options: SearchOptions) -> None:
        self._decoder = decoder
        self._options = options
        self._guard = LoopGuard(options.most_repeated)
        self._choice = Best(options.min_length) if options.beam_size <= FUSED else None
        self._sentences: list[_Sentence] = []
        self._histories = Histories()
        self._beams: _Beams[State] | None = None
        self.taken = 1

    @property
    def running(self) -> int:
        """How many sentences are not done."""
        return sum(not sentence.done for sentence in self._sentences)

    @torch.inference_mode()
    def add(self, batch: Batch, wanted: Sequence[Wanted]) -> None:
        """Start the sentences of a batch, each with one hypothesis and N - 1 that all others beat."""
        if self._beams is not None:
            self._continue_with(self._going(), None, self._beams)
        count, size = len(wanted), self._options.beam_size
        state = self._decoder.start(batch)
        state.reorder(torch.arange(count, device=batch.source.device).repeat_interleave(size))
        tokens = batch.source.new_full((count * size,), BOS)
        scores = torch.full((count, size), -float("inf"), device=tokens.device)
        scores[:, 0] = 0
        if self._beams is None:
            self._beams = _Beams(state, tokens, scores)
        else:
            beams = self._beams
            beams.state.join(state, len(beams.tokens), len(tokens))
            beams.tokens, beams.scores = torch.cat([beams.tokens, tokens]), torch.cat([beams.scores, scores])
        self._histories.add(len(tokens), max((sentence.length for sentence in self._sentences), default=0))
        self._sentences += [_Sentence(each) for each in wanted]
        self._guard.begin()

    @torch.inference_mode()
    def step(self) -> list[Found]:
        """Advance by a token or several; return what is done.

        Raises:
            UnsupportedOptionError: the vocabulary is too small for the beam.
        """
        assert self._beams is not None
        beams = self._beams
        looked_at = self._drop_unwanted(beams)
        forbidden = self._guard.forbidden(self._hypotheses)
        stride = 1 if looked_at else self._decoder.stride
        steps = self._guard.allows(min(stride, max(each.remaining for each in self._sentences)))
        found, chosen = self._advance(steps, beams, forbidden)
        self.taken = len(found)
        self._guard.pass_on(self.taken)
        ended = self._look(found, beams.state)
        done = sum(sentence.done for sentence in self._sentences)
        kept = self._going() if worth_moving(done, len(self._sentences)) else range(len(self._sentences))
        self._continue_with(kept, chosen, beams)
        return [sentence.result(self._options) for sentence in ended]

    @torch.inference_mode()
    def drop(self, keys: Collection[int]) -> None:
        """Continue without these sentences."""
        for sentence in self._sentences:
            sentence.done |= sentence.wanted.key in keys
        going = self._going()
        if self._beams is not None and worth_moving(len(self._sentences) - len(going), len(self._sentences)):
            self._continue_with(going, None, self._beams)

    def _going(self) -> list[int]:
        return staying([sentence.done for sentence in self._sentences])

    def _drop_unwanted(self, beams: _Beams[State]) -> bool:
        """Drop unwanted hypotheses, but not all of a sentence; return whether any sentence has to be looked at."""
        size = self._options.beam_size
        asked = [i for i, sentence in enumerate(self._sentences) if sentence.wanted.unwanted and not sentence.done]
        for i in asked:
            totals = beams.scores[i].tolist()
            going = [k for k in range(size) if totals[k] > -math.inf]
            unwanted = [k for k in going if self._is_unwanted(i, k)]
            if len(unwanted) < len(going):
                beams.scores[i, unwanted] = -math.inf
        return bool(asked)

    def _is_unwanted(self, sentence: int, hypothesis: int) -> bool:
        wanted, row = self._sentences[sentence], sentence * self._options.beam_size + hypothesis
        assert wanted.wanted.unwanted is not None
        return wanted.wanted.unwanted(self._histories.of(row, wanted.length))

    def _advance(self, steps: int, beams: _Beams[State], forbidden: Sequence[tuple[int, int]]) -> tuple[Tensor, Chosen]:
        """Take at most so many steps; return what they found, (T, 3, B, 2N), and what the last one chose."""
        if self._decoder.stretches:
            chosen = self._decoder.stretch(beams.tokens, beams.scores, beams.state, self._limits(steps, forbidden))
            return chosen.found[0], chosen
        taken = [self._choose(0, beams, forbidden)]
        for ahead in range(1, steps):
            self._continue_with(range(len(self._sentences)), taken[-1], beams)
            taken.append(self._choose(ahead, beams))
        return torch.stack([each for chosen in taken for each in chosen.found]), taken[-1]

    def _limits(self, steps: int, forbidden: Sequence[tuple[int, int]]) -> Stretch:
        options, sentences = self._options, self._sentences
        wanted = options.n_best if options.alpha == 0 else options.most_found
        return Stretch(
            steps,
            [max(0, options.min_length - each.length) for each in sentences for _ in range(options.beam_size)],
            forbidden,
            [each.remaining for each in sentences],
            [wanted - len(each.found) for each in sentences],
            enough_to_move(len(sentences)),
        )

    def _choose(self, ahead: int, beams: _Beams[State], forbidden: Sequence[tuple[int, int]] = ()) -> Chosen:
        """Choose the best continuations; hypotheses are `ahead` tokens longer than was looked at."""
        if self._choice is not None and not forbidden:
            chosen = self._decoder.choose(beams.tokens, beams.scores, beams.state, self._choice)
            if chosen is not None:
                return chosen
        logits, size = self._decoder.step(beams.tokens, beams.state), self._options.beam_size
        least = self._options.min_length - ahead
        early = [i * size + k for i, s in enumerate(self._sentences) if s.length < least for k in range(size)]
        return candidates_of(logits, beams.scores, early, forbidden).chosen

    def _hypotheses(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the rows of sentences that are not done, and their last tokens."""
        size = self._options.beam_size
        for i, tokens in enumerate(self._histories.last(self._guard.reach)):
            sentence = self._sentences[i // size]
            if not sentence.done:
                yield i, tokens[max(0, len(tokens) - sentence.length) :]

    def _look(self, found: Tensor, state: State) -> list[_Sentence]:
        """Process what some steps have found; return the sentences that are then done.

        Args:
            found: (T, 3, B, 2N), of each step what `Candidates.chosen` found.
            state: the state after all of them.
        """
        ended, size = [], self._options.beam_size
        for each in found.cpu().numpy():
            ended += self._register(each[:, :, :size], state)
            _, origins, tokens = each[:, :, size:]
            rows = origins + np.arange(0, origins.size, size)[:, None]
            self._histories.go_on(rows.ravel(), tokens.ravel())
        return ended

    def _register(self, best: Array, state: State) -> list[_Sentence]:
        """Register what ended among each sentence's first N candidates, (3, B, N); return the sentences then done."""
        scores, origins, tokens = best[0].view(np.float32), *best[1:]
        going = np.array([not sentence.done for sentence in self._sentences])[:, None]
        last = np.array([sentence.at_end for sentence in self._sentences])[:, None]
        ended = np.argwhere(going & (last | (tokens == EOS))).tolist()
        touched = dict.fromkeys(i for i, _ in ended)
        rows = [i * self._options.beam_size + int(origins[i, k]) for i, k in ended]
        left = self._decoder.leave(rows, state) if ended else ()
        for (i, k), row, memory in zip(ended, rows, left, strict=True):
            sentence = self._sentences[i]
            said = self._histories.of(row, sentence.length)
            self._add(sentence, said, int(tokens[i, k]), float(scores[i, k]), memory)
            sentence.led |= k == 0
        done = [s for s in map(self._sentences.__getitem__, touched) if s.at_end or s.has_enough(self._options)]
        for sentence in self._sentences:
            sentence.length += 1
        for sentence in done:
            sentence.done = True
        return done

    def _add(self, sentence: _Sentence, tokens: list[int], token: int, total: float, memory: Memory) -> None:
        score = self._options.normalize(total, sentence.length + 1)
        if token == EOS:
            sentence.found.append(Hypothesis(tokens, score, total, finished=True, memory=memory))
        else:  # it leaves no memory: its last word has not been read
            sentence.found.append(Hypothesis([*tokens, token], score, total, finished=False))

    def _continue_with(self, kept: Sequence[int], chosen: Chosen | None, beams: _Beams[State]) -> None:
        """Continue the beams of these sentences with what was chosen, and drop the other sentences."""
        everything, rows = len(kept) == len(self._sentences), None if chosen is None else chosen.rows
        if chosen is not None:
            beams.tokens, beams.scores = chosen.tokens, chosen.totals
        self._sentences = [self._sentences[i] for i in kept]
        if not kept:
            self._beams, self._histories = None, Histories()
        elif not everything:
            self._keep(kept, rows, beams)
        elif rows is not None:  # needs no copy to the device, for which Python would wait
            beams.state.reorder(rows)

    def _keep(self, kept: Sequence[int], origins: Tensor | None, beams: _Beams[State]) -> None:
        """Keep only some sentences, whose hypotheses continue the rows `origins` (R,), or themselves if it is None."""
        size = self._options.beam_size
        numbers = [sentence * size + hypothesis for sentence in kept for hypothesis in range(size)]
        self._histories.keep(np.array(numbers))
        sentences, rows = beams.tokens.new_tensor(kept), beams.tokens.new_tensor(numbers)
        beams.tokens, beams.scores = beams.tokens[rows], beams.scores[sentences]
        beams.state.keep(sentences)
        beams.state.reorder(rows if origins is None else origins[rows])
