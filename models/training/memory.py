"""What to do where a device has no memory for a batch of training."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

from models.config import TrainingConfig
from models.errors import ConfigError
from models.network.inference.graphs import says_no_memory

_NO_MEMORY_HERE: Final = "can't allocate memory"
"""What torch says where a CPU has none."""


@contextmanager
def room_for_batches(settings: TrainingConfig, device: torch.device) -> Iterator[None]:
    """Around what is computed of batches.

    Raises:
        ConfigError: the device has no memory for them; the message says which value makes them smaller.
    """
    try:
        yield
    except RuntimeError as error:  # torch.OutOfMemoryError is one, too
        if not (
            isinstance(error, torch.OutOfMemoryError) or says_no_memory(str(error)) or _NO_MEMORY_HERE in str(error)
        ):
            raise
        raise ConfigError(
            f"training.batch_tokens is {settings.batch_tokens}: {device} has no memory for such a batch; make it"
            f" smaller, and training.accumulation, which is {settings.accumulation}, larger for as much in an update"
        ) from None
