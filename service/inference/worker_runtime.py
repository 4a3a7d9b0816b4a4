"""Loads a bundle's runtime for a worker: the only module of the service that imports torch; no other imports it."""

from pathlib import Path

from models.engine.runtime import Runtime
from models.engine.self_test import EXACT, ROUNDED, self_test
from models.errors import SelfTestError
from service.inference.desk import Translator


def load(folder: Path, *, device: str, compute_type: str, tested: bool) -> Translator:
    """Load the runtime of a bundle for a process with one thread; with `tested`, run its self-test, too.

    Raises:
        BundleError: it cannot be served.
    """
    runtime = Runtime.load(folder, device=device, compute_type=compute_type, threads=1)
    if tested:
        exact = device == "cpu" and compute_type != "bfloat16"
        try:
            self_test(runtime, tolerance=EXACT if exact else ROUNDED)
        except SelfTestError as error:
            raise SelfTestError(f"{folder}: has failed its self-test: {error}") from error
    return runtime
