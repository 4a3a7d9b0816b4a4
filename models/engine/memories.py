"""The memories that sentences leave to the next ones of their documents: kept from the search, or made from the texts.

The key of a memory is everything that it depends on: the sources that its sentence was read with, and the translations
up to its own, as tokens. So a memory from the search is found only if the text of the translation is encoded as the
same tokens again; one that is not found is made again from the texts, with the same result. A sentence that is
translated in parts leaves the memory that reading its whole translation leaves. One that is empty, has no translation,
or has no room in the position table on either side leaves none, here as in training: the next one starts afresh.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import Final

import numpy as np
import torch

from models.data.batches import Batch, Example, Memory, Tokens, pad_memories, read_batch
from models.data.tokenizer import PAD
from models.engine.batching import batch_tokens, in_batches
from models.network.model import TranslationModel
from models.network.recent import Recent
from models.network.state import State

MEMORY_BYTES = 64 * 2**20
"""Holds some two hundred sentences of a model with six layers of width 512: one document per client at a time."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A translated sentence, as an example of its own, that continues from memory `before` and leaves memory `key`."""

    example: Example
    translation: Tokens
    key: bytes
    before: bytes | None

    @property
    def place(self) -> int:
        return len(self.example.preceding)

    @property
    def size(self) -> int:
        return max(len(self.example.source), len(self.translation)) + 1


class Memories:
    """Finds or makes the memory that each sentence continues from."""

    def __init__(
        self,
        model: TranslationModel,
        limit: int = MEMORY_BYTES,
        free: Callable[[], None] = torch.cuda.empty_cache,
    ) -> None:
        """Read translations with `model`, and keep at most `limit` bytes of memories; `free` as for `in_batches`."""
        self._model = model
        self._free = free
        self._device = model.device
        self.kept: Final[Recent[bytes, Memory]] = Recent(limit)
        """The kept memories, by what they depend on."""

    def recall(self, examples: Sequence[Example]) -> list[Memory]:
        """Return the memory that the sentence before each of these left; empty if it left none.

        Memories that are not kept are made from the texts: all sources together, then the translations turn by turn.
        """
        found: dict[bytes, Memory] = {}
        missing: dict[bytes, _Link] = {}
        last: list[bytes | None] = []
        for example in examples:
            links = self._links(example)
            first = None
            for link in links:
                first = first or link.key
                if link.key in missing or self._find(link.key, found):
                    break
                missing[link.key] = link
            last.append(first)
        for left in self._read(_chains(missing), found):
            found |= left
        return [{} if key is None else found[key] for key in last]

    def keep(self, example: Example, translation: Tokens, memory: Memory) -> None:
        """Keep the memory that the search has left of a translation, if it has left one."""
        if memory:
            key = self._key(example.source, [*example.translations, translation], example)
            own = {name: tensor.clone() for name, tensor in memory.items()}
            self.kept.put(key, own, _size(own))

    def _find(self, key: bytes, found: dict[bytes, Memory]) -> bool:
        if key not in found and (kept := self.kept.get(key)) is not None:
            found[key] = kept
        return key in found

    def _links(self, example: Example) -> Iterator[_Link]:
        """Yield the sentences before an example, latest first, for as long as each continues from the one before it."""
        for place in reversed(range(len(example.preceding))):
            source, translation = example.preceding[place], example.translations[place]
            if not (len(source) and len(translation)):
                return
            read = self._at(example, place)
            goes_on = place > 0 and len(example.preceding[place - 1]) and len(example.translations[place - 1])
            before = self._key_at(example, place - 1) if goes_on else None
            yield _Link(read, translation, self._key_at(example, place), before)

    def _at(self, example: Example, place: int) -> Example:
        """Return a preceding sentence as an example, with what was known when it was translated."""
        after = [*example.preceding[place + 1 :], example.source, *example.following]
        return replace(
            example,
            source=example.preceding[place],
            preceding=example.preceding[:place],
            following=() if self._grows(example) else after,
            translations=example.translations[:place],
        )

    def _key_at(self, example: Example, place: int) -> bytes:
        read = self._at(example, place)
        return self._key(read.source, example.translations[: place + 1], read)

    def _key(self, source: Tokens, translations: Sequence[Tokens], read: Example) -> bytes:
        head = [self._grows(read), len(read.preceding)]
        return _digest([head, *read.preceding, source, *read.following], translations)

    def _grows(self, example: Example) -> bool:
        return example.growing or not self._model.architecture.window.following

    def _read(self, chains: Sequence[Sequence[_Link]], found: dict[bytes, Memory]) -> list[dict[bytes, Memory]]:
        """Return what the sentences of each chain leave, which continue from each other or from found memories."""

        def read(indices: list[int]) -> list[dict[bytes, Memory]]:
            left = self._leave([link for i in indices for link in chains[i]], found)
            return [{link.key: left[link.key] for link in chains[i]} for i in indices]

        sizes = [sum(link.size for link in chain) for chain in chains]
        memories = in_batches(sizes, read, self._free, batch_tokens(self._device))
        for left in memories:
            for key, memory in left.items():
                self.kept.put(key, memory, _size(memory))
        return memories

    @torch.inference_mode()
    def _leave(self, links: Sequence[_Link], found: dict[bytes, Memory]) -> Mapping[bytes, Memory]:
        """Return the memory that each sentence leaves, without padding."""
        sources, targets = [link.example for link in links], [link.translation for link in links]
        batch = read_batch(sources, targets, self._model.architecture).to(self._device)
        state = self._model.start(batch, cached=False)
        known = ChainMap({}, found)
        for _, turn in groupby(sorted(range(len(links)), key=lambda i: links[i].place), key=lambda i: links[i].place):
            rows = list(turn)
            before = [{} if (key := links[i].before) is None else known[key] for i in rows]
            known.update(zip((links[i].key for i in rows), self._take_turn(batch, state, rows, before), strict=True))
        return known

    def _take_turn(self, batch: Batch, state: State, rows: Sequence[int], before: Sequence[Memory]) -> list[Memory]:
        """Return what some sentences of a batch leave, which continue from the memories `before`."""
        assert batch.target is not None
        own = torch.tensor(rows, device=self._device)
        lengths = batch.target[own].ne(PAD).sum(1).sub(1).tolist()
        part = state.select(own)
        part.recall(pad_memories(before))
        self._model.decode(batch.target[own, : max(lengths)], part)
        left = self._model.architecture.finish(part, torch.arange(len(rows), device=self._device))
        return [
            {name: tensor[row, -length:].clone() for name, tensor in left.items()} for row, length in enumerate(lengths)
        ]


def _chains(links: Mapping[bytes, _Link]) -> list[list[_Link]]:
    """Group links that continue from each other, which are those of a document."""
    chain_of: dict[bytes, list[_Link]] = {}
    chains: list[list[_Link]] = []
    for key, link in sorted(links.items(), key=lambda item: item[1].place):
        chain = None if link.before is None else chain_of.get(link.before)
        if chain is None:
            chains.append(chain := [])
        chain.append(link)
        chain_of[key] = chain
    return chains


def _size(memory: Memory) -> int:
    return sum(tensor.nbytes for tensor in memory.values())


def _digest(*lists: Iterable[Tokens]) -> bytes:
    """Return a digest of lists of sentences, which is the same only for the same lists."""
    digest = blake2b(digest_size=16)
    for sentences in lists:
        for tokens in sentences:
            digest.update(len(tokens).to_bytes(4, "little", signed=True))
            digest.update(np.asarray(tokens, np.int32).tobytes())
        digest.update((-1).to_bytes(4, "little", signed=True))
    return digest.digest()
