"""Bodies of requests and answers, HTTP version 1. Unknown members are refused; positions start at 0."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from models.text.glossary import UNFIT

MAX_BEAM = 8
MAX_POSITION = MAX_SECONDS = 2**31
Strategy = Literal["direct", "sentence", "rerank"]
FileStatus = Literal["queued", "translating", "done", "error"]


def _encodable(text: str) -> str:
    """JSON can spell half of a surrogate pair, which no UTF-8 text holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain half of a surrogate pair") from None
    return text


def _number(value: object) -> object:
    """What pydantic would take for an integer although JSON knows better."""
    if isinstance(value, bool | str):
        raise ValueError("must be an integer")
    return value


def _digits(value: object) -> object:
    """An integer as a form has it, as JSON would."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"[1-9][0-9]{0,9}", value, re.ASCII):
        raise ValueError("must be an integer")
    return int(value)


def _on_one_line(text: str) -> str:
    if UNFIT.search(text):
        raise ValueError("must not contain line breaks, tabs or other control characters")
    return text


def _without_folders(name: object) -> object:
    """The last part of a path, as either kind of system writes one."""
    return re.split(r"[/\\]", name)[-1] if isinstance(name, str) else name


_IS_NUMBER = BeforeValidator(_number)
BeamSize = Annotated[int, Field(ge=1, le=MAX_BEAM), _IS_NUMBER]
Alternatives = Annotated[int, Field(ge=0, lt=MAX_BEAM), _IS_NUMBER]
Seconds = Annotated[int, Field(ge=1, le=MAX_SECONDS), _IS_NUMBER]
Position = Annotated[int, Field(ge=0, le=MAX_POSITION), _IS_NUMBER]
Deadline = Annotated[float, Field(ge=0.1, le=MAX_SECONDS, strict=True)]
Text = Annotated[str, AfterValidator(_encodable)]
Texts = Annotated[list[Text], Field(fail_fast=True)]
"""Only the first that is wrong is told: an error for each of a million would take gigabytes."""
Drafts = Annotated[list[Text | None], Field(fail_fast=True)]
FileName = Annotated[
    str, Field(min_length=1, max_length=255), AfterValidator(_encodable), BeforeValidator(_without_folders)
]
TermText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_encodable),
    AfterValidator(_on_one_line),
]
SegmentText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_encodable)]
Language = Annotated[
    str,
    Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=32, description="ISO 639 code.", examples=["ja"]),
    AfterValidator(str.lower),
]
ModelName = Annotated[
    str, Field(min_length=1, max_length=128, description="Name of a model. Default: that of the language pair.")
]

BundleName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=128, description="Name of a folder in the bundle root."),
]
ModelState = Literal["serving", "no_worker"]


class Body(BaseModel):
    """Base of everything that comes and goes as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class GlossaryTerm(Body):
    """A word or phrase, and its required translation."""

    source: TermText = Field(examples=["源氏物語"])
    target: TermText = Field(examples=["The Tale of Genji"])


def _each_once(terms: Sequence[GlossaryTerm]) -> Sequence[GlossaryTerm]:
    known = set[str]()
    for number, term in enumerate(terms):
        if term.source in known:
            raise ValueError(f"term {number} has the same source as an earlier term")
        known.add(term.source)
    return terms


GlossaryTerms = Annotated[list[GlossaryTerm], Field(fail_fast=True), AfterValidator(_each_once)]


class MemorySegment(Body):
    """A sentence whose translation is known."""

    source: SegmentText = Field(examples=["源氏物語を書いた。"])
    target: Annotated[SegmentText, AfterValidator(_on_one_line)] = Field(examples=["She wrote The Tale of Genji."])


MemorySegments = Annotated[list[MemorySegment], Field(fail_fast=True)]


def _require_room(beam_size: int | None, alternatives: int) -> None:
    if beam_size is not None and alternatives >= beam_size:
        raise ValueError(f"a beam_size of {beam_size} allows at most {beam_size - 1} alternatives")


