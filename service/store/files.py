"""Files that wait for their translation, and their translations, in Redis until they expire.

Any replica takes the next one, and holds it by a lease, so that one that dies loses nothing: another one begins anew.
"""

import asyncio
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from service.errors import FileUnknownError, StoreUnavailableError, TooManyFilesError
from service.schemas import FileStatus, Strategy
from service.store.commands import Commands, read_script

_QUEUE: Final = "antecedent:files"
"""All files that are not translated yet, by when they came (sorted set)."""
_LOOKED_AT: Final = 1000
"""Of those at a time, the oldest first."""
_KEPT_UNTIL_QUEUED_MS: Final = 60_000
"""How long a file is kept that may not have got into the queue."""
_KEPT_AFTER_READING_MS: Final = 600_000
"""How long a translation that was read can be read again: the answer may have been lost."""
_MOST_OTHERS_LISTED: Final = 1000
"""Beside those that a tenant may have."""

_SCRIPTS: Final = (
    *("keep_file", "queue_file", "claim_file", "renew_file", "settle_file", "forget_file", "delete_file"),
    "read_files",
)


@dataclass(frozen=True, slots=True)
class FileKey:
    """Whose file, and which: ids have 22 characters."""

    tenant: str
    id: str

    @property
    def member(self) -> str:
        """In the queue."""
        return self.id + self.tenant

    @classmethod
    def of_member(cls, member: str) -> "FileKey":
        """The other way round."""
        return cls(member[22:], member[:22])

    def names(self) -> list[str]:
        """The file and its lease; the braces put them, and all of a tenant, into one slot of a Redis Cluster."""
        return [f"antecedent:{{{self.tenant}}}:{part}:{self.id}" for part in ("file", "file-lease")]


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class KeptFile:
    """What there is to know of a file but its content; a later release may say more, and is not read."""

    name: str
    source_lang: str
    target_lang: str
    glossary: str = ""
    """What `service.glossary` has written."""
    model: str | None = None
    strategy: Strategy = "direct"
    beam_size: int | None = None
    secret: str = ""
    """Without which nobody reads it, where it is to be asked for with one."""
    sentences: int = 0
    characters: int = 0
    memory: str = ""
    """What it has of a translation memory that came with it, as `service.texts.memories` has written it."""
    digest: str = ""
    """Of its content, and of that memory."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What has become of a file."""

    file: KeptFile
    status: FileStatus
    sentences: int
    """That are translated."""
    started: int
    """When the last attempt began, in seconds since 1970; 0 before the first."""
    problem: str = ""
    """What was wrong, in an error, as `service.files.problems` has written it."""

    @property
    def settled(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.status in {"done", "error"}


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    """A file to translate, its content, and the token by which it is held."""

    key: FileKey
    file: KeptFile | None
    """None where it was kept by a release that says other things of it."""
    content: bytes
    attempt: int
    problem: str
    """Why the last attempt failed, where that is known; likewise."""
    token: str


_KEPT = TypeAdapter(KeptFile)


class Files:
    """Those of all tenants, each of which has at most so many, and so many bytes of them.

    All operations raise StoreUnavailableError while Redis is away.
    """

    def __init__(
        self, commands: Commands, *, ttl_seconds: int, lease_seconds: float, most: int, most_bytes: int
    ) -> None:
        self._commands = commands
        self._ttl_ms = ttl_seconds * 1000
        self._lease_ms = int(lease_seconds * 1000)
        self._most = most
        self._most_bytes = most_bytes
        self.news = asyncio.Event()
        """Set when one more is kept by this replica; whoever looks for files clears it."""
        self._scripts = {name: read_script("service.store", name) for name in _SCRIPTS}

    async def check_room(self, key: FileKey, size: int) -> None:
        """Say that a tenant has as many as it may, before anything is done about one more of so many bytes.

        Raises:
            TooManyFilesError: it has, and this is none of them.
        """
        await self._keep(key, "ask", size)

    async def keep(self, key: FileKey, file: KeptFile, content: bytes) -> None:
        """Keep one more, for any replica to translate.

        It is kept for long only when it is in the queue: one that does not get there, since Redis or this replica has
        gone in between, is soon none of its tenant's. One that is there already stays as it is.

        Raises:
            TooManyFilesError: the tenant has as many as it may.
        """
        about, size = orjson.dumps(file).decode(), len(content) + len(file.memory.encode())
        await self._keep(key, "keep", size, about, _written(content), min(_KEPT_UNTIL_QUEUED_MS, self._ttl_ms))
        await self._enqueue(key)
        if await self._keep(key, "stay", size) == -1:
            raise StoreUnavailableError  # a Redis that has forgotten it meanwhile
        self.news.set()

    async def _keep(
        self, key: FileKey, how: str, size: int, about: str = "", content: str = "", ttl_ms: int | None = None
    ) -> int:
        ttls = self._ttl_ms if ttl_ms is None else ttl_ms, self._ttl_ms
        args = key.id, how, max(1, size), about, content, *ttls, self._most, self._most_bytes
        found: int = await self._run("keep_file", [key.names()[0], *_of_tenant(key.tenant)], *args)
        if found in {0, -2}:
            raise TooManyFilesError(f"{self._most_bytes} bytes of files" if found else f"{self._most} files")
        return found

    async def state(self, key: FileKey) -> FileState:
        """What has become of one.

        Raises:
            FileUnknownError: there is none of this id.
        """
        (state,) = await self._states([key])
        if state is None:
            raise FileUnknownError
        return state

    async def all(self, tenant: str) -> list[tuple[FileKey, FileState]]:
        """What has become of each of a tenant's, in the order in which they expire: the oldest first, after those read.

        Of very many that were read or have failed, the last.
        """
        name, _ = _of_tenant(tenant)
        most = self._most + _MOST_OTHERS_LISTED
        ids: list[Any] = await self._commands.run("list_files", lambda redis: redis.zrange(name, -most, -1), key=name)
        keys = [FileKey(tenant, file_id) for file_id in ids]
        states = await self._states(keys) if keys else []
        return [(key, state) for key, state in zip(keys, states, strict=True) if state is not None]

    async def _states(self, keys: Sequence[FileKey]) -> list[FileState | None]:
        """Of files of one tenant, None for those that are not there."""
        found: list[list[Any]] = await self._run("read_files", [key.names()[0] for key in keys])
        return [None if about is None else _state(about, *more) for about, *more in found]

    async def translation(self, key: FileKey) -> bytes:
        """That of one that is done.

        Raises:
            FileUnknownError: there is none of this id.
        """
        name, _ = key.names()
        found = await self._commands.run("read_result", lambda redis: redis.hget(name, "result"), key=name)
        if found is None:
            raise FileUnknownError
        return b64decode(found)

    async def forget_soon(self, key: FileKey) -> None:
        """Let a file that was read make room for others."""
        await self._run("forget_file", [key.names()[0], *_of_tenant(key.tenant)], key.id, _KEPT_AFTER_READING_MS)

    async def delete(self, key: FileKey) -> None:
        """Forget a file at once; whoever translates it notices when its lease is to be renewed."""
        await self._run("delete_file", [*key.names(), *_of_tenant(key.tenant)], key.id)

    async def claim(
        self, token: str, held: Collection[FileKey] = (), others: Collection[FileKey] = ()
    ) -> ClaimedFile | None:
        """Take the oldest file that nobody has, of the tenant of whom this replica holds the fewest already.

        It is none of those that are `held`, nor of those that are left to `others`.
        """
        running, first = Counter(key.tenant for key in held), 0
        while waiting := await self._waiting(first):
            keys = [key for key in waiting if key not in held and key not in others]
            if (claimed := await self._claim_one(token, keys, running)) is not None:
                return claimed
            first += len(waiting)
        return None

    async def _waiting(self, first: int) -> list[FileKey]:
        """Some of the queue, from one on: all of the oldest may be none that this replica can take."""
        last = first + _LOOKED_AT - 1
        found: list[Any] = await self._commands.run(
            "waiting_files", lambda redis: redis.zrange(_QUEUE, first, last), key=_QUEUE
        )
        return [FileKey.of_member(member) for member in found]

    async def _claim_one(self, token: str, keys: Sequence[FileKey], running: Counter[str]) -> ClaimedFile | None:
        for key in sorted(keys, key=lambda key: running[key.tenant]):
            found = await self._run("claim_file", key.names(), token, self._lease_ms)
            if found == -1:  # it was settled, or has expired
                await self._leave_queue(key)
            elif found != 0:
                about, content, attempt, problem = found
                return ClaimedFile(key, _kept(about), b64decode(content), int(attempt), problem, token)
        return None

    async def renew(self, claimed: ClaimedFile, sentences: int) -> bool:
        """Hold on to a file of which so many sentences are translated; whether it is still held."""
        return bool(await self._run("renew_file", claimed.key.names(), claimed.token, self._lease_ms, sentences))

    async def finish(self, claimed: ClaimedFile, translation: bytes) -> None:
        """Keep the translation of a file."""
        await self._settle(claimed, "done", _written(translation))

    async def fail(self, claimed: ClaimedFile, problem: str) -> None:
        """Say what was wrong with a file, or with us."""
        await self._settle(claimed, "error", problem)

    async def release(self, claimed: ClaimedFile, *, counts: bool, problem: str = "") -> None:
        """Leave a file to whoever takes it next, after a problem; whether this was an attempt."""
        await self._settle(claimed, "queued", problem, counts=counts)

    async def _settle(self, claimed: ClaimedFile, status: FileStatus, result: str, *, counts: bool = True) -> None:
        _, sizes = _of_tenant(claimed.key.tenant)
        keys = [*claimed.key.names(), sizes]
        await self._run("settle_file", keys, claimed.token, status, result, int(not counts), claimed.key.id)

    async def _enqueue(self, key: FileKey) -> None:
        await self._run("queue_file", [_QUEUE], key.member)

    async def _leave_queue(self, key: FileKey) -> None:
        """Take out of the queue what was settled or is gone, unless it was sent again meanwhile."""
        await self._commands.run("unqueue_file", lambda redis: redis.zrem(_QUEUE, key.member), key=_QUEUE)
        name, _ = key.names()
        status = await self._commands.run("read_status", lambda redis: redis.hget(name, "status"), key=name)
        if status in {"queued", "translating"}:
            await self._enqueue(key)

    async def _run(self, name: str, keys: list[str], *args: object) -> Any:  # noqa: ANN401 - what Lua returns
        return await self._commands.evaluate(name, self._scripts[name], keys, args)


def _written(content: bytes) -> str:
    """Bytes as they are kept: Redis is read as text."""
    return b64encode(content).decode()


def _kept(about: str) -> KeptFile | None:
    try:
        return _KEPT.validate_json(about)
    except ValidationError:
        return None


def _state(about: str, status: FileStatus, sentences: str, started: str | None, problem: str) -> FileState | None:
    file = _kept(about)
    return None if file is None else FileState(file, status, int(sentences), int(started or 0), problem)


def _of_tenant(tenant: str) -> list[str]:
    """All of its files, and their bytes."""
    return [f"antecedent:{{{tenant}}}:{part}" for part in ("files", "file-bytes")]
