"""Whether a device has the kernels of `models.kernels.gpu`, which a build of torch for CUDA brings along."""

import logging
from functools import cache
from typing import Final

import torch

_log: Final = logging.getLogger(__name__)


def has_fused_kernels(device: torch.device) -> bool:
    """Whether they can be used there: each is compiled, for which Triton needs a C compiler.

    Without them everything is computed all the same, by torch and by more kernels, which is said once.

    Raises:
        torch.OutOfMemoryError: the device has no memory to try them in.
    """
    if device.type != "cuda":
        return False
    return _can_be_used(torch.cuda.current_device() if device.index is None else device.index)


@cache
def _can_be_used(index: int) -> bool:
    try:
        _try_all(torch.device("cuda", index))
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - Triton, the compiler and the driver fail in ways of their own
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        _log.warning("decoding goes on without fused kernels, and more slowly: %s", reason)
        return False
    return True


def _try_all(device: torch.device) -> None:
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
