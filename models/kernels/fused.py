"""Whether a device can use the kernels of `models.kernels.gpu`, which need Triton, part of torch's builds for CUDA."""

import logging
from functools import cache
from typing import Final, Literal

import torch

_log: Final = logging.getLogger(__name__)


def has_fused_kernels(device: torch.device) -> bool:
    """Return whether the kernels for decoding work there; each is tried, since Triton needs a C compiler.

    Without them, torch computes the same with more kernels, and a warning is logged once.

    Raises:
        torch.OutOfMemoryError: the device has no memory to try them in.
    """
    return device.type == "cuda" and _can_be_used("decoding", _index(device))


def has_fused_losses(device: torch.device) -> bool:
    """Return the same for the kernels for training; raises the same errors."""
    return device.type == "cuda" and _can_be_used("training", _index(device))


def _index(device: torch.device) -> int:
    return torch.cuda.current_device() if device.index is None else device.index


@cache
def _can_be_used(task: Literal["decoding", "training"], index: int) -> bool:
    try:
        (_try_decoding if task == "decoding" else _try_training)(torch.device("cuda", index))
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - Triton, the compiler and the driver fail in ways of their own
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        _log.warning("%s goes on without fused kernels, and more slowly: %s", task, reason)
        return False
    return True


def _try_training(device: torch.device) -> None:
    from models.kernels.gpu import cross_entropy  # noqa: PLC0415 - imports Triton

    logits, expected = torch.zeros(2, 8, dtype=torch.bfloat16, device=device), torch.zeros(2, dtype=torch.long)
    losses, totals = cross_entropy.losses(logits, expected.to(device), 0.1)
    cross_entropy.gradients(logits, expected.to(device), totals, losses, 0.1)


def _try_decoding(device: torch.device) -> None:
    from models.kernels.gpu import attention, continuations, sublayers  # noqa: PLC0415 - import Triton

    width, heads, beam, room = 128, 2, 4, 32
    x = torch.zeros(beam, 1, width, dtype=torch.bfloat16, device=device)
    past, columns = x.new_zeros(2, room, beam, width), torch.zeros(beam, room, dtype=torch.long, device=device)
    here, starts = columns.new_zeros(1), columns.new_zeros(beam)
    attention.attend_past((x, x, x), (past[0], past[1]), columns, here, starts, heads)
    keys = x.new_zeros(1, heads, room, width // heads)
    attention.attend_fixed(x, keys, keys, x.new_zeros(1, 1, 1, room))
    norm = torch.nn.LayerNorm(width, dtype=x.dtype, device=device)
    sublayers.enter(x[:, 0], norm, x[0, 0])
    sublayers.let_in(x, x, x)
    logits = x.new_zeros(beam, 4 * width)
    continuations.choose(logits, torch.zeros(1, beam, device=device), (0, 1), 2)
    continuations.likeliest(logits, (0, 1))
