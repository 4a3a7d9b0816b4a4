"""What sentences have left to the next ones of their documents: kept as search left it, or read again from the texts.

A memory is known by all that it depends on: the sources that its sentence was read with, and the translations up to
its own, as tokens. So one that search left is found only where the text of the translation is the same tokens again,
and whatever is not found is made anew from the texts, with the same result. A sentence that is translated in parts
leaves what its whole translation leaves when it is read. One that is empty, has no translation, or has no room in the
position table on either side leaves nothing, here as in training: the next one starts anew.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby

import numpy as np
import torch

from models.bundle.batching import in_batches
from models.data.batches import Example, Memory, Tokens, pad_memories, read_batch
from models.data.tokenizer import PAD
from models.network.model import TranslationModel
from models.network.recent import Recent

MEMORY_BYTES = 64 * 2**20
"""Of a model of six layers of width 512 some two hundred sentences: a document of each client at a time."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A translated sentence, as an example of its own, that leaves the memory `key` and goes on from `before`."""

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
    """Gives the memory that each sentence goes on from."""

    def __init__(self, model: TranslationModel, limit: int = MEMORY_BYTES) -> None:
        """Read translations with `model`, and keep memories of at most `limit` bytes."""
        self._model = model
        self._device = next(model.parameters()).device
        self._kept: Recent[bytes, Memory] = Recent(limit)

    @property
    def kept(self) -> Recent[bytes, Memory]:
        """The memories by what they depend on."""
        return self._kept

    def recall(self, examples: Sequence[Example]) -> list[Memory]:
        """What the sentence before each of these left; nothing, where it left nothing.

        What is not kept is read from the texts, of all examples together, turn by turn.
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
        for _, turn in groupby(sorted(missing.values(), key=lambda link: link.place), key=lambda link: link.place):
            found |= self._read(list(turn), found)
        return [{} if key is None else found[key] for key in last]

    def keep(self, example: Example, translation: Tokens, memory: Memory) -> None:
        """Keep what search has left of a translation, if it has."""
        if memory and len(translation):
            key = self._key(example.source, [*example.translations, translation], example)
            own = {name: tensor.clone() for name, tensor in memory.items()}
            self._kept.put(key, own, _size(own))

    def _find(self, key: bytes, found: dict[bytes, Memory]) -> bool:
        if key not in found and (kept := self._kept.get(key)) is not None:
            found[key] = kept
        return key in found

    def _links(self, example: Example) -> Iterator[_Link]:
        """The sentences before an example, the latest first, as far back as each goes on from the one before it."""
        for place in reversed(range(len(example.preceding))):
            source, translation = example.preceding[place], example.translations[place]
            if not (len(source) and len(translation)):
                return
            read = self._at(example, place)
            goes_on = place > 0 and len(example.preceding[place - 1]) and len(example.translations[place - 1])
            before = self._key_at(example, place - 1) if goes_on else None
            yield _Link(read, translation, self._key_at(example, place), before)

    def _at(self, example: Example, place: int) -> Example:
        """The example of a preceding sentence, with what was known when it was translated."""
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

    def _read(self, links: Sequence[_Link], found: dict[bytes, Memory]) -> dict[bytes, Memory]:
        """What sentences leave that go on from memories which are found."""

        def read(indices: list[int]) -> list[Memory]:
            batch = [links[i] for i in indices]
            return self._leave(batch, [{} if link.before is None else found[link.before] for link in batch])

        memories = in_batches([link.size for link in links], read)
        left = {link.key: memory for link, memory in zip(links, memories, strict=True)}
        for key, memory in left.items():
            self._kept.put(key, memory, _size(memory))
        return left

    @torch.inference_mode()
    def _leave(self, links: Sequence[_Link], before: Sequence[Memory]) -> list[Memory]:
        """What each sentence leaves, without padding."""
        architecture = self._model.architecture
        batch = read_batch([link.example for link in links], [link.translation for link in links], architecture)
        batch = replace(batch.to(self._device), memory=pad_memories(before))
        assert batch.target is not None
        state = self._model.start(batch, cached=False)
        self._model.decode(batch.target[:, :-1], state)
        left = architecture.finish(state, torch.arange(len(links), device=self._device))
        lengths = batch.target.ne(PAD).sum(1).sub(1).tolist()
        return [
            {name: tensor[row, -length:].clone() for name, tensor in left.items()} for row, length in enumerate(lengths)
        ]


def _size(memory: Memory) -> int:
    return sum(tensor.nbytes for tensor in memory.values())


def _digest(*lists: Iterable[Tokens]) -> bytes:
    """Of lists of sentences: the same for the same ones only."""
    digest = blake2b(digest_size=16)
    for sentences in lists:
        for tokens in sentences:
            digest.update(len(tokens).to_bytes(4, "little", signed=True))
            digest.update(np.asarray(tokens, np.int32).tobytes())
        digest.update((-1).to_bytes(4, "little", signed=True))
    return digest.digest()
