"""The preceding sentences of each document, in Redis: the only state that outlives a request.

A document has three keys in one slot: its session, its entries, its idempotency keys. Each operation is one round trip
and atomic; the rules are in `lua/`. Holds text only, and knows nothing of models.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from service.errors import (
    PositionConflictError,
    PositionExpiredError,
    PositionGapError,
    ServiceError,
    SessionNotFoundError,
)
from service.store.commands import Commands, Script, read_script

KEPT_POSITIONS = 32
"""A finished sentence can be retried until this many, or the model's window if that is more, have followed it."""


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """Whose document, and which."""

    tenant: str
    session_id: str

    def names(self) -> list[str]:
        """Session, entries and idempotency keys; the braces put them into one slot of a Redis Cluster."""
        return [f"antecedent:{{{self.tenant}:{self.session_id}}}:{part}" for part in ("session", "entries", "keys")]


@dataclass(frozen=True, slots=True)
class Session:
    """What a session is created with."""

    model: str
    source_lang: str
    target_lang: str
    window: int
    ttl_seconds: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What is stored of a translation, and given to every retry."""

    translation: str
    score: float
    context_size: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A sentence that is kept; unfinished where it has no answer."""

    position: int
    source: str
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Lease:
    """Who translates an unfinished sentence, and until when, in Redis's time, others leave it to them."""

    token: str
    expires_ms: int


@dataclass(frozen=True, slots=True)
class Appended:
    """A sentence in its place: with its answer, or with a lease and the sources before it, oldest first."""

    position: int
    next_position: int
    model: str
    answer: Answer | None
    lease: Lease
    preceding: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A session and everything that it keeps, by position."""

    session: Session
    next_position: int
    entries: tuple[Entry, ...]


class ContextStore:
    """The operations on a document's session.

    All of them raise StoreUnavailableError while Redis is away, and set the time-to-live anew.
    """

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._create = _script("create")
        self._append = _script("entries", "append")
        self._finish = _script("entries", "finish")
        self._withdraw = _script("withdraw")
        self._read = _script("read")

    async def create(self, document: DocumentKey, session: Session) -> None:
        """Begin a session under an id that is new."""
        fields: dict[str, Any] = {
            "model": session.model,
            "source_lang": session.source_lang,
            "target_lang": session.target_lang,
            "window": session.window,
            "horizon": max(session.window, KEPT_POSITIONS),
            "ttl": session.ttl_seconds,
            "next": 0,
        }
        await self._run("create", self._create, document, list(chain.from_iterable(fields.items())))

    async def append(
        self, document: DocumentKey, text: str, *, position: int | None, idempotency_key: str | None, lease: Lease
    ) -> Appended:
        """Put a sentence at its position (None: the next), or find it there; `lease.expires_ms` counts from now.

        Raises:
            SessionNotFoundError: there is no such session.
            PositionConflictError, PositionGapError, PositionExpiredError: the sentence cannot stand there.
        """
        at = "" if position is None else position
        key = "" if idempotency_key is None else _digest(idempotency_key)
        args = [text, at, key, lease.token, lease.expires_ms]
        status, *reply = await self._run("append", self._append, document, args)
        if status != "ok":
            raise _refusal(status, reply)
        found, next_position, model, answer, expiry, preceding = reply
        return Appended(
            int(found), int(next_position), model, _answer(answer), Lease(lease.token, int(expiry)), tuple(preceding)
        )

    async def finish(self, document: DocumentKey, position: int, answer: Answer) -> Answer:
        """Store an answer where none is, and return the stored one: the first wins.

        Raises:
            SessionNotFoundError, PositionExpiredError: the session, or the sentence in it, has gone since `append`.
        """
        args = [position, orjson.dumps(answer)]
        status, *reply = await self._run("finish", self._finish, document, args)
        if status != "ok":
            raise _refusal(status, reply)
        return Answer(**orjson.loads(reply[0]))

    async def withdraw(self, document: DocumentKey, appended: Appended) -> bool:
        """Take back a sentence that could not be translated, if it is the last and nobody else has taken it up."""
        args = [appended.position, appended.lease.token]
        return bool(await self._run("withdraw", self._withdraw, document, args))

    async def read(self, document: DocumentKey) -> State:
        """The session as it stands.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        session, entries = await self._run("read", self._read, document, [])
        if not session:
            raise SessionNotFoundError
        return _state(_pairs(session), _pairs(entries))

    async def delete(self, document: DocumentKey) -> None:
        """Forget a document at once.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        if not await self._commands.run("delete", lambda redis: redis.delete(*document.names())):
            raise SessionNotFoundError

    async def _run(self, operation: str, script: Script, document: DocumentKey, args: Sequence[Any]) -> Any:  # noqa: ANN401 - what Lua returns
        return await self._commands.evaluate(operation, script, document.names(), args)


def _script(*names: str) -> Script:
    return read_script("service.store", *names)


def _refusal(status: str, reply: Sequence[Any]) -> ServiceError:
    if status == "unknown":
        return SessionNotFoundError()
    position, next_position = map(int, reply)
    refusals: dict[str, Callable[[], ServiceError]] = {
        "conflict": lambda: PositionConflictError(
            f"position {position}, or this idempotency key, has another text", next_position=next_position
        ),
        "gap": lambda: PositionGapError(
            f"position {position} is beyond the next one, {next_position}", next_position=next_position
        ),
        "expired": lambda: PositionExpiredError(
            f"position {position} is no longer kept; the next one is {next_position}", next_position=next_position
        ),
    }
    return refusals[status]()


def _digest(idempotency_key: str) -> str:
    """Short whatever the client has chosen, and nothing that could be read."""
    return hashlib.blake2b(idempotency_key.encode(), digest_size=16).hexdigest()


def _answer(stored: str | None) -> Answer | None:
    return None if stored is None else Answer(**orjson.loads(stored))


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _state(session: dict[str, str], entries: dict[str, str]) -> State:
    positions = sorted(int(field[1:]) for field in entries if field.startswith("s"))
    return State(
        Session(
            session["model"],
            session["source_lang"],
            session["target_lang"],
            int(session["window"]),
            int(session["ttl"]),
        ),
        int(session["next"]),
        tuple(Entry(at, entries[f"s{at}"], _answer(entries.get(f"a{at}"))) for at in positions),
    )
