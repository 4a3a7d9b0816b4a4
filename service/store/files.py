"""Files that wait for their translation, and their translations, in Redis until they expire.

Any replica may take the next file. It holds the file by a lease, so that nothing is lost if it dies: another one starts
the file again.
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
from service.schemas.fields import Strategy
from service.schemas.files import FileStatus
from service.store.commands import Commands, read_script

_QUEUE: Final = "antecedent:files"
"""All files that are not translated yet, by their time of arrival (sorted set)."""
_LOOKED_AT: Final = 1000
"""How many files of the queue are looked at in one go, oldest first."""
_KEPT_UNTIL_QUEUED_MS: Final = 60_000
"""How long a file is kept before it is known to be in the queue."""
_KEPT_AFTER_READING_MS: Final = 600_000
"""How long a translation that was read can be read again, as the response may have been lost."""
_MOST_OTHERS_LISTED: Final = 1000
"""How many files are listed at most beyond those that a tenant may have."""

_SCRIPTS: Final = (
    *("keep_file", "queue_file", "claim_file", "renew_file", "settle_file", "forget_file", "delete_file"),
    "read_files",
)


@dataclass(frozen=True, slots=True)
class FileKey:
    """Identifies a file by its tenant and its id, which has 22 characters."""

    tenant: str
    id: str

    @property
    def member(self) -> str:
        """What the file is called in the queue."""
        return self.id + self.tenant

    @classmethod
    def of_member(cls, member: str) -> "FileKey":
        """Return the key of a member of the queue, the inverse of `member`."""
        return cls(member[22:], member[:22])

    def names(self) -> list[str]:
        """Return the names of the file and its lease; the braces put all files of a tenant into one Cluster slot."""
        return [f"antecedent:{{{self.tenant}}}:{part}:{self.id}" for part in ("file", "file-lease")]


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class KeptFile:
    """What is known of a file, except its content; what another release has kept with other fields is not read."""

    name: str
    source_lang: str
    target_lang: str
    glossary: str = ""
    """The glossary, as written by `service.use_cases.terms`."""
    model: str | None = None
    strategy: Strategy = "direct"
    beam_size: int | None = None
    secret: str = ""
    """The secret that is required to read the file; empty if there is none."""
    sentences: int = 0
    characters: int = 0
    digest: str = ""
    """Digest of its content and of the translation memory that came with it."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a file's translation."""

    file: KeptFile
    status: FileStatus
    sentences: int
    """How many sentences are translated."""
    started: int
    """When the last attempt began, in seconds since 1970; 0 before the first."""
    unsure: int | None = None
    """Of how many of these the model is unsure; None if that is not known."""
    problem: str = ""
    """What went wrong, if the status is `error`, as written by `service.files.problems`."""

    @property
    def settled(self) -> bool:
        """Whether its state is final."""
        return self.status in {"done", "error"}


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    """A file to translate, its content and memory, and the token by which it is held."""

    key: FileKey
    file: KeptFile | None
    """None if it was kept by another release, with other fields."""
    content: bytes
    memory: str
    """Its part of the translation memory that came with it, as written by `service.texts.memories`."""
    attempt: int
    problem: str
    """Why the last attempt failed, if that is known, as written by `service.files.problems`."""
    token: str


_KEPT = TypeAdapter(KeptFile)


