"""Redis as operators run it, in real processes: as a Cluster, behind Sentinel, behind TLS."""

import asyncio
import os
import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis
import trustme

from service.store.redis_process import find_redis_server
from tests.support.servers import RedisServer, eventually, free_port, hold_port

_SLOTS = 16384
_BUS_OFFSET = 10000
_PATIENT, _IMPATIENT = 60_000, 300
"""Milliseconds of silence after which a sentinel considers a master dead."""


def kill_own_redis(pid: int) -> None:
    """Kill a service's own Redis once everything that it has acknowledged is written to its file.

    With `appendfsync everysec` it holds writes back while the previous fsync is under way, on a slow disk for up to two
    seconds; docs/operations.md says that these are lost.
    """
    command = Path(f"/proc/{pid}/cmdline").read_text()
    (socket,) = re.findall(r"unixsocket:([^\s\0]+)", command)
    with redis.Redis(unix_socket_path=socket) as admin:
        eventually(lambda: admin.info("persistence")["aof_buffer_length"] == 0, "all is in the file")
    os.kill(pid, signal.SIGKILL)


def wait_for_redis(client: redis.Redis) -> None:
    """Wait until a client's Redis, which is starting, answers."""

    def answers() -> bool:
        with suppress(redis.ConnectionError):
            return bool(client.ping())
        return False

    eventually(answers, "Redis answers")


class RedisCluster:
    """Masters without replicas that share the slots equally; one can be killed while the others go on."""

    def __init__(self, folder: Path, size: int = 3) -> None:
        self._folder = folder
        self.masters = [_master(folder / f"master-{number}") for number in range(size)]

    @property
    def url(self) -> str:
        """A URL that names all masters."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{master.port}' for master in self.masters)}"

    def start(self) -> None:
        """Start the masters, share out the slots, and wait until all know of each other."""
        for master in self.masters:
            master.start()
        self.share_out()

    def share_out(self) -> None:
        """Turn the running masters into a Cluster in which each has its share of the slots."""
        share = -(-_SLOTS // len(self.masters))
        for number, master in enumerate(self.masters):
            slots = range(number * share, min((number + 1) * share, _SLOTS))
            _call(master.port, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            _call(master.port, "CLUSTER", "ADDSLOTS", *slots)
            _call(master.port, "CLUSTER", "MEET", "127.0.0.1", self.masters[0].port)
        eventually(self.whole, "the cluster is whole")
        for master in self.masters:  # raised once they have met: none is dead for want of CPU time
            _call(master.port, "CONFIG", "SET", "cluster-node-timeout", 15_000)

    def grow(self) -> None:
        """Add a master, without slots as yet."""
        master = _master(self._folder / f"master-{len(self.masters)}")
        master.start()
        self.masters.append(master)
        _call(master.port, "CLUSTER", "MEET", "127.0.0.1", self.masters[0].port)
        eventually(self.whole, "the new master knows of all")

    def whole(self) -> bool:
        """Whether every master sees all slots served."""
        return all(self._sees_all(master) for master in self.masters)

    def close(self) -> None:
        """Kill them all."""
        for master in self.masters:
            master.kill()

    @contextmanager
    def moving(self, part: str) -> Iterator[Callable[[], None]]:
        """Move the slot of the keys with `part` in their names to another master; yields a call that moves the keys."""
        source, target = self._owner_first(part)
        keys = _call(source.port, "KEYS", f"*{part}*")
        slot = _call(source.port, "CLUSTER", "KEYSLOT", keys[0])
        ids = {server: _call(server.port, "CLUSTER", "MYID") for server in (source, target)}
        _call(target.port, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
        _call(source.port, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])

        def move_keys() -> None:
            found = _call(source.port, "CLUSTER", "GETKEYSINSLOT", slot, 100)
            if found:
                _call(source.port, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *found)

        yield move_keys
        move_keys()
        for server in (target, source):
            _call(server.port, "CLUSTER", "SETSLOT", slot, "NODE", ids[target])

    def _owner_first(self, part: str) -> tuple[RedisServer, RedisServer]:
        (owner,) = [master for master in self.masters if _call(master.port, "KEYS", f"*{part}*")]
        return owner, next(master for master in self.masters if master is not owner)

    def _sees_all(self, master: RedisServer) -> bool:
        state = _info(master.port, "CLUSTER INFO")
        whole = {"cluster_state": "ok", "cluster_slots_ok": str(_SLOTS), "cluster_known_nodes": str(len(self.masters))}
        return whole.items() <= state.items()


class RedisSentinel:
    """A master, its replica, and a sentinel that promotes the replica soon after the master is gone."""

    name = "themaster"

    def __init__(self, folder: Path) -> None:
        # By default a master waits five seconds for more replicas before it sends the first one what it has.
        self.master = _in(folder / "master", "--repl-diskless-sync-delay", "0")
        self.replica = _in(folder / "replica", "--replicaof", "127.0.0.1", str(self.master.port))
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """A URL that names the sentinel and the master."""
        return f"redis+sentinel://127.0.0.1:{self._port}/{self.name}"

    def start(self) -> None:
        """Start all three, and wait until the sentinel knows of the replica."""
        self.master.start()
        self.replica.start()
        eventually(self.in_step, "the replica is in step")
        configuration = self._folder / "sentinel.conf"
        configuration.write_text(
            f"port {self._port}\ndir {self._folder}\nlogfile sentinel.log\n"
            f"sentinel monitor {self.name} 127.0.0.1 {self.master.port} 1\n"
            f"sentinel down-after-milliseconds {self.name} {_PATIENT}\nsentinel failover-timeout {self.name} 2000\n"
        )
        self._process = subprocess.Popen([str(find_redis_server()), str(configuration), "--sentinel"])
        eventually(self._knows_the_replica, "the sentinel knows of the replica")

    def in_step(self) -> bool:
        """Whether the replica has everything that the master has."""
        ours, theirs = (_info(server.port, "INFO", "replication") for server in (self.master, self.replica))
        return theirs.get("master_link_status") == "up" and theirs["slave_repl_offset"] == ours["master_repl_offset"]

    @contextmanager
    def without_the_master(self) -> Iterator[None]:
        """Kill the master and make the sentinel notice soon; else it is patient with a master that gets no CPU time."""
        self.master.kill()
        _call(self._port, "SENTINEL", "SET", self.name, "down-after-milliseconds", _IMPATIENT)
        yield
        _call(self._port, "SENTINEL", "SET", self.name, "down-after-milliseconds", _PATIENT)

    def promoted(self) -> bool:
        """Whether the replica is the master now."""
        return _info(self.replica.port, "INFO", "replication")["role"] == "master"

    def cut_off_the_master(self) -> None:
        """Leave the old master to the clients that are connected to it; without its replica it refuses to write.

        This is a network partition: the sentinel no longer sees the old master, and has promoted the replica.
        """
        _call(self.master.port, "CONFIG", "SET", "min-replicas-to-write", 1)
        _call(self._port, "SENTINEL", "REMOVE", self.name)
        _call(self.replica.port, "REPLICAOF", "NO", "ONE")
        _call(self._port, "SENTINEL", "MONITOR", self.name, "127.0.0.1", self.replica.port, 1)
        eventually(lambda: _info(self.master.port, "INFO", "replication")["connected_slaves"] == "0", "it is alone")

    def close(self) -> None:
        """Kill all three."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self.master.kill()
        self.replica.kill()

    def _knows_the_replica(self) -> bool:
        """Whether it has also asked the replica, as it promotes none that it has heard nothing of."""
        with suppress(redis.RedisError), redis.Redis(port=self._port, decode_responses=True) as client:
            return [one["master-link-status"] for one in client.sentinel_slaves(self.name)] == ["ok"]
        return False


