"""Detection of hardware bfloat16; elsewhere torch emulates it, which is slower than float32."""

import torch


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices in hardware: NVIDIA GPUs since Ampere, recent x86 CPUs."""
    if device.type == "cuda":
        return torch.cuda.is_available() and _gpu_computes(device)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _gpu_computes(device: torch.device) -> bool:
    with torch.cuda.device(device):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
