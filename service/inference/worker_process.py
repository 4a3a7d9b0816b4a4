"""A worker: a process with one bundle and one thread that translates the batches that come over a socket.

Started by the HTTP process as `python -m service.inference.worker_process --bundle DIR --socket FD ...`; ends when that
process closes the connection or dies.
"""

import argparse
import importlib
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from opentelemetry.trace import Tracer

from models.bundle.manifest import Manifest
from models.bundle.requests import CacheUse, Options, Translation, TranslationRequest
from models.errors import AntecedentError, BundleError, RequestError
from service.inference.wire import BATCH, HEADER, Batch, Failure, Greeting, Outcomes, encode
from service.telemetry.logs import configure, get_logger, where
from service.telemetry.tracing import context_of, span, tracing

TRANSLATOR = "service.inference.worker_runtime:load"
CRASHED = 70
"""Exit status after an error that nobody has foreseen (EX_SOFTWARE)."""

_log = get_logger(__name__)


class Translator(Protocol):
    """What a worker drives: `models.bundle.runtime.Runtime`."""

    def check(self, request: TranslationRequest, options: Options) -> None:
        """Raise RequestError for what cannot be translated."""

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """A translation for each request, in their order."""

    def cache_use(self) -> CacheUse:
        """How often states of the context were kept from an earlier request, so far."""


def main(arguments: Sequence[str]) -> int:
    """Load the bundle, greet, and translate until the stream ends; returns the exit status."""
    options = _parse(arguments)
    configure("warning")
    try:
        # Closing flushes, so it too finds out that nobody reads any more.
        with socket.socket(fileno=options.socket) as connection, connection.makefile("rwb") as stream:
            return _work(options, cast(BinaryIO, stream))
    except (BrokenPipeError, ConnectionResetError):
        return 0  # the HTTP process is gone
    except Exception as error:  # noqa: BLE001 - its message may quote a user's text, so Python must not print it
        _log.error("worker_crashed", error=type(error).__name__, where=where(error))
        return CRASHED


def _work(options: argparse.Namespace, stream: BinaryIO) -> int:
    try:
        translator = _load(options)
    except AntecedentError as error:
        _send(stream, Greeting(Failure(error.code, str(error))))
        return 2
    # Whether a trace is recorded has been decided where it began, so none begins here.
    with tracing(options.otlp_endpoint, ratio=0, process="worker") as tracer:
        _serve(translator, stream, tracer)
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m service.inference.worker_process", description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--fingerprint", help="of the bundle; another one is refused")
    parser.add_argument("--self-test", action="store_true", help="refuse a bundle that does not translate as it should")
    parser.add_argument("--socket", type=int, required=True, help="inherited file descriptor")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compute-type", default="auto")
    parser.add_argument("--translator", default=TRANSLATOR, help="module:function that loads a bundle")
    parser.add_argument("--otlp-endpoint", help="collector of traces")
    return parser.parse_args(arguments)


def _load(options: argparse.Namespace) -> Translator:
    module, _, function = options.translator.partition(":")
    if options.fingerprint not in {None, Manifest.load(options.bundle).fingerprint}:
        raise BundleError(f"{options.bundle}: holds another bundle now than the one that is served; load it anew")
    load = getattr(importlib.import_module(module), function)
    wanted = {"device": options.device, "compute_type": options.compute_type, "tested": options.self_test}
    return cast(Translator, load(options.bundle, **wanted))


def _serve(translator: Translator, stream: BinaryIO, tracer: Tracer) -> None:
    _send(stream, Greeting())
    while header := stream.read(HEADER.size):
        batch = BATCH.validate_json(stream.read(HEADER.unpack(header)[0]))
        began, used = time.perf_counter(), translator.cache_use()
        with span(tracer, "translate", parent=context_of(batch.traceparent)):
            results = _translate(translator, batch)
        _send(stream, Outcomes(results, time.perf_counter() - began, translator.cache_use() - used))


def _translate(translator: Translator, batch: Batch) -> tuple[Translation | Failure, ...]:
    """Translate together those that can be translated; what is wrong with one does not touch the others."""
    failures = [_failure(translator, request, batch.options) for request in batch.requests]
    sound = [request for request, failure in zip(batch.requests, failures, strict=True) if failure is None]
    translations = iter(translator.translate(sound, batch.options))
    return tuple(next(translations) if failure is None else failure for failure in failures)


def _failure(translator: Translator, request: TranslationRequest, options: Options) -> Failure | None:
    try:
        translator.check(request, options)
    except RequestError as error:
        return Failure(error.code, str(error))
    return None


def _send(stream: BinaryIO, message: Greeting | Outcomes) -> None:
    stream.write(encode(message))
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
