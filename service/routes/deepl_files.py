"""Files through DeepL's interface: sent, translated one after the other, and fetched when they are ready."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from service.deepl.bodies.files import FileAnswer, FileHandle, FileKeyRequest, FileRequest
from service.deepl.files import check_format, status
from service.deepl.glossaries import named_terms
from service.files.kinds import kind_of
from service.files.outcome import state_of
from service.http.form_body import body_of, members_of
from service.http.multipart import file_of
from service.routes.dependencies import CallerDep, ServicesDep
from service.routes.sent_files import Sent, attached, keep_file
from service.store.files import FileKey, KeptFile
from service.texts.detection import source_of
from service.use_cases.terms import written

router = APIRouter(prefix="/v2/document", include_in_schema=False)


async def _sent(request: Request) -> tuple[FileRequest, bytes]:
    members, upload = await file_of(request)
    body = body_of(FileRequest, {"filename": upload.name} | members)
    check_format(body)
    return body, upload.content


async def _key(request: Request) -> str:
    return body_of(FileKeyRequest, await members_of(request)).document_key


SecretDep = Annotated[str, Depends(_key)]


@router.post("")
@router.post("/")  # as DeepL's client for Java sends it
async def send_file(
    who: CallerDep, sent: Annotated[tuple[FileRequest, bytes], Depends(_sent)], request: Request, parts: ServicesDep
) -> FileHandle:
    """Keeps a file until it is translated, at once if nothing waits."""
    body, content = sent
    source_lang = (await source_of(body.source_lang, body.target_lang, parts.models.catalogue.models)).language
    terms = await named_terms(parts.glossaries, who.tenant, body.glossary_id, (source_lang, body.target_lang))
    key = FileKey(who.tenant, parts.new_id())
    file = KeptFile(body.filename, source_lang, body.target_lang, written(terms), secret=parts.new_id())
    await keep_file(key, file, Sent(content), request, who, parts)
    return FileHandle(document_id=key.id, document_key=file.secret)


@router.post("/{document_id}", response_model_exclude_none=True)
async def tell_status(document_id: str, secret: SecretDep, who: CallerDep, parts: ServicesDep) -> FileAnswer:
    """Says what has become of a file."""
    key = FileKey(who.tenant, document_id)
    return status(key, await state_of(parts.files, key, secret=secret))


@router.post("/{document_id}/result")
async def give_result(
    document_id: str, secret: SecretDep, who: CallerDep, request: Request, parts: ServicesDep
) -> Response:
    """The translation of a file."""
    key = FileKey(who.tenant, document_id)
    state = await state_of(parts.files, key, secret=secret)
    return await attached(request, parts.files, key, state, kind_of(state.file.name).media_type)
