"""What a session keeps of a document, and the arguments and results of the operations on it: plain data."""

from dataclasses import dataclass

from models.engine.requests import Alternative


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """Identifies a document by its tenant and session."""

    tenant: str
    session_id: str

    def names(self) -> list[str]:
        """Return the names of its session, entries and idempotency keys; the braces put them into one Cluster slot."""
        return [f"antecedent:{{{self.tenant}:{self.session_id}}}:{part}" for part in ("session", "entries", "keys")]


@dataclass(frozen=True, slots=True)
class Session:
    """What a session is created with; `model` (its name) and `fingerprint` identify the bundle that translates it."""

    model: str
    fingerprint: str
    source_lang: str
    target_lang: str
    window: int
    ttl_seconds: int
    glossary: str = ""
    """The glossary, as written by `service.use_cases.terms`."""
    memory: str = ""
    """The translation memory, as written by `service.use_cases.terms`."""
    beam_size: int | None = None
    """How many hypotheses the search keeps; None for the model's own default."""
    alternatives: int = 0
    """How many other translations are requested for each sentence."""
    born: str = ""
    """Tells this session from an earlier one with its id, which was deleted or has expired."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is stored of a translation and returned to every retry; a correction has no score and no alternatives."""

    translation: str
    score: float | None
    context_size: int
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A sentence that is kept; it is unfinished if it has no answer."""

    position: int
    source: str
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Lease:
    """Identifies a caller that wants to translate a sentence; others leave it alone while the lease lasts."""

    token: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Appended:
    """A sentence at its position, with its answer or with what its translation needs.

    `wait_seconds` is how long another caller still has the lease. If this caller has it, `session` and `preceding` are
    set; the latter are the preceding sentences, oldest first.
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
    """A session and all sentences that it keeps, by position."""

    session: Session
    next_position: int
    entries: tuple[Entry, ...]
