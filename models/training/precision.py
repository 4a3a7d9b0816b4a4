"""The number format that training computes in."""

from typing import Literal

import torch

from models.network.bfloat16 import computes_bfloat16


def computing(precision: Literal["auto", "float32", "bfloat16"], device: torch.device) -> torch.autocast:
    """Return the autocast context for forward passes of training.

    Uses bfloat16 mixed precision if asked for, or with `auto` on GPUs and CPUs that have bfloat16 instructions.
    """
    mixed = precision == "bfloat16" or (precision == "auto" and computes_bfloat16(device))
    return torch.autocast(device.type, torch.bfloat16, enabled=mixed)
