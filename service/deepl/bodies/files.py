"""Files to translate, and their state."""

from typing import Annotated

from pydantic import Field

from service.deepl.bodies.common import DeepLRequest, Formality, Id
from service.schemas.body import Body
from service.schemas.fields import FileName, Language, Text
from service.schemas.files import FileStatus


class FileRequest(DeepLRequest):
    """The options sent with a file to translate."""

    target_lang: Language
    source_lang: Language | None = None
    filename: FileName
    """The name under which the file was sent, or another one; its suffix gives the kind of file."""
    output_format: str | None = None
    """The format of the translation, which has to be that of the file."""
    glossary_id: Id | None = None
    """The glossary whose terms the translation uses."""
    formality: Formality = "default"


class FileHandle(Body):
    """The id and the key by which a client asks for a file again; nobody else knows the key."""

    document_id: str
    document_key: str


class FileKeyRequest(Body):
    """The key that came with the id."""

    document_key: Annotated[Text, Field(max_length=200)]


class FileAnswer(Body):
    """The state of a file."""

    document_id: str
    status: FileStatus
    seconds_remaining: int | None = None
    """While the file is being translated: an estimate from the sentences done so far."""
    billed_characters: int | None = None
    error_message: str | None = None
