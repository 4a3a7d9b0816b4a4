"""Bodies of requests and answers, HTTP version 1. Unknown members are refused; positions start at 0."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MAX_BEAM = 8
MAX_POSITION = MAX_SECONDS = 2**31
Strategy = Literal["direct", "sentence", "rerank"]


def _encodable(text: str) -> str:
    """JSON can spell half of a surrogate pair, which no UTF-8 text holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not hold half a surrogate pair") from None
    return text


def _number(value: object) -> object:
    """What pydantic would take for an integer although JSON knows better."""
    if isinstance(value, bool | str):
        raise ValueError("must be an integer")
    return value


_IS_NUMBER = BeforeValidator(_number)
BeamSize = Annotated[int, Field(ge=1, le=MAX_BEAM), _IS_NUMBER]
Seconds = Annotated[int, Field(ge=1, le=MAX_SECONDS), _IS_NUMBER]
Position = Annotated[int, Field(ge=0, le=MAX_POSITION), _IS_NUMBER]
Deadline = Annotated[float, Field(ge=0.1, le=MAX_SECONDS, strict=True)]
Text = Annotated[str, AfterValidator(_encodable)]
Texts = Annotated[list[Text], Field(fail_fast=True)]
"""Only the first that is wrong is told: an error for each of a million would take gigabytes."""
Drafts = Annotated[list[Text | None], Field(fail_fast=True)]
Language = Annotated[
    str,
    Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=32, description="ISO 639 code.", examples=["ja"]),
    AfterValidator(str.lower),
]
ModelName = Annotated[str, Field(min_length=1, max_length=128, description="A bundle by name; default: by pair.")]

BundleName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=128, description="A folder under the bundle root."),
]
ModelState = Literal["serving", "no_worker"]


class Body(BaseModel):
    """Base of everything that comes and goes as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class DocumentRequest(Body):
    """A whole document, as text that is split here or as the caller's sentences, whose boundaries are kept."""

    source_lang: Language
    target_lang: Language
    text: Text | None = Field(None, examples=["紫式部は宮廷に仕えた。源氏物語を書いた。"])
    """The document as text; exactly one of `text` and `sentences` is given."""
    sentences: Texts | None = None
    """The document as sentences."""
    context: Texts = []
    """Source sentences that precede the document and are not translated, oldest first.

    A model that reads translations of preceding sentences finds none for these.
    """
    model: ModelName | None = None
    strategy: Strategy = "direct"
    """How the model translates.

    `direct` reads the preceding sentences; `sentence` translates each sentence alone; `rerank` translates each alone,
    as often as the beam is wide, and chooses with the preceding sentences.
    """
    beam_size: BeamSize | None = None
    """Hypotheses that search keeps; default: the model's, or 1 with drafts."""
    drafts: Drafts | None = None
    """What the translation of each of `sentences` may be, as it was before an edit; null where there is none.

    Translations are what they are without drafts with `beam_size` 1: of a draft, as much is kept as agrees with that,
    and only what comes after it is decoded.
    """
    deadline_seconds: Deadline | None = None
    """The answer is of no use later: work on it then ends, and the error is `own_deadline_exceeded`.

    Without it, only the service's own deadline of each sentence holds, which holds in any case.
    """

    @model_validator(mode="after")
    def _one_of_text_and_sentences(self) -> Self:
        if (self.text is None) == (self.sentences is None):
            raise ValueError("give exactly one of text and sentences")
        return self

    @model_validator(mode="after")
    def _drafts_go_with_greedy_search(self) -> Self:
        if self.drafts is None:
            return self
        if self.sentences is None or len(self.drafts) != len(self.sentences):
            raise ValueError("drafts go with sentences: as many of them, null where there is none")
        if self.strategy != "direct" or self.beam_size not in (None, 1):
            raise ValueError("drafts go with the strategy direct and a beam_size of 1, the default with them")
        return self


class TranslatedSentence(Body):
    """A sentence and its translation."""

    position: int
    source: str
    translation: str
    score: float | None
    """Mean log-probability per token, end of sentence included; null where the translation is a correction."""
    context_size: int
    """How many preceding sentences the model has used; 0 for a correction."""


