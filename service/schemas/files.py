"""Files that are translated as documents: `/v1/files`."""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from service.schemas.body import Body
from service.schemas.fields import MAX_BEAM, FileName, Language, ModelName, Strategy, Text
from service.schemas.problems import FileProblem

FileStatus = Literal["queued", "translating", "done", "error"]


def _digits(value: object) -> object:
    """Convert digits, which are all that a form can send, to an integer."""
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"[1-9][0-9]{0,9}", value, re.ASCII):
        raise ValueError("must be an integer")
    return int(value)


class FileForm(Body):
    """A form with a file to translate as one document, and options."""

    file: bytes
    """Text, Markdown, `.rst`, `.srt`, `.vtt`, `.ass`, `.ssa`, HTML, `.docx`, `.odt`, `.pptx`, `.odp`, `.xlsx`, `.ods`,
    `.epub`, `.xliff`, `.po`, `.json`, `.arb`, `.properties`, `.resx`, `.resw` or `.xml` (of Android)."""
    source_lang: Language
    target_lang: Language
    filename: Annotated[FileName, Field(default_factory=str)]
    """The file's name. Its extension determines the format; folders before it are dropped.

    Default: the name under which the file is sent.
    """
    model: ModelName | None = None
    strategy: Strategy = "direct"
    """How to translate, as for a document."""
    beam_size: Annotated[int | None, Field(ge=1, le=MAX_BEAM, examples=[4]), BeforeValidator(_digits)] = None
    """Number of hypotheses that the search keeps. Default: the model's own setting."""
    glossary: Text = ""
    """Terms to use in the translation, as for a document: one per line, source and target separated by a tab."""
    memory: Text = ""
    """Sentences whose translations are known, as for a document: in TMX, or one per line like `glossary`."""


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
    unsure: int | None
    """How many of the translated ones have a `score` below the model's `unsure_below`; null before the first, and for a
    model without such a limit."""
    seconds_remaining: int | None
    """Estimated time left, judging by the sentences translated so far; null before the first, and at the end."""
    problem: FileProblem | None
    """Why the file could not be translated; null unless `status` is `error`."""


class FileList(Body):
    """The files of a tenant, in the order in which they expire: those already fetched, then the oldest first."""

    files: list[FileInfo]
