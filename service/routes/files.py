"""Files: sent, translated one after the other, and fetched when they are ready."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request, Response, status

from models.errors import SentenceTooLongError
from service.errors import (
    FileConflictError,
    FileFailedError,
    FileNotReadyError,
    FileUnknownError,
    StoreUnavailableError,
    TooManyFilesError,
)
from service.files.outcome import problem_of, seconds_remaining, state_of
from service.http.form_body import body_of
from service.http.multipart import file_of
from service.http.responses import links, problems
from service.routes.dependencies import ID, CallerDep, IdempotencyKey, Services, ServicesDep, unless_client_leaves
from service.routes.raised import BY_CHOICE, BY_KEY, BY_LIMITS
from service.routes.sent_files import Sent, attached, file_there, keep_file
from service.schemas.files import FileForm, FileInfo, FileList
from service.store.files import FileKey, FileState, KeptFile
from service.texts.term_lines import rows_of_tsv, terms_of_rows
from service.use_cases.idempotency import id_of
from service.use_cases.terms import written

_MOST_WAIT_SECONDS: Final = 60
_BYTES: Final = "application/octet-stream"
"""Of all translations: what they are is in their names, and generated clients would take them for text."""


_FORM: Final = {
    "requestBody": {
        "required": True,
        "content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/FileForm"}}},
    }
}
_TRANSLATION: Final = {
    "description": "The translated file, under the name of the original.",
    "content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}},
    "headers": {"Content-Disposition": {"schema": {"type": "string"}}},
}
_BY_FILE: Final = (FileUnknownError, StoreUnavailableError)

router = APIRouter(prefix="/v1/files", tags=["files"])


async def _sent(request: Request) -> FileForm:
    """Return the form; an empty field counts as missing, since browsers send those that nobody has filled in."""
    members, upload = await file_of(request)
    filled = {name: value for name, value in members.items() if value != ""}
    return body_of(FileForm, {"filename": upload.name} | filled | {"file": upload.content})


async def _key(file_id: str, who: CallerDep) -> FileKey:
    if ID.fullmatch(file_id) is None:
        raise FileUnknownError
    return FileKey(who.tenant, file_id)


KeyDep = Annotated[FileKey, Depends(_key)]
WaitSeconds = Annotated[
    float, Query(ge=0, le=_MOST_WAIT_SECONDS, description="How long to wait for the file to be translated or to fail.")
]


@router.post(
    "",
    status_code=status.HTTP_202_ACCEPTED,
    operation_id="sendFile",
    summary="Send a file to be translated",
    openapi_extra=_FORM,
    responses=problems(
        *BY_LIMITS,
        *BY_CHOICE,
        SentenceTooLongError,
        FileConflictError,
        TooManyFilesError,
        StoreUnavailableError,
        body=True,
    )
    | {
        status.HTTP_202_ACCEPTED: links(
            {"file_id": "$response.body#/id"}, "readFile", "readTranslatedFile", "deleteFile"
        )
    },
)
async def send_file(
    who: CallerDep,
    body: Annotated[FileForm, Depends(_sent)],
    request: Request,
    parts: ServicesDep,
    idempotency_key: IdempotencyKey = None,
) -> FileInfo:
    """The file is one document, and waits in Redis until a replica translates it. Its sentences count as usual.

    Errors that can be found without translating the file are reported at once. A request with the same Idempotency-Key
    is a retry and gets the same file, as long as that is kept. Use a new random key for each file.
    """
    terms = terms_of_rows("glossary", rows_of_tsv("glossary", body.glossary), parts.limits)
    key = FileKey(who.tenant, parts.new_id() if idempotency_key is None else id_of("file", who.tenant, idempotency_key))
    file = KeptFile(
        body.filename,
        body.source_lang,
        body.target_lang,
        written(terms),
        model=body.model,
        strategy=body.strategy,
        beam_size=body.beam_size,
    )
    sent = Sent(body.file, body.memory)
    there = None if idempotency_key is None else await file_there(key, file, sent, parts)
    return _info(key, there or await keep_file(key, file, sent, request, who, parts))


@router.head("", include_in_schema=False)
@router.get(
    "",
    operation_id="listFiles",
    summary="List the files that are kept",
    responses=problems(*BY_KEY, StoreUnavailableError, checked=False),
)
async def list_files(who: CallerDep, parts: ServicesDep) -> FileList:
    """All files that the tenant has sent here and not deleted, until they expire: a way to find ids that were lost.

    Of the files that were fetched or have failed, only the last 1000 may be listed.
    """
    found = await parts.files.all(who.tenant)
    return FileList(files=[_info(key, state) for key, state in found if not state.file.secret])


@router.head("/{file_id}", include_in_schema=False)
@router.get(
    "/{file_id}",
    operation_id="readFile",
    summary="Read the status of a file",
    responses=problems(*BY_KEY, *_BY_FILE),
)
async def read_file(key: KeyDep, request: Request, parts: ServicesDep, wait_seconds: WaitSeconds = 0) -> FileInfo:
    """With `wait_seconds`, the answer waits until the file is translated or has failed, but no longer than that."""
    return _info(key, await _settled(key, request, parts, wait_seconds))


@router.head("/{file_id}/translation", include_in_schema=False)
@router.get(
    "/{file_id}/translation",
    operation_id="readTranslatedFile",
    summary="Fetch a translated file",
    response_class=Response,
    responses=problems(*BY_KEY, *_BY_FILE, FileNotReadyError, FileFailedError) | {status.HTTP_200_OK: _TRANSLATION},
)
async def read_translation(
    key: KeyDep, request: Request, parts: ServicesDep, wait_seconds: WaitSeconds = 0
) -> Response:
    """Once fetched, it can be fetched again for ten minutes, but no longer counts towards `max_files`.

    With `wait_seconds`, the answer waits until the file is translated or has failed, but no longer than that.
    """
    state = await _settled(key, request, parts, wait_seconds)
    return await attached(request, parts.files, key, state, _BYTES)


@router.delete(
    "/{file_id}",
    status_code=status.HTTP_204_NO_CONTENT,
    operation_id="deleteFile",
    summary="Delete a file",
    responses=problems(*BY_KEY, *_BY_FILE, checked=False),
)
async def delete_file(key: KeyDep, parts: ServicesDep) -> None:
    """The file and its translation are deleted at once. If it is being translated, that stops."""
    await state_of(parts.files, key)
    await parts.files.delete(key)


async def _settled(key: FileKey, request: Request, parts: Services, seconds: float) -> FileState:
    waiting = state_of(parts.files, key, wait_seconds=seconds, draining=lambda: parts.draining)
    return await unless_client_leaves(request, waiting)


def _info(key: FileKey, state: FileState) -> FileInfo:
    file = state.file
    return FileInfo(
        id=key.id,
        filename=file.name,
        status=state.status,
        source_lang=file.source_lang,
        target_lang=file.target_lang,
        sentences=file.sentences,
        translated=file.sentences if state.status == "done" else state.sentences,
        unsure=state.unsure,
        seconds_remaining=seconds_remaining(state),
        problem=problem_of(state),
    )