class DocumentAnswer(Body):
    """A translated document."""

    id: str
    model: str
    text: str
    """The translations, with white space and list marks of the original; given sentences are one on each line."""
    sentences: list[TranslatedSentence]


class StreamedSentence(TranslatedSentence):
    """A sentence of a document, as soon as it and all before it are translated: the event `sentence`.

    The document's text is `before` and `translation` of all sentences in order, and `after` of the end.
    """

    before: str
    """What stands between the previous translation and this one: white space, list marks."""


class DocumentEnd(Body):
    """The end of a document that came sentence by sentence: the event `done`."""

    id: str
    model: str
    sentences: int
    """How many there were."""
    after: str
    """What stands after the last translation."""


class SessionRequest(Body):
    """A document that will grow sentence by sentence."""

    source_lang: Language
    target_lang: Language
    model: ModelName | None = None
    ttl_seconds: Seconds | None = None
    """The session is forgotten this long after its last call; default: the service's."""


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
    """Where it belongs; without one it is appended."""
    deadline_seconds: Deadline | None = None
    """The answer is of no use later: the sentence is then given back, and the error is `own_deadline_exceeded`.

    It can be sent again at its position.
    """


class Correction(Body):
    """A translation of the client's own."""

    translation: Text = Field(examples=["She wrote The Tale of Genji."])


class KeptSentence(Body):
    """A sentence that a session keeps; what belongs to its translation is null while there is none."""

    position: int
    source: str
    translation: str | None
    score: float | None
    context_size: int | None


class SessionState(Body):
    """A session as it stands."""

    session_id: str
    model: str
    source_lang: str
    target_lang: str
    window: int
    next_position: int
    ttl_seconds: int
    sentences: list[KeptSentence]


class ModelRequest(Body):
    """A bundle to load."""

    bundle: BundleName


class ModelInfo(Body):
    """A model that is loaded at the replica that answers."""

    name: str
    source_lang: str
    target_lang: str
    window: int
    """How many preceding sentences it reads."""
    reads_target_context: bool
    """Whether it reads their translations too."""
    serves_sessions: bool
    """Whether a document may grow sentence by sentence; else it translates whole documents only."""
    licence: str
    attribution: str
    """Whom the licence asks to name."""
    fingerprint: str
    """Tells its bundle from every other, also of the same name."""
    default: bool
    """Whether it serves its language pair where no model is named."""
    state: ModelState
    """`no_worker` while all of its processes are being started anew."""


class ModelToLoad(Body):
    """A model that all replicas shall serve and that the one that answers could not load; it tries again."""

    name: str
    code: str
    """The code of the error; the log says more."""


class ModelList(Body):
    """All models of the replica that answers."""

    models: list[ModelInfo]
    not_loaded: list[ModelToLoad]
    """In their places older bundles of the same names may be served."""


class Limits(Body):
    """What a request may have at most; more is refused."""

    max_document_sentences: int
    max_context_sentences: int
    max_sentence_characters: int
    max_translation_characters: int
    max_body_bytes: int
    max_session_sentences: int
    session_max_ttl_seconds: int
    stream_message_bytes: int
    stream_in_flight: int


class ServiceInfo(Body):
    """Which release this is, and what it accepts."""

    version: str
    limits: Limits


class Health(Body):
    """Whether a probe holds, and if not, why."""

    status: Literal["ok", "unavailable"]
    reasons: list[str] = []


class Dependency(Body):
    """One of the things that the service needs."""

    name: str
    status: Literal["up", "down"]
    detail: str


class Dependencies(Body):
    """All of them."""

    status: Literal["ok", "degraded"]
    dependencies: list[Dependency]


class Problem(BaseModel):
    """An error as RFC 9457 has it; some have further members, such as `next_position`."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str
    title: str
    status: int
    detail: str
    code: str
    """What went wrong, in a word that never changes."""
    retryable: bool
    """Whether the same request may succeed later."""
    request_id: str
