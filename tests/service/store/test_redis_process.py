"""The service's own Redis, as a real process."""

import asyncio
import os
import resource
import signal
import stat
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from redis.asyncio import Redis

from service.errors import StartupError, StoreUnavailableError
from service.store import redis_process
from service.store.commands import Commands
from service.store.connection import RedisClient, connect
from service.store.redis_process import find_redis_server, own_redis
from service.telemetry.metrics import Metrics
from tests.support.redis_servers import kill_own_redis

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from service.store.redis_process import own_redis
from service.telemetry.metrics import Metrics

async def be_killed():
    async with own_redis(Path(sys.argv[1]), Metrics()):
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(be_killed())
"""
"""A service that is killed before it can clean up."""


async def _answers(url: str) -> bool:
    async with connect(url, 5) as client:
        try:
            return bool(await client.ping())
        except OSError:
            return False
        except redis_process.RedisError:
            return False


async def _accepted(commands: Commands, write: Callable[[RedisClient], Awaitable[object]]) -> bool:
    try:
        await commands.run("write", write)
    except StoreUnavailableError:
        return False
    return True


async def test_what_was_written_outlives_the_service(tmp_path: Path) -> None:
    """The next service with the same folder finds what the last one wrote."""
    for expected in (None, "kept"):
        async with own_redis(tmp_path / "new" / "folder", Metrics()) as url, connect(url, 5) as client:
            assert await client.get("key") == expected
            await client.set("key", "kept")


async def test_file_that_takes_long_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service waits for its Redis however long loading takes; if it gave up, it could never start again."""
    async with own_redis(tmp_path / "data", Metrics()) as url, connect(url, 60) as client, client.pipeline() as pipe:
        for number in range(26_000):
            pipe.set(f"key {number}", "kept")
        await pipe.execute()
    slow = tmp_path / "redis-server"
    often = "--loading-process-events-interval-bytes 16384"  # it is not silent for long while it loads
    slow.write_text(f'#!/bin/sh\nexec "{find_redis_server()}" "$@" --key-load-delay 100 {often}\n')  # microseconds
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(redis_process, "_START_SECONDS", 2.5)  # less than loading takes
    async with own_redis(tmp_path / "data", Metrics()) as url, connect(url, 60) as client:
        assert await client.dbsize() == 26_000


async def test_nobody_else_can_read_what_it_keeps(tmp_path: Path) -> None:
    """Its file, which holds users' texts, is private even in an existing folder that everybody may enter."""
    tmp_path.chmod(0o755)
    async with own_redis(tmp_path, Metrics()) as url, connect(url, 5) as client:
        await client.set("key", "kept")
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert any(b"kept" in file.read_bytes() for file in files)
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


async def test_killed_redis_is_started_again_with_its_data(tmp_path: Path) -> None:
    """A SIGKILL loses nothing, and the same URL works again."""
    metrics = Metrics()
    async with own_redis(tmp_path, metrics) as url:
        async with connect(url, 5) as client:
            await client.set("key", "kept")
            pid = (await client.info("server"))["process_id"]
        kill_own_redis(pid)
        async with asyncio.timeout(60):
            while not await _answers(url):
                await asyncio.sleep(0.01)
        async with connect(url, 5) as client:
            assert await client.get("key") == "kept"
    assert b"antecedent_redis_restarts_total 1.0" in metrics.render()


async def test_disk_that_is_full(tmp_path: Path) -> None:
    """While the file cannot grow, writes are refused but reads work; with room again, writes resume."""
    write = partial(Redis.set, name="key", value="x" * 1000)
    async with own_redis(tmp_path, Metrics()) as url, connect(url, 5) as client:
        commands = Commands(client, Metrics())
        await client.set("key", "x" * 100_000)
        pid = (await client.info("server"))["process_id"]
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        while await _accepted(commands, write):
            pass
        assert await client.get("key") is not None
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        async with asyncio.timeout(60):
            while not await _accepted(commands, write):
                await asyncio.sleep(0.05)


async def test_memory_that_is_full(tmp_path: Path) -> None:
    """When its memory is used up, it refuses writes rather than forgetting anything to make room."""
    async with own_redis(tmp_path, Metrics(), max_memory_mb=2) as url, connect(url, 5) as client:
        commands = Commands(client, Metrics())
        taken = 0
        while await _accepted(commands, partial(Redis.set, name=f"key-{taken}", value="x" * 100_000)):
            taken += 1
        assert await client.dbsize() == taken
        assert await client.get("key-0") == "x" * 100_000


async def test_it_ends_with_the_service(tmp_path: Path) -> None:
    """After the `with` block nothing listens any more."""
    async with own_redis(tmp_path, Metrics()) as url:
        assert await _answers(url)
    assert not await _answers(url)


async def test_what_a_killed_service_leaves_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next service with the same folder removes the killed one's socket folder, but not those of others."""
    with tempfile.TemporaryDirectory() as short:  # a socket's path has at most 107 bytes
        sockets, data = Path(short) / "tmp", Path(short) / "data"
        sockets.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(sockets))
        environment = os.environ | {"TMPDIR": str(sockets)}
        killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(data), env=environment)
        assert await killed.wait() == -signal.SIGKILL
        assert len(list(sockets.iterdir())) == 1
        async with own_redis(Path(short) / "other", Metrics()):
            assert len(list(sockets.iterdir())) == 2
            async with own_redis(data, Metrics()) as url:
                assert await _answers(url)
                assert len(list(sockets.iterdir())) == 2
        assert list(sockets.iterdir()) == []


async def test_only_this_user_can_connect(tmp_path: Path) -> None:
    """Other users have no access to the socket and the folders."""
    async with own_redis(tmp_path / "redis", Metrics()) as url:
        socket = Path(url.removeprefix("unix://"))
        for path in (socket, socket.parent, tmp_path / "redis"):
            assert path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0


async def test_folder_has_one_service_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second service is told to use another folder, instead of writing to the same file."""
    monkeypatch.setattr(redis_process, "_STOP_SECONDS", 0.1)
    async with own_redis(tmp_path, Metrics()):
        with pytest.raises(StartupError, match="ANTECEDENT_REDIS_FOLDER"):
            async with own_redis(tmp_path, Metrics()):
                pass


async def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """If the folder is a file, the error names it."""
    (tmp_path / "file").touch()
    with pytest.raises(StartupError, match="file"):
        async with own_redis(tmp_path / "file", Metrics()):
            pass


async def test_disk_of_temporary_files_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is no room for the socket, the error says so."""
    monkeypatch.setattr(tempfile, "tempdir", None)  # makes Python search again for a writable folder
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(StartupError, match="No usable temporary directory"):
            async with own_redis(tmp_path, Metrics()):
                pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_redis_that_does_not_come_up_is_said_so(tmp_path: Path) -> None:
    """With a damaged append-only file the start fails, and the error says where Redis's own log is."""
    (tmp_path / "appendonly.aof").write_bytes(b"this is no append-only file\r\n")
    with pytest.raises(StartupError, match=r"redis\.log"):
        async with own_redis(tmp_path, Metrics()):
            pass


def test_redis_on_the_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed Redis is preferred to the bundled one; with neither, the error names an alternative."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_redis_server().is_file()
    (tmp_path / "redis-server").touch(mode=0o755)
    assert find_redis_server() == tmp_path / "redis-server"
    (tmp_path / "redis-server").unlink()
    monkeypatch.setattr(redis_process, "files", lambda _: None)
    with pytest.raises(StartupError, match="ANTECEDENT_REDIS_URL"):
        find_redis_server()
