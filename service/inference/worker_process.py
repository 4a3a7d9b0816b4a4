"""A worker: a process with one bundle and one thread, which translates sentences from a socket while more arrive.

The HTTP process starts it as `python -m service.inference.worker_process --bundle DIR --socket FD ...`; it ends when
that process closes the connection or dies.
"""

import argparse
import gc
import importlib
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from opentelemetry.trace import Tracer

from models.bundle.manifest import Manifest
from models.errors import AntecedentError, BundleError
from service.inference.desk import Desk, Translator
from service.inference.inbox import Inbox
from service.inference.wire import ORDER, Failure, Greeting, encode
from service.telemetry.logs import configure, get_logger, where
from service.telemetry.tracing import tracing

TRANSLATOR = "service.inference.worker_runtime:load"
OTLP_ENDPOINT = "ANTECEDENT_OTLP_ENDPOINT"
"""Environment variable with the address of the collector of traces; empty if there is none."""
CRASHED = 70
"""Exit status after an unforeseen error (EX_SOFTWARE)."""

_log = get_logger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Load the bundle, send the greeting, and translate until the stream ends; return the exit status."""
    options = _parse(arguments)
    configure("warning")
    try:
        with socket.socket(fileno=options.socket) as connection:
            return _work(options, connection)
    except (BrokenPipeError, ConnectionResetError):
        return 0  # the HTTP process is gone
    except Exception as error:  # noqa: BLE001 - its message may quote a user's text, so Python must not print it
        _log.error("worker_crashed", error=type(error).__name__, where=where(error))
        return CRASHED


def _work(options: argparse.Namespace, connection: socket.socket) -> int:
    gc.disable()  # all that is loaded stays, torch included: collections took a twentieth of the start
    try:
        translator = _load(options)
    except AntecedentError as error:
        connection.sendall(encode(Greeting(Failure(error.code, str(error)))))
        return 2
    gc.freeze()
    gc.enable()
    # Ratio 0: the HTTP process decides which traces are recorded, so none begins here.
    with tracing(os.environ.get(OTLP_ENDPOINT) or None, ratio=0, process="worker") as tracer:
        _serve(translator, connection, tracer)
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
    return parser.parse_args(arguments)


def _load(options: argparse.Namespace) -> Translator:
    module, _, function = options.translator.partition(":")
    if options.fingerprint not in {None, Manifest.load(options.bundle).fingerprint}:
        raise BundleError(f"{options.bundle}: no longer contains the bundle that is served; load it again")
    load = getattr(importlib.import_module(module), function)
    wanted = {"device": options.device, "compute_type": options.compute_type, "tested": options.self_test}
    return cast(Translator, load(options.bundle, **wanted))


def _serve(translator: Translator, connection: socket.socket, tracer: Tracer) -> None:
    desk, inbox = Desk(translator, tracer), Inbox(connection)
    connection.sendall(encode(Greeting()))
    while (frames := inbox.frames(wait=not desk.busy)) is not None:
        for frame in frames:
            desk.take(ORDER.validate_json(frame))
        if (outcomes := desk.work()) is not None:
            connection.sendall(encode(outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
