"""Whether a device has the kernels of `models.kernels.gpu`, which a build of torch for CUDA brings along."""

import logging
from functools import cache
from typing import Final

import torch

_log: Final = logging.getLogger(__name__)


@cache
def has_fused_kernels(device: torch.device) -> bool:
    """Whether they can be used there: one is compiled, for which Triton needs a C compiler.

    Without them everything is computed all the same, by torch and by more kernels, which is said once.
    """
    if device.type != "cuda":
        return False
    try:
        from models.kernels.gpu.sublayers import let_in  # noqa: PLC0415 - imports Triton

        let_in(*torch.ones(3, 1, 1, device=device))
    except Exception as error:  # noqa: BLE001 - Triton, the compiler and the driver fail in ways of their own
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        _log.warning("decoding goes on without fused kernels, and more slowly: %s", reason)
        return False
    return True
