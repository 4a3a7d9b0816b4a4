"""From tokenized sentences to batches of tensors: token budget, length buckets, the same order from the same seed.

Shape letters as in `models.network.layers`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.config import ContextWindow
from models.data.tokenizer import BOS, EOS, PAD

BUCKET = 4
"""Lengths that count as like where contexts are to be of like length, too; batches that are made by their sentences
alone pad the contexts to more than twice their tokens.
"""
CONTEXT_SHARE = 8
"""Tokens of context that count as one of the sentence in a batch: they are read once, a sentence's at every step."""


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
    weights: Tensor | None = None
    """(B,): what each sentence weighs in the loss; None where all weigh the same."""
    memory: Memory = field(default_factory=dict)
    """What the sentences before left behind; with turns, those before the first turn."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        return self._moved(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> "Batch":
        """The same batch in memory from which a GPU copies while it computes."""
        return self._moved(Tensor.pin_memory)

    def _moved(self, move: Callable[[Tensor], Tensor]) -> "Batch":
        target, weights = (None if each is None else move(each) for each in (self.target, self.weights))
        context, memory = (
            {name: move(tensor) for name, tensor in tensors.items()} for tensors in (self.context, self.memory)
        )
        return Batch(move(self.source), target, context, tuple(map(move, self.turns)), weights, memory)


def pad(sequences: Sequence[Tokens], *, begin: int | None = None, end: int | None = None) -> Tensor:
    """Right-padded ids, (B, longest); each sequence stands between the tokens `begin` and `end`, where they are given.

    All at once: row by row it takes twice as long, and a GPU in training waits for it.
    """
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))[:, None]
    first = int(begin is not None)
    columns = np.arange(first + int(lengths.max()) + int(end is not None))
    padded = np.full((len(sequences), len(columns)), PAD, dtype=np.int64)
    padded[(columns >= first) & (columns < first + lengths)] = np.concatenate(sequences)
    if begin is not None:
        padded[:, 0] = begin
    if end is not None:
        np.put_along_axis(padded, first + lengths, end, axis=1)
    return torch.from_numpy(padded)


def join(sentences: Sequence[Tokens]) -> Tokens:
    """The tokens of sentences, one after another."""
    return np.concatenate(sentences) if len(sentences) else ()  # type: ignore[return-value]


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
    target = None if targets is None else pad(targets, begin=BOS, end=EOS)
    return Batch(pad(sources, end=EOS), target, context)


def read_batch(examples: Sequence[Example], targets: Sequence[Tokens] | None, reader: ContextReader) -> Batch:
    """A batch of examples as an architecture reads what it has selected of them."""
    return make_batch([reader.source(example) for example in examples], targets, reader.collate(examples))


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
        budget: the most padded tokens of a batch, and a `CONTEXT_SHARE`-th of its most tokens of context; what is more
            by itself is a batch of its own.
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
        # Else a batch of headings, each after sentences of an article, would fill any memory.
        lengths = np.maximum(lengths, -(-context_lengths // CONTEXT_SHARE))
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
