"""Turns the replies of the context store's Lua scripts into plain data or errors."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from service.errors import (
    PositionConflictError,
    PositionExpiredError,
    PositionGapError,
    SentenceFailedError,
    SentenceNotFoundError,
    ServiceError,
    SessionFullError,
    SessionNotFoundError,
    SessionRateLimitedError,
)
from service.store import answers
from service.store.document import Answer, Appended, Entry, Session, State

_Refusal = Callable[[int, int], ServiceError]
_REFUSALS: dict[str, _Refusal] = {
    "conflict": lambda position, following: PositionConflictError(
        f"position {position} already has another text, or the idempotency key belongs to another sentence",
        next_position=following,
    ),
    "gap": lambda position, following: PositionGapError(
        f"position {position} is beyond the next one, {following}", next_position=following
    ),
    "lost": lambda position, following: PositionGapError(
        f"position {position} has been lost; the next one is {following}", next_position=following
    ),
    "expired": lambda position, following: PositionExpiredError(
        f"position {position} is no longer kept; the next one is {following}", next_position=following
    ),
    "full": lambda _, following: SessionFullError(following),
    "rate": lambda _, milliseconds: SessionRateLimitedError(math.ceil(milliseconds / 1000)),
    "failed": lambda position, _: SentenceFailedError(position),
    "absent": lambda position, following: SentenceNotFoundError(
        f"position {position} has no sentence yet; the next one is {following}", next_position=following
    ),
}


def refusal(status: str, reply: Sequence[Any]) -> ServiceError:
    """Return the error for a status other than `ok`; `reply` came with it, mostly position and next position."""
    if status == "unknown":
        return SessionNotFoundError()
    position, following = map(int, reply)
    return _REFUSALS[status](position, following)


def appended(reply: Sequence[Any]) -> Appended:
    """Parse what `claim` in `lua/entries.lua` returns."""
    position, source, following, stored, wait, session, flat = reply
    sources, kept = flat[::2], flat[1::2]
    first = int(position) - len(sources)
    return Appended(
        int(position),
        source,
        int(following),
        _answer_if_any(stored),
        int(wait) / 1000,
        _session(_pairs(session)) if session else None,
        tuple(
            Entry(first + at, source, _answer_if_any(found))
            for at, (source, found) in enumerate(zip(sources, kept, strict=True))
        ),
    )


def state(session: Sequence[str], entries: Sequence[str]) -> State:
    """Parse what `lua/read.lua` returns: two hashes, each as field, value, ..."""
    kept, fields = _pairs(entries), _pairs(session)
    positions = sorted(int(field[1:]) for field in kept if field.startswith("s"))
    return State(
        _session(fields),
        int(fields["next"]),
        tuple(Entry(at, kept[f"s{at}"], _answer_if_any(kept.get(f"a{at}"))) for at in positions),
    )


def _session(fields: dict[str, str]) -> Session:
    return Session(
        fields["model"],
        fields["fingerprint"],
        fields["source_lang"],
        fields["target_lang"],
        int(fields["window"]),
        int(fields["ttl"]),
        fields.get("glossary", ""),  # sessions of earlier releases lack this and what follows
        fields.get("memory", ""),
        int(fields.get("beam_size") or 0) or None,
        int(fields.get("alternatives", 0)),
        fields.get("born", ""),
    )


def _answer_if_any(stored: str | None) -> Answer | None:
    """Parse an answer; None, for a sentence that is unfinished, stays None."""
    return None if stored is None else answers.read(stored)


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
