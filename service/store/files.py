"""Files that wait for their translation, and their translations, in Redis until they expire.

Any replica takes the next one, and holds it by a lease, so that one that dies loses nothing: another one begins anew.
"""

import asyncio
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from pydantic import TypeAdapter, ValidationError

from service.errors import FileUnknownError, StoreUnavailableError, TooManyFilesError
from service.schemas import FileStatus, Strategy
from service.store.commands import Commands, read_script

_QUEUE: Final = "antecedent:files"
"""All files that are not translated yet, by when they came (sorted set)."""
_LOOKED_AT: Final = 1000
"""Of those, the oldest."""
_KEPT_UNTIL_QUEUED_MS: Final = 60_000
"""How long a file is kept that may not have got into the queue."""
_KEPT_AFTER_READING_MS: Final = 600_000
"""How long a translation that was read can be read again: the answer may have been lost."""


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


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What there is to know of a file but its content."""

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
    digest: str = ""
    """Of its content."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What has become of a file."""

    file: KeptFile
    status: FileStatus
    sentences: int
    """That are translated."""
    started: int
    """When the last attempt began, in seconds since 1970; 0 before the first."""
    translation: bytes = b""
    """Once it is done."""
    problem: str = ""
    """What was wrong, in an error."""

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
    """Why the last attempt failed, where that is known."""
    token: str


_KEPT = TypeAdapter(KeptFile)


class Files:
    """Those of all tenants, each of which has at most so many.

    All operations raise StoreUnavailableError while Redis is away.
    """

    def __init__(self, commands: Commands, *, ttl_seconds: int, lease_seconds: float, most: int) -> None:
        self._commands = commands
        self._ttl_ms = ttl_seconds * 1000
        self._lease_ms = int(lease_seconds * 1000)
        self._most = most
        self.news = asyncio.Event()
        """Set when one more is kept by this replica; whoever looks for files clears it."""
        scripts = ("keep_file", "claim_file", "renew_file", "settle_file", "forget_file", "delete_file")
        self._scripts = {name: read_script("service.store", name) for name in scripts}

    async def check_room(self, key: FileKey) -> None:
        """Say that a tenant has as many as it may, before anything is done about one more.

        Raises:
            TooManyFilesError: it has, and this is none of them.
        """
        name = _of_tenant(key.tenant)
        now = f"({time.time() * 1000:.0f}"
        there = await self._commands.run("count_files", lambda redis: redis.zcount(name, now, "+inf"), key=name)
        if there < self._most:
            return
        if await self._commands.run("find_file", lambda redis: redis.zscore(name, key.id), key=name) is None:
            raise TooManyFilesError(self._most)

    async def keep(self, key: FileKey, file: KeptFile, content: bytes) -> None:
        """Keep one more, for any replica to translate.

        It is kept for long only when it is in the queue: one that does not get there, since Redis or this replica has
        gone in between, is soon none of its tenant's.

        Raises:
            TooManyFilesError: the tenant has as many as it may.
        """
        keys, limits = [key.names()[0], _of_tenant(key.tenant)], (self._ttl_ms, self._most)
        until_queued = min(_KEPT_UNTIL_QUEUED_MS, self._ttl_ms)
        new = key.id, orjson.dumps(file), _written(content)
        if not await self._run("keep_file", keys, *new, until_queued, *limits):
            raise TooManyFilesError(self._most)
        place = {key.member: time.time()}
        await self._commands.run("queue_file", lambda redis: redis.zadd(_QUEUE, place, nx=True), key=_QUEUE)
        if await self._run("keep_file", keys, key.id, "", "", self._ttl_ms, *limits) == -1:
            raise StoreUnavailableError  # a Redis that has forgotten it meanwhile
        self.news.set()

    async def state(self, key: FileKey) -> FileState:
        """What has become of one.

        Raises:
            FileUnknownError: there is none of this id.
        """
        name, _ = key.names()
        members = ["file", "status", "sentences", "started", "result"]
        found: list[Any] = await self._commands.run("read_file", lambda redis: redis.hmget(name, members), key=name)
        if found[0] is None or (file := _kept(found[0])) is None:
            raise FileUnknownError
        state = FileState(file, found[1], int(found[2]), int(found[3] or 0))
        result = found[4] or ""
        if state.status == "done":
            return replace(state, translation=b64decode(result))
        return replace(state, problem=result)

    async def forget_soon(self, key: FileKey) -> None:
        """Let a file that was read make room for others."""
        await self._run("forget_file", [key.names()[0], _of_tenant(key.tenant)], key.id, _KEPT_AFTER_READING_MS)

    async def delete(self, key: FileKey) -> None:
        """Forget a file at once; whoever translates it notices when its lease is to be renewed."""
        await self._run("delete_file", [*key.names(), _of_tenant(key.tenant)], key.id)

    async def claim(
        self, token: str, held: Collection[FileKey] = (), others: Collection[FileKey] = ()
    ) -> ClaimedFile | None:
        """Take the oldest file that nobody has, of the tenant of whom this replica holds the fewest already.

        It is none of those that are `held`, nor of those that are left to `others`.
        """
        running = Counter(key.tenant for key in held)
        waiting: list[Any] = await self._commands.run(
            "waiting_files", lambda redis: redis.zrange(_QUEUE, 0, _LOOKED_AT - 1), key=_QUEUE
        )
        keys = [key for key in map(FileKey.of_member, waiting) if key not in held and key not in others]
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
        keys = [*claimed.key.names(), _of_tenant(claimed.key.tenant)]
        await self._run("settle_file", keys, claimed.token, status, result, int(not counts), claimed.key.id)

    async def _leave_queue(self, key: FileKey) -> None:
        await self._commands.run("unqueue_file", lambda redis: redis.zrem(_QUEUE, key.member), key=_QUEUE)

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


def _of_tenant(tenant: str) -> str:
    return f"antecedent:{{{tenant}}}:files"
