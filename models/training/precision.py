"""Which numbers training computes in."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch


def autocast(precision: Literal["auto", "float32", "bfloat16"], device: torch.device) -> AbstractContextManager[object]:
    """Mixed precision in bfloat16: where asked for, or with `auto` on a GPU and on a CPU with bfloat16 instructions."""
    if precision == "bfloat16" or (precision == "auto" and computes_bfloat16(device)):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices in hardware; without it, bfloat16 is slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
