"""`python -m service`: the HTTP service. Settings are environment variables; see docs/configuration.md."""

import argparse
import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import uvicorn
import uvloop
from fastapi import FastAPI
from opentelemetry.trace import Tracer

from models.errors import AntecedentError
from service.app import create_app
from service.errors import StartupError
from service.http.connections import STUCK_SECONDS, HttpProtocol
from service.http.open_files import allow_open_files
from service.http.stream_protocol import StreamProtocol
from service.inference.worker_process import TRANSLATOR
from service.routes.dependencies import Services
from service.settings import Settings, load_settings
from service.standard_output import print_line
from service.telemetry import logs
from service.telemetry.tracing import NO_TRACER, tracing

_KEEP_ALIVE_SECONDS = 75
"""Longer than load balancers keep an idle connection, so that the closing is theirs and no request falls between."""
_SLOW_START_SECONDS = 5
"""After which the log says that there is nothing wrong: the first time on a machine the kernels are compiled."""
_SLOW_CLIENT_SECONDS = 5
"""After everything has been answered, how long clients may take to read it."""

_BUSY_SECONDS = 5
"""After all has ended, how long threads may still be busy, and traces on their way."""


class Server(uvicorn.Server):
    """uvicorn, with signals left to `serve`, which ends with status 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def serve(settings: Settings, *, translator: str = TRANSLATOR, tracer: Tracer = NO_TRACER) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then accept nothing more, finish what is in flight, and return.

    Raises:
        AntecedentError: the service cannot start.
    """
    asyncio.get_running_loop().set_exception_handler(logs.log_unretrieved)
    with _bind(settings.host, settings.port) as listener:
        app = create_app(settings, translator=translator, tracer=tracer)
        server = Server(_configuration(app, settings))
        told_to_end = asyncio.Event()
        _on_signal(partial(_end, server, told_to_end, asyncio.current_task()))
        log = logs.get_logger(__name__)
        slow = asyncio.get_running_loop().call_later(_SLOW_START_SECONDS, log.info, "still_loading_models")
        async with app.router.lifespan_context(app):  # here: uvicorn would print a traceback
            slow.cancel()
            listener.listen()  # whoever reads that it serves may connect at once; uvicorn accepts in a moment
            _announce(app, settings.host, listener.getsockname()[1])
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            ending = asyncio.create_task(told_to_end.wait())
            await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
            await _drain(app, server, serving, settings.drain_seconds)


async def _drain(app: FastAPI, server: Server, serving: asyncio.Task[None], seconds: float) -> None:
    """Let requests in flight finish; what has not after a while is answered with an error that a client may retry."""
    services: Services = app.state.services
    services.draining = True
    services.streams.drain()
    server.should_exit = True
    finished, _ = await asyncio.wait({serving}, timeout=seconds)
    if not finished:
        services.sessions.close()
        await services.models.abandon()
    await serving


def main(*, translator: str = TRANSLATOR) -> int:
    """Read the settings and serve; returns the exit status: 0, or 2 if the service cannot start."""
    gc.freeze()  # what was imported stays: looking through it for garbage stops everybody for a twentieth of a second
    try:
        settings = load_settings()
        logs.configure(settings.log_level)
        allow_open_files(settings.stream_limit + settings.redis_connections)
        with (
            tracing(settings.otlp_endpoint, ratio=settings.trace_sample_ratio, process="http") as tracer,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(serve(settings, translator=translator, tracer=tracer))
            _end_soon()
    except AntecedentError as error:
        print(f"antecedent: {error}", file=sys.stderr)
        return 2
    except asyncio.CancelledError:
        return 0  # told to end before it had started
    return 0


def _configuration(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=cast(Any, partial(HttpProtocol, unread_seconds=settings.stream_idle_seconds + STUCK_SECONDS)),
        ws=StreamProtocol,
        ws_max_size=settings.stream_message_bytes,
        ws_ping_interval=settings.stream_ping_seconds,
        ws_ping_timeout=settings.stream_ping_seconds,
        ws_per_message_deflate=False,  # sentences are too short to gain by it
        lifespan="off",
        log_config=None,
        log_level="warning",  # below that it logs the paths of WebSockets, with the ids of sessions
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.drain_seconds + _SLOW_CLIENT_SECONDS,
    )


def _on_signal(end: Callable[[], None]) -> None:
    """Have the signals end the service that are to, also that of a terminal which is closed, unless it is ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as after nohup
            asyncio.get_running_loop().add_signal_handler(number, end)


def _end(server: Server, told_to_end: asyncio.Event, starting: asyncio.Task[None] | None) -> None:
    if server.started or starting is None:
        told_to_end.set()
    else:
        starting.cancel()


def _end_soon() -> None:
    """End without the threads that are busy on a text which nobody waits for any more: Python would wait for them."""
    ending = threading.Timer(_BUSY_SECONDS, os._exit, [0])
    ending.daemon = True
    ending.start()


def _bind(host: str, port: int) -> socket.socket:
    """Take the port before the models are loaded: a port in use is known at once."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Its connections inherit this: a client that loses its power or its network ends none of them, and nothing but a
    # stream asks whether it is still there.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StartupError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return listener


def _announce(app: FastAPI, host: str, port: int) -> None:
    models = ", ".join(model.name for model in app.state.services.models.catalogue.models)
    address = f"[{host}]" if ":" in host else host
    with suppress(OSError):  # keeps nobody from being served
        print_line(f"Antecedent serves {models} at http://{address}:{port} (a page to try it; its API: /docs)")


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m service",
        description="Start the HTTP service. It takes no arguments: settings are environment variables, ANTECEDENT_...,"
        " all of which are in docs/configuration.md.",
    ).parse_args()
    sys.exit(main())