class TlsFront:
    """A TLS terminator, as many Redis servers have: accepts TLS connections and forwards them to a Redis."""

    def __init__(self, behind: int, *, clients: trustme.CA | None = None) -> None:
        self.authority = trustme.CA()
        self.port = free_port()
        self._behind = behind
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.authority.issue_cert("localhost").configure_cert(self._context)
        if clients is not None:
            clients.configure_trust(self._context)
            self._context.verify_mode = ssl.CERT_REQUIRED
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._server: asyncio.Server

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", self.port)

    async def _end(self) -> None:
        self._server.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The handshake is done here and not by the server, so that at the end none is left unfinished.
        with suppress(OSError):
            try:
                await writer.start_tls(self._context)
                redis_reader, redis_writer = await asyncio.open_connection("127.0.0.1", self._behind)
                await asyncio.gather(_copy(reader, redis_writer), _copy(redis_reader, writer))
            finally:
                writer.transport.abort()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.CancelledError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    sink.close()


def _in(folder: Path, *options: str) -> RedisServer:
    folder.mkdir(parents=True)
    return RedisServer(folder, *options)


def _master(folder: Path) -> RedisServer:
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
    master = _in(folder, *options)
    while not _holds(master.port + _BUS_OFFSET):  # where the masters talk to each other
        master = RedisServer(folder, *options)
    return master


def _holds(port: int) -> bool:
    """Reserve a port, if the number is valid and nobody has it."""
    try:
        return hold_port(port) == port
    except (OSError, OverflowError):
        return False


def _call(port: int, *command: Any) -> Any:
    with redis.Redis(port=port, decode_responses=True, protocol=2) as client:
        return client.execute_command(*command)


def _info(port: int, *command: str) -> dict[str, str]:
    reply = _call(port, *command)
    return {name: str(value) for name, value in reply.items()}
