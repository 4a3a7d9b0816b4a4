"""A training corpus as token ids, with the batches and contexts drawn from it."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.config import CleaningConfig, ContextWindow, EmphasisConfig
from models.data.batches import Batch, ContextReader, Example, Tokens, plan, plan_blocks, read_batch
from models.data.cleaning import KEEP_ALL, left_out
from models.data.documents import Document
from models.data.emphasis import sentence_weights
from models.data.ragged import Ragged
from models.data.subwords import SubwordSampler
from models.data.tokenizer import Tokenizer
from models.errors import DataError


class TokenizedCorpus:
    """Aligned documents as token ids, with a selection of what may be trained on."""

    def __init__(
        self,
        documents: Sequence[Document],
        tokenizer: Tokenizer,
        max_tokens: int,
        max_context_tokens: int | None = None,
        cleaning: CleaningConfig = KEEP_ALL,
        emphasis: EmphasisConfig | None = None,
        subword_sampling: float | None = None,
    ) -> None:
        """Tokenize; pairs over `max_tokens` (end of sentence included) or with an empty side serve as context only.

        So do pairs that `cleaning` leaves out, and those that would be read with more than `max_context_tokens` source
        tokens of other sentences. With `emphasis`, sentences have different weights. With `subword_sampling`, batches
        may have pairs in other segmentations; lengths are always those of the best one.

        Raises:
            DataError: no pair is left to train on, a sentence has no translation, or `emphasis` is for another corpus.
        """
        sentences = [sentence for document in documents for sentence in document.sentences]
        self._texts = [sentence.source for sentence in sentences]
        self._own: tuple[ContextReader, Ragged | None] | None = None
        self.sources = Ragged.of(self._texts, tokenizer.encode_sources)
        translations = [_target(sentence.target) for sentence in sentences]
        self.targets = Ragged.of(translations, tokenizer.encode_targets)
        self._longest = max_tokens
        self._sampler = (
            None if subword_sampling is None else SubwordSampler(tokenizer, self._texts, translations, subword_sampling)
        )
        sizes = np.array([len(document.sentences) for document in documents], dtype=np.int64)
        ends = np.cumsum(sizes)
        self.first = np.repeat(ends - sizes, sizes)
        """For each sentence, the index of the first sentence of its document."""
        self.last = np.repeat(ends - 1, sizes)
        """For each sentence, the index of the last sentence of its document."""
        source, target = self.sources.lengths + 1, self.targets.lengths + 1
        self.source_lengths, self.target_lengths = source, target
        """Tokens of each sentence and of its translation, end of sentence included."""
        self.lengths = np.maximum(source, target)
        """Tokens of the longer side, end of sentence included."""
        fitting = (self.lengths <= max_tokens) & (np.minimum(source, target) > 1)
        self.usable = np.flatnonzero(fitting & ~left_out(cleaning, sentences, source, target))
        if not len(self.usable):
            raise DataError(
                f"no sentence pair of the corpus has between 1 and {max_tokens - 1} tokens on both sides"
                + (" and is not left out by cleaning" if cleaning != KEEP_ALL else "")
            )
        self._max_context = max_context_tokens
        self._weights = None if emphasis is None else torch.from_numpy(sentence_weights(emphasis, len(sentences)))

    def fingerprint(self) -> str:
        """Return a digest that is equal for the same sentences, in the same order, with the same use and weights."""
        digest = blake2b(digest_size=16)
        lengths = self.source_lengths, self.target_lengths
        for part in (self.first, *lengths, self.usable, self.sources.ids, self.targets.ids):
            digest.update(np.ascontiguousarray(part).data)
        if self._weights is not None:
            digest.update(self._weights.numpy().data)
        return digest.hexdigest()

    def example(self, index: int, reader: ContextReader) -> Example:
        """Return sentence `index` with all of its document that `reader` may read."""
        return self._example(index, self.sources[index], index, reader)

    def context_lengths(self, reader: ContextReader) -> NDArray[np.int64]:
        """Return, for each sentence, the number of source tokens that `reader` may read around it."""
        before = np.concatenate([[0], np.cumsum(self.sources.lengths)])
        around = [reader.window.around(i - begin) for i, begin in enumerate(self.first.tolist())]
        low, high = (self.first + np.array(side, np.int64) for side in zip(*around, strict=True))
        lengths: NDArray[np.int64] = before[np.minimum(high, self.last + 1)] - before[low] - np.diff(before)
        return lengths

    def learnt_from(self, reader: ContextReader) -> int:
        """Return the number of sentences that a pass trains on, rather than only reading as context.

        Raises:
            DataError: there is none, as all have more context than allowed.
        """
        return len(self._usable_with(self._context_of(reader)))

    def plan(self, reader: ContextReader, budget: int, *, seed: int, epoch: int) -> list[NDArray[np.int64]]:
        """Plan the batches of one pass, as arrays of indices; see `plan`, or `plan_blocks` for readers of blocks.

        Raises:
            DataError: no sentence has as little context as allowed.
        """
        context = self._context_of(reader)
        usable = self._usable_with(context)
        if reader.window.kind == "block":
            blocks = self._blocks(usable, reader.window.size + 1)
            return plan_blocks(self.lengths, blocks, budget, seed, epoch)
        if context is None or not reader.joins_source:
            return plan(self.lengths, usable, budget, seed, epoch, context)
        return plan(np.maximum(self.source_lengths + context, self.lengths), usable, budget, seed, epoch)

    def parts(self, indices: NDArray[np.int64], reader: ContextReader, count: int) -> list[NDArray[np.int64]]:
        """Divide a batch's rows into at most `count` parts of similar size; blocks, if they are read, stay whole."""
        rows = np.arange(len(indices))
        of_one = self._block_of(indices, reader.window.size + 1) if reader.window.kind == "block" else rows
        begins = np.flatnonzero(np.diff(of_one, prepend=-1))
        return np.split(rows, [part[0] for part in np.array_split(begins, min(count, len(begins)))][1:])

    def batch(
        self,
        indices: Sequence[int] | NDArray[np.int64],
        reader: ContextReader,
        neighbours: Sequence[int | None] | None = None,
        seed: Sequence[int] | None = None,
    ) -> Batch:
        """Make a batch of sentences, with the context that `reader` takes from their documents.

        For a recurrent reader, each sentence continues the one before it in its block if that is in the batch;
        otherwise it starts afresh.

        Args:
            indices: indices of the sentences, which may be trained on.
            reader: reads the context.
            neighbours: for each sentence, the one whose context is read in place of its own; None for no context. It
                keeps its own if the other's contains the sentence itself, which would reveal its translation.
            seed: numbers that determine the segmentations of the sentences and their translations, if the corpus has
                any but the best ones; None for these. Context has the best ones.
        """
        rows = list(map(int, indices))
        sources, targets = self._segmentations(rows, seed)
        read = (self._example(*each, reader) for each in zip(rows, sources, neighbours or rows, strict=True))
        batch = read_batch([reader.select(example) for example in read], targets, reader)
        turns = self._turns(rows, reader) if reader.recurrent else ()
        return replace(batch, turns=turns, weights=None if self._weights is None else self._weights[rows])

    def _segmentations(
        self, rows: Sequence[int], seed: Sequence[int] | None
    ) -> tuple[Sequence[Tokens], Sequence[Tokens]]:
        """Return sources and targets as drawn, or in the best segmentation if the drawn one is too long to train on."""
        best = [self.sources[i] for i in rows], [self.targets[i] for i in rows]
        if self._sampler is None or seed is None:
            return best
        sources, targets = (
            [new if len(new) < self._longest else old for new, old in zip(*sides, strict=True)]
            for sides in zip(self._sampler.draw(rows, seed), best, strict=True)
        )
        return sources, targets

    def _example(self, index: int, source: Tokens, neighbour: int | None, reader: ContextReader) -> Example:
        """Return sentence `index`, as `source`, with what `reader` may read around `neighbour`, or with nothing."""
        before, after = self._read(index, neighbour, reader)

        def example(sentence: Tokens, sentences: Sequence[Tokens]) -> Example:
            return Example(sentence, preceding=sentences[before], following=sentences[after])

        return replace(
            example(source, self.sources),
            translations=self.targets[before] if reader.reads_target else (),
            own=None if (own := self._pieces(reader)) is None else example(own[index], own),
        )

    def _read(self, index: int, neighbour: int | None, reader: ContextReader) -> tuple[slice, slice]:
        """Return what is read before and after sentence `index`: its neighbour's, unless that contains the sentence."""
        if neighbour is None:
            return slice(0), slice(0)
        before, after = self._around(neighbour, reader)
        return self._around(index, reader) if before.start <= index < after.stop else (before, after)

    def _around(self, index: int, reader: ContextReader) -> tuple[slice, slice]:
        """Return what `reader` may read before and after sentence `index`."""
        begin, end = int(self.first[index]), int(self.last[index]) + 1
        low, high = reader.window.around(index - begin)
        return slice(begin + low, index), slice(index + 1, min(begin + high, end))

    def keep_for(self, reader: ContextReader) -> None:
        """Prepare for this reader and drop the texts: no other reader may be used from now on."""
        self._pieces(reader)
        self._texts = []

    def _pieces(self, reader: ContextReader) -> Ragged | None:
        """Return all sources in the reader's own tokenization, made once."""
        if self._own is None or self._own[0] is not reader:
            has_own = reader.pieces(self._texts[:1]) is not None
            self._own = reader, Ragged.of(self._texts, lambda texts: reader.pieces(texts) or ()) if has_own else None
        return self._own[1]

    def _blocks(self, usable: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
        """Return the usable sentences of each block of `size` sentences, in the order of the corpus."""
        return np.split(usable, np.flatnonzero(np.diff(self._block_of(usable, size))) + 1)

    def _block_of(self, indices: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Return the index of the first sentence of each sentence's block of `size`."""
        first = self.first[indices]
        return first + (indices - first) // size * size

    def _turns(self, indices: Sequence[int], reader: ContextReader) -> tuple[Tensor, ...]:
        """Return the rows of each turn; the longest chains of sentences come first."""
        chains: list[list[int]] = []
        for row in sorted(range(len(indices)), key=indices.__getitem__):
            if not (chains and self._goes_on(indices[row], indices[chains[-1][-1]], reader)):
                chains.append([])
            chains[-1].append(row)
        chains.sort(key=len, reverse=True)
        return tuple(
            torch.tensor([chain[turn] for chain in chains if turn < len(chain)]) for turn in range(len(chains[0]))
        )

    def _goes_on(self, index: int, before: int, reader: ContextReader) -> bool:
        position = index - int(self.first[index])
        return before == index - 1 and reader.window.around(position)[0] < position

    def _context_of(self, reader: ContextReader) -> NDArray[np.int64] | None:
        return self.context_lengths(reader) if reader.window != ContextWindow() else None

    def _usable_with(self, context: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return what may be trained on with contexts of these lengths."""
        if context is None or self._max_context is None:
            return self.usable
        usable = self.usable[context[self.usable] <= self._max_context]
        if not len(usable):
            raise DataError(f"no sentence of the corpus has a context of at most {self._max_context} tokens")
        return usable


def _target(text: str | None) -> str:
    if text is None:
        raise DataError("a sentence of the training corpus has no translation")
    return text
