"""Sent and translated files, as all interfaces receive and return them."""

import hashlib
from dataclasses import dataclass, replace
from urllib.parse import quote

from fastapi import Request, Response

from service.access.caller import Caller
from service.errors import FileConflictError, FileUnknownError
from service.files.kinds import check_size
from service.files.outcome import check_done
from service.files.translation import read_file
from service.routes.dependencies import Services, admitted
from service.store.files import FileKey, Files, FileState, KeptFile
from service.texts.memories import found_in, memory_of
from service.texts.reading import counted
from service.threads import in_thread_if_long


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client has sent: a file, and a translation memory for it, if there is one."""

    content: bytes
    memory: str = ""

    @property
    def digest(self) -> str:
        """Of both."""
        made = hashlib.sha256(self.content)
        if self.memory:
            made.update(hashlib.sha256(self.memory.encode()).digest())
        return made.hexdigest()


async def keep_file(
    key: FileKey, file: KeptFile, sent: Sent, request: Request, who: Caller, parts: Services
) -> FileState:
    """Keep a file until it is translated. Its sentences count against its key's limits.

    Raises:
        AntecedentError: it, or its memory, cannot be read, or is too long; no model serves its languages; there is no
            room for it; or another one has its id.
    """
    content = sent.content
    parts.models.catalogue.choose(file.source_lang, file.target_lang, file.model)
    check_size(file.name, content, parts.limits)
    languages = file.source_lang, file.target_lang
    memory = await in_thread_if_long(lambda: memory_of(sent.memory, languages, parts.limits), [sent.memory])
    await parts.files.check_room(key, len(content))
    read = await read_file(parts.documents, file, content)
    sentences = read.text.sentences
    parts.documents.check_sentences(sentences)
    kept = replace(
        file,
        sentences=len(sentences),
        characters=len(read.source),
        digest=sent.digest,
    )
    async with admitted(request, parts, who, counted([read.text])):
        await parts.files.keep(key, kept, content, found_in(memory, read.text))
    return _checked(kept, await parts.files.state(key))


async def file_there(key: FileKey, file: KeptFile, sent: Sent, parts: Services) -> FileState | None:
    """What has become of a file that a replica has taken already, and which stays; None where it is to be kept.

    Raises:
        FileConflictError: another one has its id.
        StoreUnavailableError: Redis is away.
    """
    try:
        state = await parts.files.state(key)
    except FileUnknownError:
        return None
    there = state.file
    same = replace(file, sentences=there.sentences, characters=there.characters, digest=sent.digest)
    if _checked(same, state).status == "queued":
        return None
    await parts.files.stay(key, len(sent.content))  # whoever was sent it may have died once it was in the queue
    return state


def _checked(sent: KeptFile, state: FileState) -> FileState:
    if state.file != sent:
        raise FileConflictError
    return state


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
