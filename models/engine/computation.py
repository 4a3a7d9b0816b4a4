"""In which numbers a model computes, and on which device."""

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
    """The type that is meant: `auto` is bfloat16 on a GPU, and int8 on a CPU, that compute in it, else float32.

    Raises:
        BundleError: there is no such device or type, or the device does not offer it.
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
    """The type that CTranslate2 is to compute in: the one asked for, or float32 where the device does not offer it.

    On an x86 CPU without VNNI it adds products of 8-bit integers in 16 bits, which overflow: that is no int8.
    """
    place = torch.device(device)
    if place.type == "cuda":
        _load_cublas()
    offered = ctranslate2.get_supported_compute_types(place.type, place.index or 0)
    overflows = place.type == "cpu" and compute_type.startswith("int8") and not _adds_products_exactly()
    return compute_type if compute_type in offered and not overflows else "float32"


def _load_cublas() -> None:
    """Have the cuBLAS of the extra `cuda` at hand, where it is installed: CTranslate2 asks for it by its name alone."""
    found = importlib.util.find_spec("nvidia")
    for folder in [] if found is None else found.submodule_search_locations or []:
        for name in ("libcublasLt.so.12", "libcublas.so.12"):
            with suppress(OSError):
                ctypes.CDLL(str(Path(folder) / "cublas" / "lib" / name), mode=ctypes.RTLD_GLOBAL)


def _adds_products_exactly() -> bool:
    able = torch.cpu.get_capabilities()
    return able.get("architecture") != "x86_64" or bool(able.get("avx512_vnni") or able.get("avx_vnni"))


def place(model: nn.Module, device: str, compute_type: str, threads: int, *, to_serve: bool) -> None:
    """Bring a model to a device, in a type of `resolve_compute_type`, and make this process ready to compute with it.

    Args:
        model: in evaluation mode.
        device: a name of torch's.
        compute_type: int8 only if it is to serve.
        threads: that compute on a CPU, of torch in this whole process.
        to_serve: whether it is only decoded with from here on, and made ready for that.

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
    """A device that there may be.

    Raises:
        BundleError: it is none that models are translated with, whatever torch knows.
    """
    with suppress(RuntimeError):
        found = torch.device(device)
        if found.type in {"cpu", "cuda"}:
            return found
    raise BundleError(f"there is no device {device!r}; use cpu, cuda or cuda:N")


@contextmanager
def _using(device: str) -> Iterator[None]:
    """Around what fails where there is no such device.

    Raises:
        BundleError: it has failed.
    """
    try:
        yield
    except (RuntimeError, AssertionError) as error:  # torch's ways to say that there is no such device
        what = str(error).partition("\n")[0]
        raise BundleError(f"device {device!r} cannot be used: {what}") from error
