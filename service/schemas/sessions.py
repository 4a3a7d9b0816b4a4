"""Sessions, which are documents that grow sentence by sentence: `/v1/sessions`."""

from typing import Self

from pydantic import Field, model_validator

from service.schemas.body import Body
from service.schemas.fields import Alternatives, BeamSize, Deadline, Language, ModelName, Position, Seconds, Text
from service.schemas.sentences import Alternative, check_beam
from service.schemas.terms import GlossaryTerm, GlossaryTerms, MemorySegment, MemorySegments


class SessionRequest(Body):
    """A document that will grow sentence by sentence."""

    source_lang: Language
    target_lang: Language
    model: ModelName | None = None
    ttl_seconds: Seconds | None = None
    """The session expires this long after its last call. Default: the service's setting."""
    glossary: GlossaryTerms = []
    """Terms to use in the translation of each sentence, as for a document."""
    memory: MemorySegments = []
    """Sentences whose translations are known, as for a document, with at most `max_session_memory_characters`."""
    beam_size: BeamSize | None = None
    """Number of hypotheses that the search keeps. Default: the model's own setting."""
    alternatives: Alternatives = 0
    """Number of alternative translations to return for each sentence, as for a document.

    A correction has none, and neither has a sentence from the memory.
    """

    @model_validator(mode="after")
    def _beam_has_alternatives(self) -> Self:
        check_beam(self.beam_size, self.alternatives)
        return self


class SessionCreated(Body):
    """A new session."""

    session_id: str
    model: str
    window: int
    """How many preceding sentences the model reads."""
    next_position: int


class SentenceRequest(Body):
    """The next sentence of a session, or a retry of an earlier one."""

    text: Text = Field(examples=["源氏物語を書いた。"])
    position: Position | None = None
    """The position of the sentence in the document. Without it, the sentence is appended."""
    deadline_seconds: Deadline | None = None
    """How long the client waits for the answer. After that, the request fails with `own_deadline_exceeded`.

    The sentence can be sent again at its position.
    """


class Correction(Body):
    """The client's own translation of a sentence."""

    translation: Text = Field(examples=["She wrote The Tale of Genji."])


class KeptSentence(Body):
    """A sentence that a session keeps. Until it is translated, `translation`, `score` and `context_size` are null."""

    position: int
    source: str
    translation: str | None
    score: float | None
    context_size: int | None
    alternatives: list[Alternative]


class SessionState(Body):
    """The current state of a session."""

    session_id: str
    model: str
    source_lang: str
    target_lang: str
    window: int
    next_position: int
    ttl_seconds: int
    beam_size: int | None
    """Number of hypotheses that the search keeps; null for the model's own setting."""
    alternatives: int
    """Number of alternative translations per sentence that the session asked for."""
    glossary: list[GlossaryTerm]
    memory: list[MemorySegment]
    sentences: list[KeptSentence]
