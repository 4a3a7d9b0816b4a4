"""Loads a bundle's runtime for a worker: the one module of the service that imports torch, and that none imports."""

from pathlib import Path

from models.bundle.runtime import Runtime
from service.inference.worker_process import Translator


def load(folder: Path, *, device: str, compute_type: str) -> Translator:
    """The runtime of a bundle, for a process with one thread.

    Raises:
        BundleError: it cannot be served.
    """
    return Runtime.load(folder, device=device, compute_type=compute_type, threads=1)
