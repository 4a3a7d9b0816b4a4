"""Which number type a model computes in, and on which device."""

import ctypes
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import ctranslate2
import torch
from torch import nn

from models.engine.heap import keep_freed_memory
from models.errors import BundleError
from models.kernels.fused import has_fused_kernels
from models.kernels.machine import supports_int8
from models.network.bfloat16 import computes_bfloat16
from models.network.inference.preparation import prepare

COMPUTE_TYPES: Final = ("auto", "float32", "bfloat16", "int8")


def resolve_compute_type(compute_type: str, device: str) -> str:
    """Resolve `auto`: to bfloat16 on a GPU or int8 on a CPU if it supports that, else to float32.

    Raises:
        BundleError: there is no such device or type, or the device does not support it.
    """
    place = _known(device)
    on_cpu = place.type == "cpu"
    if compute_type == "auto" and on_cpu:
        return "int8" if supports_int8() else "float32"
    if compute_type == "auto":
        with _using(device):
            return "bfloat16" if computes_bfloat16(place) else "float32"
    if compute_type not in COMPUTE_TYPES:
        raise BundleError(f"there is no compute type {compute_type!r}; use one of {', '.join(COMPUTE_TYPES)}")
    if compute_type == "int8" and not (on_cpu and supports_int8()):
        raise BundleError("compute type 'int8' needs an x86 CPU with AVX2; use float32, bfloat16 or auto")
    return compute_type


def ctranslate2_type(compute_type: str, device: str) -> str:
    """Return the type for CTranslate2 to compute in: the requested one, or float32 if the device does not support it.

    On an x86 CPU without VNNI, CTranslate2 adds products of 8-bit integers in 16 bits, which overflow: this does not
    count as int8.
    """
    place = torch.device(device)
    if place.type == "cuda":
        _load_cublas()
    offered = ctranslate2.get_supported_compute_types(place.type, place.index or 0)
    overflows = place.type == "cpu" and compute_type.startswith("int8") and not _adds_products_exactly()
    return compute_type if compute_type in offered and not overflows else "float32"


def _load_cublas() -> None:
    """Load the cuBLAS of the extra `cuda`, if it is installed: CTranslate2 looks for it by its bare name only."""
    found = importlib.util.find_spec("nvidia")
    for folder in [] if found is None else found.submodule_search_locations or []:
        for name in ("libcublasLt.so.12", "libcublas.so.12"):
            with suppress(OSError):
                ctypes.CDLL(str(Path(folder) / "cublas" / "lib" / name), mode=ctypes.RTLD_GLOBAL)


def _adds_products_exactly() -> bool:
    able = torch.cpu.get_capabilities()
    return able.get("architecture") != "x86_64" or bool(able.get("avx512_vnni") or able.get("avx_vnni"))


def place(model: nn.Module, device: str, compute_type: str, threads: int, *, to_serve: bool) -> None:
    """Move a model to a device, in a type of `resolve_compute_type`, and make this process ready to compute with it.

    Args:
        model: the model, in evaluation mode.
        device: a device name of torch.
        compute_type: the type; int8 only with `to_serve`.
        threads: number of threads that compute on a CPU, for torch in this whole process.
        to_serve: whether the model is only used for decoding from now on, and is optimised for that.

    Raises:
        BundleError: there is no such device.
    """
    known = _known(device)
    torch.set_num_threads(threads)
    keep_freed_memory()
    with _using(device):
        model.to(known, torch.bfloat16 if compute_type == "bfloat16" else torch.float32)
        fused = to_serve and has_fused_kernels(known)
    if to_serve:
        prepare(model, int8=compute_type == "int8", fused=fused)


def _known(device: str) -> torch.device:
    """Parse the name of a device, which need not exist.

    Raises:
        BundleError: it is not of a kind that this package translates on, though torch may know it.
    """
    with suppress(RuntimeError):
        found = torch.device(device)
        if found.type in {"cpu", "cuda"}:
            return found
    raise BundleError(f"there is no device {device!r}; use cpu, cuda or cuda:N")


@contextmanager
def _using(device: str) -> Iterator[None]:
    """Turn the errors of a block that fails if there is no such device into a BundleError.

    Raises:
        BundleError: the block has failed.
    """
    try:
        yield
    except (RuntimeError, AssertionError) as error:  # torch raises either if there is no such device
        what = str(error).partition("\n")[0]
        raise BundleError(f"device {device!r} cannot be used: {what}") from error
