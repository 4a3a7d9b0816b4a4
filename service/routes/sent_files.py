"""Files as any of the interfaces takes and gives them."""

import hashlib
from dataclasses import replace
from urllib.parse import quote

from fastapi import Request, Response

from service.access.caller import Caller
from service.errors import FileConflictError, FileUnknownError
from service.files.kinds import check_size
from service.files.outcome import check_done
from service.files.translation import read_file
from service.routes.dependencies import Services, admitted
from service.store.files import FileKey, Files, FileState, KeptFile
from service.texts.reading import counted


async def keep_file(
    key: FileKey, file: KeptFile, content: bytes, request: Request, who: Caller, parts: Services
) -> FileState:
    """Keep a file until it is translated. Its sentences count against its key's limits.

    Raises:
        AntecedentError: it cannot be read, or is too long; no model serves its languages; there is no room for it; or
            another one has its id.
    """
    parts.models.catalogue.choose(file.source_lang, file.target_lang, file.model)
    check_size(file.name, content, parts.limits)
    await parts.files.check_room(key, len(content))
    read = await read_file(parts.documents, file, content)
    sentences = read.text.sentences
    parts.documents.check_sentences(sentences)
    kept = replace(file, sentences=len(sentences), characters=len(read.source), digest=_digest(content))
    async with admitted(request, parts, who, counted([read.text])):
        await parts.files.keep(key, kept, content)
    return _checked(kept, await parts.files.state(key))


async def file_there(key: FileKey, file: KeptFile, content: bytes, parts: Services) -> FileState | None:
    """What has become of a file that was kept already, and needs nothing more; None where it is to be kept.

    Raises:
        FileConflictError: another one has its id.
        StoreUnavailableError: Redis is away.
    """
    try:
        state = await parts.files.state(key)
    except FileUnknownError:
        return None
    there = state.file
    sent = replace(file, sentences=there.sentences, characters=there.characters, digest=_digest(content))
    return None if _checked(sent, state).status == "queued" else state


def _checked(sent: KeptFile, state: FileState) -> FileState:
    if state.file != sent:
        raise FileConflictError
    return state


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def attached(request: Request, files: Files, key: FileKey, state: FileState, media_type: str) -> Response:
    """The translation of a file, under the file's name, and said to be of a media type.

    It is there for a while after somebody has got it, and then makes room for others.

    Raises:
        AntecedentError: see `check_done` and `Files.translation`.
    """
    check_done(state)
    content = await files.translation(key)
    if request.method != "HEAD":
        await files.forget_soon(key)
    return Response(
        content,
        media_type=media_type,
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(state.file.name, safe='')}"},
    )
