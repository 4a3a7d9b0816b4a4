"""Error for batches that exceed a device's memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

from models.config import TrainingConfig
from models.errors import ConfigError
from models.network.inference.graphs import says_no_memory

_NO_MEMORY_HERE: Final = "can't allocate memory"
"""Message of torch if a CPU has no memory left."""


@contextmanager
def room_for_batches(settings: TrainingConfig, device: torch.device) -> Iterator[None]:
    """Turn out-of-memory errors in computations of batches into advice.

    Raises:
        ConfigError: the device has too little memory; the message says which value makes batches smaller.
    """
    try:
        yield
    except RuntimeError as error:  # torch.OutOfMemoryError is one, too
        if not (
            isinstance(error, torch.OutOfMemoryError) or says_no_memory(str(error)) or _NO_MEMORY_HERE in str(error)
        ):
            raise
        raise ConfigError(
            f"training.batch_tokens is {settings.batch_tokens}: {device} has too little memory for such a batch; lower"
            f" it, and raise training.accumulation, now {settings.accumulation}, to keep as much in an update"
        ) from None
