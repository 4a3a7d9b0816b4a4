"""The batches of each update of a run."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from models.config import TrainingConfig
from models.data.batches import Batch, ContextReader
from models.data.corpus import TokenizedCorpus
from models.data.noise import ContextNoise
from models.errors import ConfigError, FeedError
from models.training.distributed import World
from models.training.objective import count_tokens

_WORKERS: Final = {"cpu": 0, "cuda": 2}
"""Processes that prepare batches, by device: without any, a GPU would wait for Python."""
_KILLED: Final = (
    "a process that makes batches has been killed, for want of memory perhaps: "
    "the run can go on from its last checkpoint (--resume)"
)
_DEATH: Final = "DataLoader worker (pid"
"""How torch begins to say that such a process has died."""
_AT_ONCE: Final = 4096
"""Tokens of a batch that a CPU computes at once: more take gigabytes of memory and exceed its caches."""


@contextmanager
def deaths_told() -> Iterator[None]:
    """Report the death of a batch process; wraps all work on shares, as torch may notice it at any time.

    Raises:
        FeedError: a process that makes batches has died.
    """
    try:
        yield
    except Exception as error:
        if _DEATH not in str(error):  # what it interrupts may wrap the RuntimeError, as pydantic's serializers do
            raise
        raise FeedError(_KILLED) from error


def fetched(shares: Iterable["Share"]) -> Iterator["Share"]:
    """Yield shares made by other processes; if one has died, its last shares may be lost.

    Raises:
        FeedError: a share is lost.
    """
    try:
        yield from shares
    except (ConnectionError, EOFError) as error:
        raise FeedError(_KILLED) from error


@dataclass(frozen=True, slots=True)
class Share:
    """One process's part of one update."""

    batches: list[Batch]
    tokens: int
    """Target tokens, end of sentence included."""
    weight: float
    """Total weight of these tokens in the loss."""
    reached: tuple[int, int]
    """Epoch and position, in batches of all processes together, at which the next update begins."""

    def to(self, device: torch.device) -> "Share":
        """Return the share with its batches on a device."""
        return replace(self, batches=[batch.to(device) for batch in self.batches])

    def pin_memory(self) -> "Share":
        """Return the share with its batches in pinned memory, from which a GPU copies while it computes."""
        return replace(self, batches=[batch.pin_memory() for batch in self.batches])


@dataclass(frozen=True, slots=True)
class _Work:
    """A share yet to be made."""

    epoch: int
    batches: dict[int, NDArray[np.int64]]
    """Sentence indices of each batch of this process, by the batch's number in the epoch."""
    reached: tuple[int, int]


class Feed(Dataset[Share]):
    """The batches of a run, fully determined by seed, epoch and position."""

    def __init__(self, corpus: TokenizedCorpus, reader: ContextReader, settings: TrainingConfig, world: World) -> None:
        """Read `corpus` as `reader` does, for this process of `world`."""
        self._corpus: Final = corpus
        self._reader: Final = reader
        self._settings: Final = settings
        self._world: Final = world
        self._noise: Final = ContextNoise(settings.context_dropout, settings.context_shuffling)
        corpus.keep_for(reader)  # before workers are forked, or each would prepare it anew
        self._size: Final = world.size * settings.accumulation
        """Batches per update, over all processes."""

    def updates_of(self, epochs: float) -> int:
        """Return the number of updates in so many passes over the corpus, at least 1."""
        return max(1, int(epochs * (len(self._plan(0)) // self._size)))

    def shares(self, epoch: int, position: int, updates: int, *, workers: int | None = None) -> Iterator[Share]:
        """Return this process's shares of the next updates, on its device.

        Args:
            epoch: pass over the corpus, from 0.
            position: batches of the epoch that are done.
            updates: number of updates.
            workers: processes that prepare batches; by default as many as the device needs.

        Raises:
            ConfigError: the corpus has fewer batches than an update needs.
        """
        if not updates:
            return iter(())
        device = self._world.device
        count = _WORKERS[device.type] if workers is None else workers
        made: DataLoader[Share] = DataLoader(
            self,
            batch_size=None,
            sampler=self._works(epoch, position, updates),
            num_workers=count,
            multiprocessing_context="fork" if count else None,  # the corpus is not copied
            pin_memory=device.type == "cuda",
        )
        return (share.to(device) for share in fetched(made))

    def __getitem__(self, work: _Work) -> Share:
        """Make a share."""
        batches = [
            part for number, indices in work.batches.items() for part in self._parts(indices, (work.epoch, number))
        ]
        tokens, weights = zip(*map(count_tokens, batches), strict=True)
        return Share(batches, sum(tokens), sum(weights), work.reached)

    def _works(self, epoch: int, position: int, updates: int) -> Iterator[_Work]:
        size, world = self._size, self._world
        left = updates
        while left > 0:
            order = self._plan(epoch)
            # Passes may differ by a batch; one that is too short for an update is left out.
            if len(order) < size and (most := len(self._plan(0))) < size:
                raise ConfigError(f"the corpus has only {most} batches, but an update needs {size}")
            for first in range(position, len(order) - size + 1, size)[:left]:
                after = first + size
                own = {number: order[number] for number in range(first, after)[world.rank :: world.size]}
                yield _Work(epoch, own, (epoch, after) if after + size <= len(order) else (epoch + 1, 0))
                left -= 1
            epoch, position = epoch + 1, 0

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        settings = self._settings
        return self._corpus.plan(self._reader, settings.batch_tokens, seed=settings.seed, epoch=epoch)

    def _parts(self, indices: NDArray[np.int64], place: tuple[int, int]) -> list[Batch]:
        """Return a batch in the parts that are computed separately; epoch and number seed all that is drawn."""
        seed = self._settings.seed, *place
        neighbours = self._noise.neighbours(indices.tolist(), seed)
        count = -(-self._settings.batch_tokens // _AT_ONCE) if self._world.device.type == "cpu" else 1
        return [
            self._corpus.batch(indices[rows], self._reader, [neighbours[row] for row in rows], (*seed, int(rows[0])))
            for rows in self._corpus.parts(indices, self._reader, count)
        ]
