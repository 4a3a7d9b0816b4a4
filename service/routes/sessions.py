"""Documents that grow sentence by sentence."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Request, status
from pydantic import BeforeValidator

from models.errors import SentenceTooLongError
from service.deadline import moment_in, until
from service.errors import (
    ModelNotReadyError,
    ModelRecordError,
    PositionConflictError,
    PositionExpiredError,
    PositionGapError,
    QueueFullError,
    SentenceFailedError,
    SentenceNotFoundError,
    SessionConflictError,
    SessionFullError,
    SessionModelNotLoadedError,
    SessionRateLimitedError,
    SessionsNotServedError,
    StoreUnavailableError,
)
from service.http.json_body import StrictRoute
from service.http.responses import links, problems
from service.routes.dependencies import (
    CallerDep,
    DocumentDep,
    IdempotencyKey,
    ServicesDep,
    admitted,
    unless_client_leaves,
)
from service.routes.raised import BY_CHOICE, BY_KEY, BY_LIMITS, BY_STORE, BY_TRANSLATING
from service.schemas.fields import MAX_POSITION
from service.schemas.sentences import TranslatedSentence
from service.schemas.sessions import (
    Correction,
    KeptSentence,
    SentenceRequest,
    SessionCreated,
    SessionRequest,
    SessionState,
)
from service.store.document import Entry
from service.use_cases.alternatives import as_sent
from service.use_cases.terms import segments_of, terms_of

_POSITION = re.compile(r"0|[1-9][0-9]*")


def _as_in_json(written: str) -> str:
    """Refuse what pydantic would take for a number, but JSON does not: 0.0, 0_0, +0, 00."""
    if _POSITION.fullmatch(written) is None:
        raise ValueError("must be digits without leading zeros")
    return written


Position = Annotated[int, Path(ge=0, le=MAX_POSITION), BeforeValidator(_as_in_json)]
router = APIRouter(prefix="/v1/sessions", tags=["sessions"], route_class=StrictRoute)


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    operation_id="createSession",
    summary="Begin a session",
    responses=problems(
        *BY_LIMITS,
        *BY_CHOICE,
        SessionsNotServedError,
        SessionConflictError,
        QueueFullError,
        StoreUnavailableError,
        body=True,
    )
    | {
        status.HTTP_201_CREATED: links(
            {"session_id": "$response.body#/session_id"}, "translateSentence", "readSession", "deleteSession"
        )
    },
)
async def create_session(
    body: SessionRequest,
    request: Request,
    who: CallerDep,
    parts: ServicesDep,
    idempotency_key: IdempotencyKey = None,
) -> SessionCreated:
    """Begins a document whose sentences are sent one by one and translated together with those before them.

    The request counts as one sentence. A request with the same Idempotency-Key is a retry and gets the same session,
    until the session expires. Use a new random key for each session.
    """
    async with admitted(request, parts, who, 1):
        return await parts.sessions.create(who.tenant, body, idempotency_key)


@router.post(
    "/{session_id}/sentences",
    operation_id="translateSentence",
    summary="Translate the next sentence",
    responses=problems(
        *BY_LIMITS,
        *BY_STORE,
        *BY_TRANSLATING,
        PositionConflictError,
        PositionGapError,
        PositionExpiredError,
        SessionFullError,
        SessionRateLimitedError,
        SentenceFailedError,
        SessionModelNotLoadedError,
        ModelNotReadyError,
        ModelRecordError,
        body=True,
    )
    | {
        status.HTTP_200_OK: links(
            {"session_id": "$request.path.session_id", "position": "$response.body#/position"}, "correctSentence"
        )
    },
)
async def translate_sentence(
    body: SentenceRequest,
    document: DocumentDep,
    request: Request,
    who: CallerDep,
    parts: ServicesDep,
    idempotency_key: IdempotencyKey = None,
) -> TranslatedSentence:
    """A request with the same text and the same position or Idempotency-Key is a retry, and gets the same answer."""
    async with until(moment_in(body.deadline_seconds)), admitted(request, parts, who, 1):
        answer = await unless_client_leaves(
            request,
            parts.sessions.translate(document, body.text, position=body.position, idempotency_key=idempotency_key),
        )
    parts.metrics.session_sentences.labels("request").inc()
    return answer


@router.patch(
    "/{session_id}/sentences/{position}",
    operation_id="correctSentence",
    summary="Correct a translation",
    responses=problems(
        *BY_KEY, *BY_STORE, SentenceNotFoundError, PositionExpiredError, SentenceTooLongError, body=True
    ),
)
async def correct_sentence(
    body: Correction, position: Position, document: DocumentDep, parts: ServicesDep
) -> KeptSentence:
    """Retries of the sentence get the correction. Later sentences are read with it if the model reads translations."""
    return _kept(await parts.sessions.correct(document, position, body.translation))


@router.head("/{session_id}", include_in_schema=False)
@router.get(
    "/{session_id}",
    operation_id="readSession",
    summary="Read a session",
    responses=problems(*BY_KEY, *BY_STORE, checked=False),
)
async def read_session(session_id: str, document: DocumentDep, parts: ServicesDep) -> SessionState:
    """`sentences` has those that are still kept: the unfinished ones, and those finished most recently."""
    state = await parts.sessions.read(document)
    session = state.session
    return SessionState(
        session_id=session_id,
        model=session.model,
        source_lang=session.source_lang,
        target_lang=session.target_lang,
        window=session.window,
        next_position=state.next_position,
        ttl_seconds=session.ttl_seconds,
        beam_size=session.beam_size,
        alternatives=session.alternatives,
        glossary=terms_of(session.glossary),
        memory=segments_of(session.memory),
        sentences=[_kept(entry) for entry in state.entries],
    )


@router.delete(
    "/{session_id}",
    status_code=status.HTTP_204_NO_CONTENT,
    operation_id="deleteSession",
    summary="Delete a session",
    responses=problems(*BY_KEY, *BY_STORE, checked=False),
)
async def delete_session(document: DocumentDep, parts: ServicesDep) -> None:
    """Its texts are deleted at once."""
    await parts.sessions.delete(document)


def _kept(entry: Entry) -> KeptSentence:
    answer = entry.answer
    return KeptSentence(
        position=entry.position,
        source=entry.source,
        translation=None if answer is None else answer.translation,
        score=None if answer is None else answer.score,
        context_size=None if answer is None else answer.context_size,
        alternatives=[] if answer is None else as_sent(answer.alternatives),
    )
