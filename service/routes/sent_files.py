"""Files as any of the interfaces takes and gives them."""

import hashlib
from dataclasses import replace
from urllib.parse import quote

from fastapi import Request, Response

from service.access.caller import Caller
from service.errors import FileConflictError
from service.files.kinds import check_size
from service.files.outcome import translation_of
from service.files.translation import read_file
from service.routes.dependencies import Services, admitted
from service.store.files import FileKey, Files, FileState, KeptFile
from service.texts.reading import counted


async def keep_file(
    key: FileKey, file: KeptFile, content: bytes, request: Request, who: Caller, parts: Services
) -> FileState:
    """Keep a file until it is translated, unless it is there already. Its sentences count against its key's limits.

    Raises:
        AntecedentError: it cannot be read, or is too long; no model serves its languages; there is no room for it; or
            another one has its id.
    """
    parts.models.catalogue.choose(file.source_lang, file.target_lang, file.model)
    check_size(file.name, content, parts.limits.max_body_bytes)
    read = await read_file(parts.documents, file, content)
    parts.documents.check_sentences(read.text.sentences)
    await parts.files.check_room(key)
    sentences = counted([read.text])
    digest = hashlib.sha256(content).hexdigest()
    kept = replace(file, sentences=sentences, characters=len(read.source), digest=digest)
    async with admitted(request, parts, who, sentences):
        await parts.files.keep(key, kept, content)
        state = await parts.files.state(key)
    if state.file != kept:
        raise FileConflictError
    return state


async def attached(files: Files, key: FileKey, state: FileState, media_type: str) -> Response:
    """The translation of a file, under the file's name, and said to be of a media type.

    Raises:
        AntecedentError: see `translation_of`.
    """
    content = await translation_of(files, key, state)
    name = state.file.name
    return Response(
        content,
        media_type=media_type,
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"},
    )
