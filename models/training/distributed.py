"""The processes of a run: one, or those started by torchrun."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import torch
import torch.distributed as dist
from torch import Tensor

from models.errors import ConfigError

VALIDATION: Final = timedelta(hours=6)
"""How long processes wait for one another: one of them validates, which may take long."""


@dataclass(frozen=True)
class World:
    """This process among all those of the run."""

    rank: int = 0
    size: int = 1
    device: torch.device = torch.device("cpu")

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def sum(self, value: float) -> float:
        """Return the sum of a number over all processes."""
        if self.size == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return total.item()

    def sum_tensors(self, tensors: list[Tensor]) -> None:
        """Sum each tensor over all processes, in place, in one message."""
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        parts = flat.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def agree(self, flag: bool) -> bool:
        """Return the leading process's flag, in all processes."""
        if self.size == 1:
            return flag
        told = torch.tensor(int(flag), device=self.device)
        dist.broadcast(told, 0)
        return bool(told.item())


def speaks_for_all() -> bool:
    """Whether this is the leading process, even before it has joined the others or after it has left them."""
    return int(os.environ.get("WORLD_SIZE", "1")) == 1 or os.environ["RANK"] == "0"


def end_process() -> None:
    """End a process that is one of several without shutting down its interpreter.

    During that shutdown about one process in a hundred has aborted ("terminate called without an active exception",
    torch 2.13 with gloo), which torchrun takes for a failure of the whole run. A single process ends as usual.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


@contextmanager
def join_world() -> Iterator[World]:
    """Join the run that torchrun's environment variables describe; without them this process is the only one.

    All processes leave together: none ends while the leading one still validates and writes.

    Raises:
        ConfigError: this machine has GPUs, but none for this process.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
    if cuda:
        _require_gpu(device)
        torch.cuda.set_device(device)
    if size == 1:
        yield World(device=device)
        return
    dist.init_process_group("nccl" if cuda else "gloo", timeout=VALIDATION)
    try:
        yield World(dist.get_rank(), size, device)
        dist.barrier(device_ids=[device.index] if cuda else None)
    finally:
        dist.destroy_process_group()


def _require_gpu(device: torch.device) -> None:
    count = torch.cuda.device_count()
    if device.index >= count:
        raise ConfigError(f"no GPU is left for a process of this run: give torchrun --nproc-per-node {count} or less")
