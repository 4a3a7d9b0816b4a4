"""Which numbers training computes in."""

from typing import Literal

import torch

from models.network.bfloat16 import computes_bfloat16


def computing(precision: Literal["auto", "float32", "bfloat16"], device: torch.device) -> torch.autocast:
    """Forward passes of training.

    Mixed precision in bfloat16, where asked for, or with `auto` on a GPU and on a CPU with bfloat16 instructions.
    """
    mixed = precision == "bfloat16" or (precision == "auto" and computes_bfloat16(device))
    return torch.autocast(device.type, torch.bfloat16, enabled=mixed)
