"""From tokenized sentences to batches of tensors: token budget, length buckets, the same order from the same seed.

Shape letters as in `models.network.layers`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.config import ContextWindow
from models.data.documents import Document
from models.data.tokenizer import BOS, EOS, PAD, Tokenizer
from models.errors import DataError

BUCKET = 4
"""Lengths that count as like where contexts are to be of like length, too; batches that are made by their sentences
alone pad the contexts to more than twice their tokens.
"""


Tokens = Sequence[int]

Memory = dict[str, Tensor]
"""What sentences leave to the next ones of their documents: tensors (B, M, ...), padded on the left. `real`, (B, M),
is true where there is something; the others are the architecture's. Of one sentence, without the B.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence and what is read of its document, as token ids without control tokens, in reading order."""

    source: Tokens
    preceding: Sequence[Tokens] = ()
    following: Sequence[Tokens] = ()
    translations: Sequence[Tokens] = ()
    """Of the preceding sentences, one each, where the architecture reads them."""
    growing: bool = False
    """Whether the document may still grow: none of its sentences is read with what follows it."""
    own: "Example | None" = None
    """The same sentences in the architecture's own tokenization, where it has one."""


class ContextReader(Protocol):
    """The part of an architecture that decides what it reads of a document, and in which tensors."""

    window: ContextWindow
    reads_target: bool
    joins_source: ClassVar[bool]
    recurrent: bool

    def pieces(self, texts: Sequence[str]) -> Sequence[Tokens] | None:
        """Source texts in the architecture's own tokenization, if it has one."""

    def select(self, example: Example) -> Example:
        """The example with no more context than is used."""

    def source(self, example: Example) -> Tokens:
        """What the encoder reads of what was selected, without the end of sentence."""

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Context tensors of a batch, from what was selected for each sentence."""


@dataclass(frozen=True)
class Batch:
    """Padded token ids of B sentences and the context tensors that the architecture made of their neighbours."""

    source: Tensor
    """(B, S): pieces and end of sentence."""
    target: Tensor | None
    """(B, T + 1): beginning of sentence, pieces, end of sentence; None where it is to be found."""
    context: dict[str, Tensor]
    turns: tuple[Tensor, ...] = ()
    """Where sentences go on from one another: the rows of each turn. Row j of a turn follows row j of the one before,
    which may have more rows."""
    memory: Memory = field(default_factory=dict)
    """What the sentences before left behind; with turns, those before the first turn."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        target = None if self.target is None else self.target.to(device, non_blocking=True)
        context, memory = (
            {name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()}
            for tensors in (self.context, self.memory)
        )
        turns = tuple(rows.to(device, non_blocking=True) for rows in self.turns)
        return Batch(self.source.to(device, non_blocking=True), target, context, turns, memory)


def pad(sequences: Sequence[Sequence[int]]) -> Tensor:
    """Right-padded ids, (B, longest)."""
    padded = np.full((len(sequences), max(map(len, sequences))), PAD, dtype=np.int64)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(padded)


def pad_memories(memories: Sequence[Memory]) -> Memory:
    """The memories of B sentences as one, padded on the left to the longest; those without any have nothing real."""
    names = {name: tensor for memory in memories for name, tensor in memory.items()}
    longest = max((memory["real"].size(0) for memory in memories if memory), default=0)
    joined = {name: like.new_zeros(len(memories), longest, *like.shape[1:]) for name, like in names.items()}
    for row, memory in enumerate(memories):
        for name, tensor in memory.items():
            joined[name][row, longest - len(tensor) :] = tensor
    return joined


def latest(sentences: Sequence[Tokens], count: int, room: int) -> Sequence[Tokens]:
    """The last sentences, in their order: at most `count`, whole, with at most `room` tokens together."""
    first = len(sentences)
    while first > max(0, len(sentences) - count) and len(sentences[first - 1]) <= room:
        first -= 1
        room -= len(sentences[first])
    return sentences[first:]


def make_batch(sources: Sequence[Tokens], targets: Sequence[Tokens] | None, context: dict[str, Tensor]) -> Batch:
    """A batch of token ids without control tokens; they are added here."""
    target = None if targets is None else pad([[BOS, *tokens, EOS] for tokens in targets])
    return Batch(pad([[*tokens, EOS] for tokens in sources]), target, context)


