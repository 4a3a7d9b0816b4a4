"""Files by DeepL's interface: sent, translated one after the other, and asked for when they are ready."""

import asyncio
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response

from service.deepl import files
from service.deepl.bodies import FileHandle, FileKeyRequest, FileRequest, FileStatus
from service.deepl.file_kinds import kind_of
from service.deepl.glossaries import named_terms
from service.deepl.texts import Asked, counted, read_texts, source_of
from service.http.form_body import body_of, members_of
from service.http.multipart import file_of
from service.routes.dependencies import CallerDep, ServicesDep, admitted
from service.store.files import FileKey

router = APIRouter(prefix="/v2/document", include_in_schema=False)


async def _sent(request: Request) -> tuple[FileRequest, files.SentFile]:
    members, upload = await file_of(request)
    body = body_of(FileRequest, {"filename": upload.name} | members)
    return body, await asyncio.to_thread(files.SentFile.of, body, upload.content)


async def _key(request: Request) -> str:
    return body_of(FileKeyRequest, await members_of(request)).document_key


@router.post("")
async def send_file(
    who: CallerDep,
    sent: Annotated[tuple[FileRequest, files.SentFile], Depends(_sent)],
    request: Request,
    parts: ServicesDep,
) -> FileHandle:
    """Keeps a file until it is translated, at once if nothing waits. Its sentences count against its key's limits."""
    body, file = sent
    models = parts.models.catalogue
    text = files.as_text(
        file.name,
        file.text,
        target_lang=body.target_lang,
        source_lang=body.source_lang,
        glossary_id=body.glossary_id,
    )
    source_lang = source_of(text, models.models)
    models.choose(source_lang, body.target_lang, None)
    asked = Asked(text, source_lang, await named_terms(parts.glossaries, who.tenant, text, source_lang))
    read = await read_texts(parts.documents, asked)
    for each in read:
        parts.documents.check_sentences(each.sentences)
    await parts.files.check_room(who.tenant)
    sentences = counted(read)
    async with admitted(request, parts, who, sentences):
        key = FileKey(who.tenant, parts.new_id())
        return await files.keep(parts.files, key, file, asked, sentences, parts.new_id())


@router.post("/{document_id}", response_model_exclude_none=True)
async def tell_status(
    document_id: str, secret: Annotated[str, Depends(_key)], who: CallerDep, parts: ServicesDep
) -> FileStatus:
    """Says what has become of a file."""
    return await files.status(parts.files, FileKey(who.tenant, document_id), secret)


@router.post("/{document_id}/result")
async def give_result(
    document_id: str, secret: Annotated[str, Depends(_key)], who: CallerDep, parts: ServicesDep
) -> Response:
    """The translation of a file, under the file's name."""
    name, content = await files.translation(parts.files, FileKey(who.tenant, document_id), secret)
    return Response(
        content,
        media_type=kind_of(name).media_type,
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"},
    )