class Files:
    """The files of all tenants, each of which may have at most `most` files, of at most `most_bytes` together.

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
        """Set when this replica has kept another file; cleared by whoever looks for files."""
        self._scripts = {name: read_script("service.store", name) for name in _SCRIPTS}

    async def check_room(self, key: FileKey, size: int) -> None:
        """Check that a tenant has room for a file of `size` bytes, before any work is done on it.

        Raises:
            TooManyFilesError: there is no room, and the file is not among those that the tenant has.
        """
        await self._keep(key, "ask", size)

    async def keep(self, key: FileKey, file: KeptFile, content: bytes, memory: str = "") -> None:
        """Keep a file and its memory, for any replica to translate; one that is there already stays as it is.

        It gets its full time-to-live only when it is in the queue: a file that does not get there, because Redis or
        this replica dies in between, expires soon and no longer takes up its tenant's room.

        Raises:
            TooManyFilesError: the tenant has as many files, or bytes of them, as it may.
        """
        about, size = orjson.dumps(file).decode(), len(content) + len(memory.encode())
        ttl_ms = min(_KEPT_UNTIL_QUEUED_MS, self._ttl_ms)
        await self._keep(key, "keep", size, ttl_ms, about, _written(content), memory)
        await self._enqueue(key)
        await self.stay(key, size)
        self.news.set()

    async def stay(self, key: FileKey, size: int) -> None:
        """Give a file of `size` bytes that is in the queue, or has left it, its full time-to-live; see `keep`."""
        if await self._keep(key, "stay", size) == -1:
            raise StoreUnavailableError  # Redis has lost it meanwhile

    async def _keep(self, key: FileKey, how: str, size: int, ttl_ms: int | None = None, *parts: str) -> int:
        ttls = self._ttl_ms if ttl_ms is None else ttl_ms, self._ttl_ms
        args = key.id, how, max(1, size), *ttls, self._most, self._most_bytes, *parts
        found: int = await self._run("keep_file", [key.names()[0], *_of_tenant(key.tenant)], *args)
        if found in {0, -2}:
            raise TooManyFilesError(f"{self._most_bytes} bytes of files" if found else f"{self._most} files")
        return found

    async def state(self, key: FileKey) -> FileState:
        """Return the state of a file.

        Raises:
            FileUnknownError: there is none with this id.
        """
        (state,) = await self._states([key])
        if state is None:
            raise FileUnknownError
        return state

    async def all(self, tenant: str) -> list[tuple[FileKey, FileState]]:
        """Return a tenant's files and their states, in the order in which they expire: those read, then oldest first.

        If very many were read or have failed, only the last ones are listed.
        """
        name, _ = _of_tenant(tenant)
        most = self._most + _MOST_OTHERS_LISTED
        ids: list[Any] = await self._commands.run("list_files", lambda redis: redis.zrange(name, -most, -1), key=name)
        keys = [FileKey(tenant, file_id) for file_id in ids]
        states = await self._states(keys) if keys else []
        return [(key, state) for key, state in zip(keys, states, strict=True) if state is not None]

    async def _states(self, keys: Sequence[FileKey]) -> list[FileState | None]:
        """Return the states of files of one tenant; None for those that do not exist."""
        found: list[list[Any]] = await self._run("read_files", [key.names()[0] for key in keys])
        return [None if about is None else _state(about, *more) for about, *more in found]

    async def translation(self, key: FileKey) -> bytes:
        """Return the translation of a file that is done.

        Raises:
            FileUnknownError: there is none with this id.
        """
        name, _ = key.names()
        found = await self._commands.run("read_result", lambda redis: redis.hget(name, "result"), key=name)
        if found is None:
            raise FileUnknownError
        return b64decode(found)

    async def forget_soon(self, key: FileKey) -> None:
        """Let a file that was read expire soon, and no longer count among those that its tenant may have."""
        await self._run("forget_file", [key.names()[0], *_of_tenant(key.tenant)], key.id, _KEPT_AFTER_READING_MS)

    async def delete(self, key: FileKey) -> None:
        """Delete a file at once; a replica that translates it finds out when it renews its lease."""
        await self._run("delete_file", [*key.names(), *_of_tenant(key.tenant)], key.id)

    async def claim(
        self, token: str, held: Collection[FileKey] = (), others: Collection[FileKey] = ()
    ) -> ClaimedFile | None:
        """Take the oldest file that nobody has, of the tenant that this replica has the fewest files of in hand.

        `held` are the files in hand and `others` those that are left to other replicas; none of either is taken.
        """
        running, first = Counter(key.tenant for key in held), 0
        while waiting := await self._waiting(first):
            keys = [key for key in waiting if key not in held and key not in others]
            if (claimed := await self._claim_one(token, keys, running)) is not None:
                return claimed
            first += len(waiting)
        return None

    async def _waiting(self, first: int) -> list[FileKey]:
        """Return a part of the queue from index `first` on, as this replica may be unable to take any of the oldest."""
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
                about, content, memory, attempt, problem = found
                return ClaimedFile(key, _kept(about), b64decode(content), memory, int(attempt), problem, token)
        return None

    async def renew(self, claimed: ClaimedFile, sentences: int, unsure: int | None = None) -> bool:
        """Renew the lease of a file and record how much of it is translated; return whether it is still held.

        The model is unsure of `unsure` of the sentences, if that is known.
        """
        args = (claimed.token, self._lease_ms, sentences, _number(unsure))
        return bool(await self._run("renew_file", claimed.key.names(), *args))

    async def finish(self, claimed: ClaimedFile, translation: bytes, unsure: int | None = None) -> None:
        """Store the translation of a file, and of how many sentences the model is unsure, if that is known."""
        await self._settle(claimed, "done", _written(translation), unsure=unsure)

    async def fail(self, claimed: ClaimedFile, problem: str) -> None:
        """Record what was wrong with a file, or with the service."""
        await self._settle(claimed, "error", problem)

    async def release(self, claimed: ClaimedFile, *, counts: bool, problem: str = "") -> None:
        """Put a file back for any replica to take, after a problem; `counts` says whether this counts as an attempt."""
        await self._settle(claimed, "queued", problem, counts=counts)

    async def _settle(
        self, claimed: ClaimedFile, status: FileStatus, result: str, *, counts: bool = True, unsure: int | None = None
    ) -> None:
        _, sizes = _of_tenant(claimed.key.tenant)
        keys = [*claimed.key.names(), sizes]
        args = (claimed.token, status, result, int(not counts), claimed.key.id, _number(unsure))
        await self._run("settle_file", keys, *args)

    async def _enqueue(self, key: FileKey) -> None:
        await self._run("queue_file", [_QUEUE], key.member)

    async def _leave_queue(self, key: FileKey) -> None:
        """Take a file that is settled or gone out of the queue, unless it has been sent again meanwhile."""
        await self._commands.run("unqueue_file", lambda redis: redis.zrem(_QUEUE, key.member), key=_QUEUE)
        name, _ = key.names()
        status = await self._commands.run("read_status", lambda redis: redis.hget(name, "status"), key=name)
        if status in {"queued", "translating"}:
            await self._enqueue(key)

    async def _run(self, name: str, keys: list[str], *args: object) -> Any:  # noqa: ANN401 - what Lua returns
        return await self._commands.evaluate(self._scripts[name], keys, args)


def _written(content: bytes) -> str:
    """Encode bytes for Redis, which is read as text."""
    return b64encode(content).decode()


def _kept(about: str) -> KeptFile | None:
    try:
        return _KEPT.validate_json(about)
    except ValidationError:
        return None


def _number(known: int | None) -> str:
    """Write a number for Redis; what is not known is empty."""
    return "" if known is None else str(known)


def _state(
    about: str, status: FileStatus, sentences: str, started: str | None, unsure: str | None, problem: str
) -> FileState | None:
    file = _kept(about)
    if file is None:
        return None
    return FileState(file, status, int(sentences), int(started or 0), int(unsure) if unsure else None, problem)


def _of_tenant(tenant: str) -> list[str]:
    """Return the names of a tenant's set of files, and of their sizes in bytes."""
    return [f"antecedent:{{{tenant}}}:{part}" for part in ("files", "file-bytes")]
