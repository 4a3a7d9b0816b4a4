"""Which numbers training computes in, and with which kernels."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


@contextmanager
def computing(precision: Literal["auto", "float32", "bfloat16"], device: torch.device) -> Iterator[None]:
    """Forward passes of training.

    Mixed precision in bfloat16, where asked for, or with `auto` on a GPU and on a CPU with bfloat16 instructions. On a
    CPU, attention in plain products: torch's fused kernel goes backward through blocks of 32 rows one by one there, and
    takes twice as long for sentences.
    """
    with ExitStack() as stack:
        if precision == "bfloat16" or (precision == "auto" and computes_bfloat16(device)):
            stack.enter_context(torch.autocast(device.type, torch.bfloat16))
        if device.type == "cpu":
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices in hardware; without it, bfloat16 is slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
