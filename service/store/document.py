"""What a session keeps of a document, and what the operations on it are given and give back: plain data."""

from dataclasses import dataclass

from models.engine.requests import Alternative


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
    """What a session is created with; name and fingerprint tell which bundle translates it."""

    model: str
    fingerprint: str
    source_lang: str
    target_lang: str
    window: int
    ttl_seconds: int
    glossary: str = ""
    """What `service.glossary` has written."""
    beam_size: int | None = None
    """Hypotheses that the search keeps; None for as many as the model has by itself."""
    alternatives: int = 0
    """How many other translations of each sentence are wanted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is stored of a translation, and given to every retry; a correction has no score, and no others beside it."""

    translation: str
    score: float | None
    context_size: int
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A sentence that is kept; unfinished where it has no answer."""

    position: int
    source: str
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Lease:
    """Who wants to translate a sentence; while they have the lease, others leave it to them."""

    token: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Appended:
    """A sentence in its place: with its answer, or with what its translation needs.

    `wait_seconds` is how long somebody else has the lease; if it is the caller's, the `session` is there, and what is
    `preceding`, oldest first.
    """

    position: int
    source: str
    next_position: int
    answer: Answer | None
    wait_seconds: float = 0
    session: Session | None = None
    preceding: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A session and everything that it keeps, by position."""

    session: Session
    next_position: int
    entries: tuple[Entry, ...]
