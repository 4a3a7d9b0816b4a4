"""What each update of a run reads, made while the update before it computes."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.config import TrainingConfig
from models.data.batches import Batch, ContextReader
from models.data.corpus import TokenizedCorpus
from models.data.noise import ContextNoise
from models.errors import ConfigError
from models.training.distributed import World
from models.training.objective import count_tokens

AHEAD: Final = 2
"""Updates whose batches are made before they are asked for: a GPU would wait for them otherwise."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one process computes of one update."""

    batches: list[Batch]
    """On the device of the process."""
    tokens: int
    """Target tokens, end of sentence included."""
    weight: float
    """What they weigh in the loss."""
    reached: tuple[int, int]
    """Epoch and position, in batches of all processes together, where the next update begins."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A share that is still to be made."""

    epoch: int
    order: list[NDArray[np.int64]]
    """All batches of the epoch."""
    numbers: range
    """Of the batches of this process."""
    reached: tuple[int, int]


class Feed:
    """The batches of a run: seed, epoch and position alone decide what is in them."""

    def __init__(self, corpus: TokenizedCorpus, reader: ContextReader, settings: TrainingConfig, world: World) -> None:
        """Read `corpus` as `reader` does, for this process of `world`."""
        self._corpus: Final = corpus
        self._reader: Final = reader
        self._settings: Final = settings
        self._world: Final = world
        self._noise: Final = ContextNoise(settings.context_dropout, settings.context_shuffling)
        self._size: Final = world.size * settings.accumulation
        """Batches of an update, of all processes together."""

    def updates_of(self, epochs: float) -> int:
        """How many updates so many passes over the corpus are, at least one."""
        return max(1, int(epochs * (len(self._plan(0)) // self._size)))

    def shares(self, epoch: int, position: int, updates: int) -> Iterator[Share]:
        """This process's share of each of so many updates, from a position of an epoch on.

        Raises:
            ConfigError: a pass over the corpus is less than an update.
        """
        coming: deque[Future[Share]] = deque()
        with ThreadPoolExecutor(1, "feed") as reading:
            for work in self._works(epoch, position, updates):
                coming.append(reading.submit(self._share, work))
                if len(coming) > AHEAD:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()

    def _works(self, epoch: int, position: int, updates: int) -> Iterator[_Work]:
        size, world = self._size, self._world
        left = updates
        while left > 0:
            order = self._plan(epoch)
            if len(order) < size:
                raise ConfigError(f"the corpus has only {len(order)} batches, but an update needs {size}")
            for first in range(position, len(order) - size + 1, size)[:left]:
                after = first + size
                reached = (epoch, after) if after + size <= len(order) else (epoch + 1, 0)
                yield _Work(epoch, order, range(first, after)[world.rank :: world.size], reached)
                left -= 1
            epoch, position = epoch + 1, 0

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        settings = self._settings
        return self._corpus.plan(self._reader, settings.batch_tokens, seed=settings.seed, epoch=epoch)

    def _share(self, work: _Work) -> Share:
        batches = [self._batch(work.order[number], (work.epoch, number)) for number in work.numbers]
        tokens, weights = zip(*map(count_tokens, batches), strict=True)
        moved = [batch.to(self._world.device) for batch in batches]
        return Share(moved, sum(tokens), sum(weights), work.reached)

    def _batch(self, indices: NDArray[np.int64], place: tuple[int, int]) -> Batch:
        """The sentences of a batch, of which epoch and number decide which are learnt with other contexts."""
        neighbours = self._noise.neighbours(indices.tolist(), (self._settings.seed, *place))
        return self._corpus.batch(indices, self._reader, neighbours)