def read_batch(examples: Sequence[Example], targets: Sequence[Tokens] | None, reader: ContextReader) -> Batch:
    """A batch of examples as an architecture reads what it has selected of them."""
    return make_batch([reader.source(example) for example in examples], targets, reader.collate(examples))


class TokenizedCorpus:
    """Aligned documents as token ids, with what may be trained on."""

    def __init__(
        self,
        documents: Sequence[Document],
        tokenizer: Tokenizer,
        max_tokens: int,
        max_context_tokens: int | None = None,
    ) -> None:
        """Tokenize; pairs over `max_tokens` (end of sentence included) or with an empty side serve as context only.

        So do pairs that would be read with more than `max_context_tokens` source tokens of other sentences.

        Raises:
            DataError: no pair is left to train on, or a sentence has no translation.
        """
        sentences = [sentence for document in documents for sentence in document.sentences]
        self._texts = [sentence.source for sentence in sentences]
        self._own: tuple[ContextReader, list[Tokens] | None] | None = None
        self.sources = _arrays(tokenizer.encode_sources(self._texts))
        self.targets = _arrays(tokenizer.encode_targets([_target(sentence.target) for sentence in sentences]))
        sizes = np.array([len(document.sentences) for document in documents], dtype=np.int64)
        ends = np.cumsum(sizes)
        self.first = np.repeat(ends - sizes, sizes)
        """For each sentence, the index of its document's first one."""
        self.last = np.repeat(ends - 1, sizes)
        """And of its last one."""
        source, target = (np.array([len(x) + 1 for x in side], np.int64) for side in (self.sources, self.targets))
        self.lengths = np.maximum(source, target)
        """Tokens of the longer side, end of sentence included."""
        self.usable = np.flatnonzero((self.lengths <= max_tokens) & (np.minimum(source, target) > 1))
        if not len(self.usable):
            raise DataError(f"no sentence pair of the corpus has between 1 and {max_tokens - 1} tokens on both sides")
        self._max_context = max_context_tokens

    def example(self, index: int, reader: ContextReader) -> Example:
        """Sentence `index` with all of its document that `reader` may read."""
        begin, end = int(self.first[index]), int(self.last[index]) + 1
        low, high = reader.window.around(index - begin)
        low, high = begin + low, min(begin + high, end)

        def around(sentences: Sequence[Tokens]) -> Example:
            return Example(sentences[index], preceding=sentences[low:index], following=sentences[index + 1 : high])

        return replace(
            around(self.sources),
            translations=self.targets[low:index] if reader.reads_target else (),
            own=None if (own := self._pieces(reader)) is None else around(own),
        )

    def context_lengths(self, reader: ContextReader) -> NDArray[np.int64]:
        """For each sentence, the source tokens of what `reader` may read around it."""
        before = np.concatenate([[0], np.cumsum([len(tokens) for tokens in self.sources])])
        around = [reader.window.around(i - begin) for i, begin in enumerate(self.first.tolist())]
        low, high = (self.first + np.array(side, np.int64) for side in zip(*around, strict=True))
        lengths: NDArray[np.int64] = before[np.minimum(high, self.last + 1)] - before[low] - np.diff(before)
        return lengths

    def plan(self, reader: ContextReader, budget: int, *, seed: int, epoch: int) -> list[NDArray[np.int64]]:
        """The batches of one pass, as arrays of indices; see `plan`, and `plan_blocks` where blocks are read.

        Raises:
            DataError: no sentence has as little context as may be trained on.
        """
        context = self.context_lengths(reader) if reader.window != ContextWindow() else None
        usable = self._usable_with(context)
        if reader.window.kind == "block":
            blocks = self._blocks(usable, reader.window.size + 1)
            return plan_blocks(self.lengths, blocks, budget, seed, epoch)
        if context is None or not reader.joins_source:
            return plan(self.lengths, usable, budget, seed, epoch, context)
        joined = np.array([len(tokens) + 1 for tokens in self.sources], np.int64) + context
        return plan(np.maximum(joined, self.lengths), usable, budget, seed, epoch)

    def batch(self, indices: Sequence[int] | NDArray[np.int64], reader: ContextReader) -> Batch:
        """The batch of these sentences, with the context that `reader` takes from their documents.

        Where decoding leaves something behind, each sentence goes on from the one before it in its block, if that is in
        the batch and may be trained on; else it starts anew.
        """
        examples = [reader.select(self.example(int(i), reader)) for i in indices]
        batch = read_batch(examples, [self.targets[i] for i in indices], reader)
        return replace(batch, turns=self._turns(list(map(int, indices)), reader)) if reader.recurrent else batch

    def _pieces(self, reader: ContextReader) -> list[Tokens] | None:
        """All sources in the reader's own tokenization, made once."""
        if self._own is None or self._own[0] is not reader:
            pieces = reader.pieces(self._texts)
            self._own = reader, None if pieces is None else _arrays(pieces)
        return self._own[1]

    def _blocks(self, usable: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
        """What is usable of each block of `size` sentences, in the order of the corpus."""
        first = self.first[usable]
        block = first + (usable - first) // size * size
        return np.split(usable, np.flatnonzero(np.diff(block)) + 1)

    def _turns(self, indices: Sequence[int], reader: ContextReader) -> tuple[Tensor, ...]:
        """The rows of each turn; those whose sentences go on longest come first."""
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
        in_block = before == index - 1 and reader.window.around(position)[0] < position
        return in_block and bool(self.usable[np.searchsorted(self.usable, before)] == before)

    def _usable_with(self, context: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """What may be trained on with contexts of these lengths."""
        if context is None or self._max_context is None:
            return self.usable
        usable = self.usable[context[self.usable] <= self._max_context]
        if not len(usable):
            raise DataError(f"no sentence of the corpus has a context of at most {self._max_context} tokens")
        return usable


def plan(
    lengths: NDArray[np.int64],
    usable: NDArray[np.int64],
    budget: int,
    seed: int,
    epoch: int,
    context_lengths: NDArray[np.int64] | None = None,
) -> list[NDArray[np.int64]]:
    """Batches of one pass: sentences of like length together, in an order that seed and epoch alone decide.

    Args:
        lengths: tokens of each sentence of the corpus.
        usable: indices that take part.
        budget: the most padded tokens of a batch, context not counted; a longer sentence is a batch of its own.
        seed: of the run.
        epoch: pass over the corpus, from 0.
        context_lengths: tokens of each sentence's context, of which like ones come together too, where it is read.

    Returns:
        Arrays of indices.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(usable)
    if context_lengths is None:
        order = order[np.argsort(lengths[order], kind="stable")]
    else:
        order = order[np.lexsort((context_lengths[order], lengths[order] // BUCKET))]
    batches = list(_cut(order, lengths, budget))
    return [batches[i] for i in random.permutation(len(batches))]


def plan_blocks(
    lengths: NDArray[np.int64], blocks: Sequence[NDArray[np.int64]], budget: int, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Batches of one pass that have blocks whole: those with as many sentences, and of like length, together.

    Args:
        lengths: tokens of each sentence of the corpus.
        blocks: indices that take part, of each block, in order.
        budget: the most padded tokens of a batch, context not counted; a larger block is a batch of its own.
        seed: of the run.
        epoch: pass over the corpus, from 0.

    Returns:
        Arrays of indices.
    """
    random = np.random.default_rng((seed, epoch))
    sizes = np.array([len(block) for block in blocks], np.int64)
    longest = np.array([lengths[block].max() for block in blocks], np.int64)
    order = random.permutation(len(blocks))
    order = order[np.lexsort((longest[order], sizes[order]))]
    batches = list(_cut(order, longest, budget, sizes))
    return [np.concatenate([blocks[i] for i in batches[j]]) for j in random.permutation(len(batches))]


def _cut(
    order: NDArray[np.int64], lengths: NDArray[np.int64], budget: int, sizes: NDArray[np.int64] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Pieces of an order within the budget; each of it has `sizes` sentences, or one."""
    start, count, longest = 0, 0, 0
    counts = np.ones_like(order) if sizes is None else sizes[order]
    for end, (size, length) in enumerate(zip(counts.tolist(), lengths[order].tolist(), strict=True)):
        count, longest = count + size, max(longest, length)
        if end > start and count * longest > budget:
            yield order[start:end]
            start, count, longest = end, size, length
    if start < len(order):
        yield order[start:]


def _arrays(sequences: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    # int32 arrays take a seventh of the memory of lists of Python integers.
    return [np.asarray(sequence, dtype=np.int32) for sequence in sequences]  # type: ignore[misc]


def _target(text: str | None) -> str:
    if text is None:
        raise DataError("a sentence of the training corpus has no translation")
    return text
