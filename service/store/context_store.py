"""The sessions of documents, with their preceding sentences, in Redis: the only state that outlives a request.

A document has three keys in one slot: its session, its entries, and its idempotency keys. Each operation is one atomic
round trip and may be repeated; the rules are in `lua/`. The store holds text only, and knows nothing about models.
"""

import hashlib
from collections.abc import Sequence
from itertools import chain
from typing import Any

from service.errors import SessionNotFoundError
from service.store import answers, replies
from service.store.commands import Commands, Script, read_script
from service.store.document import Answer, Appended, DocumentKey, Entry, Lease, Session, State

KEPT_POSITIONS = 32
"""A finished sentence can be retried until this many others have followed it, or the model's window if that is more."""


class ContextStore:
    """The operations on sessions, each of at most `max_sentences` in all and `per_minute` a minute (0: no limit).

    All of them raise StoreUnavailableError while Redis is away; all but `withdraw` and `delete` renew the session's
    time-to-live.
    """

    def __init__(self, commands: Commands, max_sentences: int, per_minute: int = 0) -> None:
        self._commands = commands
        self._max_sentences = max_sentences
        self._per_minute = per_minute
        self._create = _script("create")
        self._append = _script("entries", "append")
        self._claim = _script("entries", "claim")
        self._finish = _script("entries", "finish")
        self._correct = _script("entries", "correct")
        self._withdraw = _script("entries", "withdraw")
        self._read = _script("read")

    async def create(self, document: DocumentKey, session: Session) -> State:
        """Begin a session, or find the one that has this id; return it without its sentences."""
        fields: dict[str, Any] = {
            "model": session.model,
            "fingerprint": session.fingerprint,
            "source_lang": session.source_lang,
            "target_lang": session.target_lang,
            "window": session.window,
            "horizon": max(session.window, KEPT_POSITIONS),
            "ttl": session.ttl_seconds,
            "glossary": session.glossary,
            "memory": session.memory,
            "beam_size": session.beam_size or "",
            "alternatives": session.alternatives,
            "born": session.born,
            "next": 0,
        }
        found = await self._run(self._create, document, list(chain.from_iterable(fields.items())))
        return replies.state(found, ())

    async def append(
        self,
        document: DocumentKey,
        text: str,
        *,
        position: int | None,
        idempotency_key: str | None,
        lease: Lease,
        least: int = 0,
        again: bool = False,
    ) -> Appended:
        """Put a sentence at its position (None: the next), or find it there; a lease token appends one sentence only.

        Without a position, the sentence gets at least position `least`; if the next one is before that, it is refused
        as a gap. With `again`, and the same lease, the caller waits for a sentence that it has appended before; if
        workers have died over that, it is not tried again.

        Raises:
            SessionNotFoundError: there is no such session.
            PositionConflictError, PositionGapError, PositionExpiredError: the sentence cannot stand there.
            SessionFullError: the session has as many sentences as it may have.
            SessionRateLimitedError: the session has got as many sentences in a minute as it may get.
            SentenceFailedError: `again`, but workers have died over the sentence.
        """
        at = "" if position is None else position
        key = "" if idempotency_key is None else _digest(idempotency_key)
        args = [text, at, key, *_lease(lease), self._max_sentences, self._per_minute, least, int(again)]
        return replies.appended(await self._reply(self._append, document, args))

    async def claim(self, document: DocumentKey, position: int, text: str, lease: Lease) -> Appended:
        """Look at a sentence that has been appended, and take its lease if nobody else has it.

        Raises:
            SessionNotFoundError, PositionExpiredError: the session, or the sentence in it, is gone since `append`.
            PositionGapError, PositionConflictError: Redis has lost the sentence, and may have another in its place.
            SentenceFailedError: it could not be translated, and has not been sent again.
        """
        return replies.appended(await self._reply(self._claim, document, [position, text, *_lease(lease)]))

    async def finish(
        self, document: DocumentKey, position: int, text: str, answer: Answer, *, born: str = ""
    ) -> Answer:
        """Store an answer unless there is one already, and return the stored one: the first wins.

        `born` is that of the session that the answer was made for.

        Raises:
            SessionNotFoundError, PositionExpiredError: the session, or the sentence in it, is gone since `append`.
            PositionGapError, PositionConflictError: Redis has lost the sentence, and may have another in its place.
        """
        args = [position, text, answers.written(answer), born]
        (stored,) = await self._reply(self._finish, document, args)
        return answers.read(stored)

    async def correct(self, document: DocumentKey, position: int, answer: Answer) -> Entry:
        """Store an answer in place of any other, and return the sentence as it is now.

        Raises:
            SessionNotFoundError: there is no such session.
            SentenceNotFoundError, PositionExpiredError: there is no sentence at that position yet, or no longer.
        """
        (source,) = await self._reply(self._correct, document, [position, answers.written(answer)])
        return Entry(position, source, answer)

    async def withdraw(self, document: DocumentKey, position: int, token: str, failure: str = "") -> bool:
        """Give back a sentence that was not translated; return whether it was taken out of the session.

        It is taken out if it is the last and nobody else asks for it; it then no longer counts against the rate.
        Otherwise only its lease is given back, and `failure`, a code, if given, keeps others from translating it unless
        it is sent again.
        """
        args = [position, token, failure, self._per_minute]
        return bool(await self._run(self._withdraw, document, args))

    async def read(self, document: DocumentKey) -> State:
        """Return the session with all sentences that it keeps.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        session, entries = await self._run(self._read, document, [])
        if not session:
            raise SessionNotFoundError
        return replies.state(session, entries)

    async def delete(self, document: DocumentKey) -> None:
        """Delete a document at once.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        names = document.names()
        if not await self._commands.delete("delete", lambda redis: redis.delete(*names), key=names[0]):
            raise SessionNotFoundError

    async def _reply(self, script: Script, document: DocumentKey, args: Sequence[Any]) -> list[Any]:
        reply: list[Any]
        status, *reply = await self._run(script, document, args)
        if status != "ok":
            raise replies.refusal(status, reply)
        return reply

    async def _run(self, script: Script, document: DocumentKey, args: Sequence[Any]) -> Any:  # noqa: ANN401 - what Lua returns
        return await self._commands.evaluate(script, document.names(), args)


def _script(*names: str) -> Script:
    return read_script("service.store", *names)


def _lease(lease: Lease) -> tuple[str, int]:
    return lease.token, int(1000 * lease.seconds)


def _digest(idempotency_key: str) -> str:
    """Return a digest, which is short whatever the client has chosen, and does not reveal it."""
    return hashlib.blake2b(idempotency_key.encode(), digest_size=16).hexdigest()