class DocumentRequest(Body):
    """A whole document: either text, which the service splits into sentences, or sentences, which it leaves unsplit."""

    source_lang: Language
    target_lang: Language
    text: Text | None = Field(None, examples=["紫式部は宮廷に仕えた。源氏物語を書いた。"])
    """The document as text. Give either `text` or `sentences`."""
    sentences: Texts | None = None
    """The document as a list of sentences."""
    context: Texts = []
    """Source sentences that precede the document, oldest first. They are not translated.

    A model that also reads the translations of preceding sentences has none for these.
    """
    model: ModelName | None = None
    strategy: Strategy = "direct"
    """How to translate.

    `direct` translates each sentence with the preceding ones as context. `sentence` translates each sentence alone.
    `rerank` produces `beam_size` translations of each sentence alone, and uses the preceding sentences to choose one.
    """
    beam_size: BeamSize | None = None
    """Number of hypotheses that the search keeps. Default: the model's own setting, or 1 with `drafts`."""
    alternatives: Alternatives = 0
    """Number of alternative translations to return for each sentence; there may be fewer.

    `beam_size` must be greater than this number; by default, it is. Each alternative counts as a sentence towards the
    maximum number of sentences in a document.
    """
    drafts: Drafts | None = None
    """A draft translation for each of `sentences`, such as its translation before an edit; null where there is none.

    Drafts do not change the result: it is the same as without them at `beam_size` 1. The part of a draft that agrees
    with the result is kept, and only what comes after it is decoded.
    """
    glossary: GlossaryTerms = []
    """Terms to use in the translation wherever their source occurs in a sentence as a word.

    If several terms begin at the same place, the longest one applies. A source without capitals matches in any case.
    """
    memory: MemorySegments = []
    """Sentences whose translations are known, such as those of the document's translation memory.

    A sentence of the document that matches one of them is not translated: it gets the known translation, and a null
    score. White space is ignored; everything else must match. If two segments have the same source, the last applies.
    """
    deadline_seconds: Deadline | None = None
    """How long the client waits for the answer. After that, the request fails with `own_deadline_exceeded`.

    The service's own deadline for each sentence applies in any case.
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
            raise ValueError("drafts need sentences, and one entry for each of them: null where there is no draft")
        if self.strategy != "direct" or self.beam_size not in (None, 1):
            raise ValueError("drafts need the strategy direct and a beam_size of 1, the default with drafts")
        return self

    @model_validator(mode="after")
    def _beam_has_alternatives(self) -> Self:
        _require_room(self.beam_size if self.drafts is None else 1, self.alternatives)
        return self


class Alternative(Body):
    """Another translation of a sentence."""

    translation: str
    score: float
    """As for the translation. Alternatives are in the order of the search, which favours length more than scores do."""


class TranslatedSentence(Body):
    """A sentence of a document or a session, and its translation."""

    position: int
    source: str
    translation: str
    score: float | None
    """Mean log-probability per token, including the end of sentence; null if the client supplied the translation."""
    context_size: int
    """How many preceding sentences the model used; 0 if the client supplied the translation."""
    alternatives: list[Alternative]
    """Other translations, in the order of the search; empty unless the document or session asked for them."""


class DocumentAnswer(Body):
    """A translated document."""

    id: str
    model: str
    text: str
    """The translations, with the white space and list markers of the original; one per line for `sentences`."""
    sentences: list[TranslatedSentence]


class StreamedSentence(TranslatedSentence):
    """The event `sentence`: a sentence of a document, sent once it and all sentences before it are translated.

    The document's text is the `before` and `translation` of each sentence in order, then the `after` of the event
    `done`.
    """

    before: str
    """The text between the previous translation and this one, such as white space and list markers."""


class DocumentEnd(Body):
    """The event `done`: the end of a document sent sentence by sentence."""

    id: str
    model: str
    sentences: int
    """How many sentences the document has."""
    after: str
    """The text after the last translation."""


class FileForm(Body):
    """A form with a file to translate as one document, and options."""

    file: bytes
    """Text, Markdown, `.srt`, `.vtt`, `.ass`, `.ssa`, HTML, `.docx`, `.odt`, `.pptx`, `.odp`, `.xlsx`, `.ods`, `.epub`,
    `.xliff`, `.po`, `.json`, `.arb`, `.properties`, `.resx` or `.xml` (of Android)."""
    source_lang: Language
    target_lang: Language
    filename: Annotated[FileName, Field(default_factory=str, examples=["a.docx"])]
    """The file's name. Its extension determines the format; folders before it are dropped.

    Default: the name under which the file is sent.
    """
    model: ModelName | None = None
    strategy: Strategy = "direct"
    """How to translate, as for a document."""
    beam_size: Annotated[int | None, Field(ge=1, le=MAX_BEAM), BeforeValidator(_digits)] = None
    """Number of hypotheses that the search keeps. Default: the model's own setting."""
    glossary: Text = ""
    """Terms to use in the translation, as for a document: one per line, source and target separated by a tab."""
    memory: Text = ""
    """Sentences whose translations are known, as for a document: in TMX, or one per line like `glossary`."""


