"""Batches of tensors from tokenized sentences: token budget, length buckets, and an order fixed by the seed.

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
"""Sentence lengths that count as equal where contexts should be of similar length, too; batches made by sentence length
alone would pad the contexts to more than twice their tokens.
"""
CONTEXT_SHARE = 8
"""Context tokens that count as one token of a sentence in a batch: they are read once, a sentence's at every step."""


Tokens = Sequence[int]

Memory = dict[str, Tensor]
"""What sentences leave to the next ones of their documents: tensors (B, M, ...), padded on the left. `real`, (B, M),
is true where there is something; the other names are the architecture's. For a single sentence, without the B.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence and the parts of its document that are read, as token ids without control tokens, in reading order."""

    source: Tokens
    preceding: Sequence[Tokens] = ()
    following: Sequence[Tokens] = ()
    translations: Sequence[Tokens] = ()
    """Translations of the preceding sentences, one each, if the architecture reads them."""
    growing: bool = False
    """Whether the document may still grow, so that none of its sentences is read with what follows it."""
    own: "Example | None" = None
    """The same sentences in the architecture's own tokenization, if it has one."""


class ContextReader(Protocol):
    """The part of an architecture that decides what it reads of a document, and in which tensors."""

    window: ContextWindow
    reads_target: bool
    joins_source: ClassVar[bool]
    recurrent: bool

    def pieces(self, texts: Sequence[str]) -> Sequence[Tokens] | None:
        """Tokenize source texts with the architecture's own tokenizer; None if it has none."""

    def select(self, example: Example) -> Example:
        """Reduce an example to the context that is used."""

    def source(self, example: Example) -> Tokens:
        """Return what the encoder reads of a selected example, without the end of sentence."""

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Collate the selected examples of a batch into context tensors."""


@dataclass(frozen=True)
class Batch:
    """Padded token ids of B sentences, and the context tensors that the architecture makes of their neighbours."""

    source: Tensor
    """(B, S): pieces and end of sentence."""
    target: Tensor | None
    """(B, T + 1): beginning of sentence, pieces, end of sentence; None if it is to be decoded."""
    context: dict[str, Tensor]
    turns: tuple[Tensor, ...] = ()
    """If sentences continue one another, the rows of each turn. Row j of a turn follows row j of the previous turn,
    which may have more rows."""
    weights: Tensor | None = None
    """(B,): weight of each sentence in the loss; None if all are equal."""
    memory: Memory = field(default_factory=dict)
    """What the previous sentences left behind; with turns, those before the first turn."""

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        return self._moved(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> "Batch":
        """Return the batch in pinned memory, from which a GPU copies while it computes."""
        return self._moved(Tensor.pin_memory)

    def _moved(self, move: Callable[[Tensor], Tensor]) -> "Batch":
        target, weights = (None if each is None else move(each) for each in (self.target, self.weights))
        context, memory = (
            {name: move(tensor) for name, tensor in tensors.items()} for tensors in (self.context, self.memory)
        )
        return Batch(move(self.source), target, context, tuple(map(move, self.turns)), weights, memory)


def pad(sequences: Sequence[Tokens], *, begin: int | None = None, end: int | None = None) -> Tensor:
    """Pad ids on the right, (B, longest), with each sequence between the tokens `begin` and `end`, if given.

    Done in one go: row by row takes twice as long, and a GPU in training would wait for it.
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
    """Concatenate the tokens of sentences."""
    return np.concatenate(sentences) if len(sentences) else ()  # type: ignore[return-value]


def pad_memories(memories: Sequence[Memory]) -> Memory:
    """Combine the memories of B sentences, padded on the left to the longest; empty ones have nothing `real`."""
    names = {name: tensor for memory in memories for name, tensor in memory.items()}
    longest = max((memory["real"].size(0) for memory in memories if memory), default=0)
    joined = {name: like.new_zeros(len(memories), longest, *like.shape[1:]) for name, like in names.items()}
    for row, memory in enumerate(memories):
        for name, tensor in memory.items():
            joined[name][row, longest - len(tensor) :] = tensor
    return joined


def latest(sentences: Sequence[Tokens], count: int, room: int) -> Sequence[Tokens]:
    """Return the last sentences, in order and whole: at most `count`, with at most `room` tokens together."""
    first = len(sentences)
    while first > max(0, len(sentences) - count) and len(sentences[first - 1]) <= room:
        first -= 1
        room -= len(sentences[first])
    return sentences[first:]


def make_batch(sources: Sequence[Tokens], targets: Sequence[Tokens] | None, context: dict[str, Tensor]) -> Batch:
    """Make a batch of token ids, to which control tokens are added."""
    target = None if targets is None else pad(targets, begin=BOS, end=EOS)
    return Batch(pad(sources, end=EOS), target, context)


def read_batch(examples: Sequence[Example], targets: Sequence[Tokens] | None, reader: ContextReader) -> Batch:
    """Make a batch of selected examples, as an architecture reads them."""
    return make_batch([reader.source(example) for example in examples], targets, reader.collate(examples))


def plan(
    lengths: NDArray[np.int64],
    usable: NDArray[np.int64],
    budget: int,
    seed: int,
    epoch: int,
    context_lengths: NDArray[np.int64] | None = None,
) -> list[NDArray[np.int64]]:
    """Plan the batches of one pass: sentences of similar length together, in an order fixed by seed and epoch.

    Args:
        lengths: number of tokens of each sentence of the corpus.
        usable: indices of the sentences to use.
        budget: maximum padded tokens of a batch, and of its context tokens divided by `CONTEXT_SHARE`; a sentence that
            exceeds it is a batch of its own.
        seed: seed of the run.
        epoch: pass over the corpus, from 0.
        context_lengths: tokens of each sentence's context, if it is read; similar ones then come together, too.

    Returns:
        Arrays of indices.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(usable)
    if context_lengths is None:
        order = order[np.argsort(lengths[order], kind="stable")]
    else:
        order = order[np.lexsort((context_lengths[order], lengths[order] // BUCKET))]
        # Otherwise a batch of headings, each following the sentences of an article, would fill any memory.
        lengths = np.maximum(lengths, -(-context_lengths // CONTEXT_SHARE))
    batches = list(_cut(order, lengths, budget))
    return [batches[i] for i in random.permutation(len(batches))]


def plan_blocks(
    lengths: NDArray[np.int64], blocks: Sequence[NDArray[np.int64]], budget: int, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Plan the batches of one pass in whole blocks: those with as many sentences and of similar length together.

    Args:
        lengths: number of tokens of each sentence of the corpus.
        blocks: usable indices of each block, in order.
        budget: maximum padded tokens of a batch, context not counted; a larger block is a batch of its own.
        seed: seed of the run.
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
    """Cut an order into pieces within the budget; each item has `sizes` sentences, or one."""
    start, count, longest = 0, 0, 0
    counts = np.ones_like(order) if sizes is None else sizes[order]
    for end, (size, length) in enumerate(zip(counts.tolist(), lengths[order].tolist(), strict=True)):
        count, longest = count + size, max(longest, length)
        if end > start and count * longest > budget:
            yield order[start:end]
            start, count, longest = end, size, length
    if start < len(order):
        yield order[start:]
