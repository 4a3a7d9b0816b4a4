"""Which numbers training computes in."""

from typing import Literal

import torch


def computing(precision: Literal["auto", "float32", "bfloat16"], device: torch.device) -> torch.autocast:
    """Forward passes of training.

    Mixed precision in bfloat16, where asked for, or with `auto` on a GPU and on a CPU with bfloat16 instructions.
    """
    mixed = precision == "bfloat16" or (precision == "auto" and computes_bfloat16(device))
    return torch.autocast(device.type, torch.bfloat16, enabled=mixed)


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices in hardware; without it, bfloat16 is slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