class FileProblem(BaseModel):
    """An error as defined by RFC 9457, but with no `request_id`. Some errors have more members, such as `position`."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str
    title: str
    status: int
    detail: str
    code: str
    """What went wrong: a code that never changes."""
    retryable: bool
    """Whether the same request may succeed later."""


class FileInfo(Body):
    """A file that was sent, and its status."""

    id: str
    filename: str
    status: FileStatus
    """`queued` until a replica begins to translate it; finally, `done` or `error`."""
    source_lang: str
    target_lang: str
    sentences: int
    """How many sentences the file has."""
    translated: int
    """How many of them are translated; 0 again if the file has to be started again."""
    seconds_remaining: int | None
    """Estimated time left, judging by the sentences translated so far; null before the first, and at the end."""
    problem: FileProblem | None
    """Why the file could not be translated; null unless `status` is `error`."""


class FileList(Body):
    """The files of a tenant, in the order in which they expire: those already fetched, then the oldest first."""

    files: list[FileInfo]


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
        _require_room(self.beam_size, self.alternatives)
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


class ModelRequest(Body):
    """A bundle to load."""

    bundle: BundleName


class ModelInfo(Body):
    """A model that is loaded at the answering replica."""

    name: str
    source_lang: str
    target_lang: str
    window: int
    """How many preceding sentences the model reads."""
    reads_target_context: bool
    """Whether it also reads the translations of those sentences."""
    serves_sessions: bool
    """Whether it can translate sessions. If not, it translates only whole documents."""
    licence: str
    attribution: str
    """Who must be credited under the licence."""
    fingerprint: str
    """Identifies the bundle, even among bundles of the same name."""
    default: bool
    """Whether it serves its language pair if a request names no model."""
    state: ModelState
    """`no_worker` while all of its processes are being restarted."""


class ModelToLoad(Body):
    """A model that all replicas should serve, but that the answering replica could not load. It keeps trying."""

    name: str
    """`antecedent:models` stands for all of them: the record in Redis that lists them cannot be read."""
    code: str
    """The code of the error; the log has the details."""


class ModelList(Body):
    """All models of the answering replica."""

    models: list[ModelInfo]
    not_loaded: list[ModelToLoad]
    """Older bundles of the same names may be served in their place."""


class Limits(Body):
    """The limits for requests. A request that exceeds one is refused."""

    max_document_sentences: int
    max_context_sentences: int
    max_sentence_characters: int
    max_translation_characters: int
    max_body_bytes: int
    """Also applies to a file that is text."""
    max_file_bytes: int
    """Applies to any other file."""
    max_session_sentences: int
    session_max_ttl_seconds: int
    max_files: int
    max_files_bytes: int
    max_glossary_terms: int
    max_glossary_characters: int
    max_memory_segments: int
    max_session_memory_characters: int
    """Of sources and targets together."""
    stream_message_bytes: int
    stream_in_flight: int


class ServiceInfo(Body):
    """The release of the service, and its limits for requests."""

    version: str
    limits: Limits


class Health(Body):
    """The result of a probe, and the reasons if it failed."""

    status: Literal["ok", "unavailable"]
    reasons: list[str] = []


class Dependency(Body):
    """Something that the service depends on."""

    name: str
    status: Literal["up", "down", "read_only"]
    """`read_only`: Redis can be read, but refuses writes, for example because it is full."""
    detail: str
    """For people. If a call to Redis has just failed, this includes the reason, as in the log."""


class Dependencies(Body):
    """Everything that the service depends on."""

    status: Literal["ok", "degraded"]
    dependencies: list[Dependency]


class Problem(FileProblem):
    """An error as defined by RFC 9457. Some errors have further members, such as `next_position`."""

    request_id: str
