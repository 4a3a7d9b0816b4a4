"""Files that DeepL's clients send, and their translations: who sends one asks later for what has become of it."""

import hmac
import time
from dataclasses import dataclass

from service.deepl.bodies import FileHandle, FileRequest, FileStatus, TextsRequest
from service.deepl.file_kinds import kind_of
from service.deepl.texts import Asked
from service.errors import FileNotReadyError, FileUnknownError, InvalidInputError
from service.glossary import written
from service.store.files import FileKey, Files, FileState, KeptFile


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as its client has sent it."""

    name: str
    content: bytes
    text: str
    """What it says."""

    @classmethod
    def of(cls, request: FileRequest, content: bytes) -> "SentFile":
        """What has been sent.

        Raises:
            InvalidInputError: it is of a kind that is not read, or is to become one of another kind.
        """
        kind = kind_of(request.filename)
        if request.output_format is not None and kind_of(f"file.{request.output_format}") != kind:
            raise InvalidInputError("output_format: a file is translated into its own format")
        return cls(request.filename, content, kind.read(content))


def as_text(
    name: str, text: str, *, target_lang: str, source_lang: str | None, glossary_id: str | None = None
) -> TextsRequest:
    """What a client asks for who sends a file, as if it sent what the file says."""
    return TextsRequest(
        text=[text],
        target_lang=target_lang,
        source_lang=source_lang,
        glossary_id=glossary_id,
        tag_handling=kind_of(name).tag_handling,
    )


async def keep(files: Files, key: FileKey, file: SentFile, asked: Asked, sentences: int, secret: str) -> FileHandle:
    """Keep a file until it is translated.

    Raises:
        AntecedentError: see `Files.keep`.
    """
    kept = KeptFile(
        secret=secret,
        name=file.name,
        source_lang=asked.source_lang,
        target_lang=asked.request.target_lang,
        glossary=written(asked.glossary),
        sentences=sentences,
        characters=len(file.text),
    )
    await files.keep(key, kept, file.content)
    return FileHandle(document_id=key.id, document_key=secret)


async def status(files: Files, key: FileKey, secret: str) -> FileStatus:
    """What has become of a file.

    Raises:
        AntecedentError: see `Files.state`.
    """
    state = await _state(files, key, secret)
    return FileStatus(
        document_id=key.id,
        status=state.status,
        seconds_remaining=_remaining(state),
        billed_characters=state.file.characters if state.status == "done" else None,
        error_message=state.problem if state.status == "error" else None,
    )


async def translation(files: Files, key: FileKey, secret: str) -> tuple[str, bytes]:
    """The name of a file that is translated, and its translation, which can be read again for a while.

    Raises:
        FileNotReadyError: it is not translated yet.
        InvalidInputError: it could not be translated.
        AntecedentError: see `Files.state`.
    """
    state = await _state(files, key, secret)
    if state.status == "error":
        raise InvalidInputError(f"the file could not be translated: {state.problem}")
    if state.status != "done":
        raise FileNotReadyError
    await files.forget_soon(key)
    return state.file.name, state.translation


async def _state(files: Files, key: FileKey, secret: str) -> FileState:
    state = await files.state(key)
    if not hmac.compare_digest(state.file.secret.encode(), secret.encode()):
        raise FileUnknownError
    return state


def _remaining(state: FileState) -> int | None:
    """Seconds, if it goes on as it has begun."""
    if state.status != "translating" or state.sentences == 0:
        return None
    each = max(0.0, time.time() - state.started) / state.sentences
    return round(each * (state.file.sentences - state.sentences))
