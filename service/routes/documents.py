"""Whole documents."""

from contextlib import AsyncExitStack

from fastapi import APIRouter, Request, Response

from service.deadline import moment_in, until
from service.http.json_body import StrictRoute
from service.http.responses import problems
from service.routes.dependencies import CallerDep, ServicesDep, admitted, unless_client_leaves
from service.routes.document_events import EVENTS, DocumentEvents, wants_events
from service.routes.raised import BY_CHOICE, BY_LIMITS, BY_TRANSLATING
from service.schemas.documents import DocumentAnswer, DocumentRequest

router = APIRouter(prefix="/v1", tags=["documents"], route_class=StrictRoute)


@router.post(
    "/documents",
    operation_id="translateDocument",
    summary="Translate a whole document",
    response_model=DocumentAnswer,
    responses=problems(*BY_LIMITS, *BY_CHOICE, *BY_TRANSLATING, body=True) | {200: EVENTS},
)
async def translate_document(
    body: DocumentRequest, request: Request, who: CallerDep, parts: ServicesDep
) -> DocumentAnswer | Response:
    """Translates each sentence together with those before it. No session is needed.

    With `Accept: text/event-stream`, the answer is server-sent events, each sent as soon as it is ready: `sentence` (a
    `StreamedSentence`) for each sentence in order, then `done` (a `DocumentEnd`). If something goes wrong, `error` (a
    `Problem`) takes the place of the rest. An error before the first sentence is answered as it is without events,
    unless no sentence is ready within `ANTECEDENT_STREAM_PING_SECONDS`: then, to keep the connection alive, the answer
    begins with status 200, and any later error is an event.
    """
    deadline = moment_in(body.deadline_seconds)
    async with AsyncExitStack() as held, until(deadline):
        prepared = await held.enter_async_context(parts.documents.prepare(body))
        counted = max(1, len(prepared.sentences))  # a text without sentences has been split as well
        await held.enter_async_context(admitted(request, parts, who, counted))
        as_events = wants_events(request)
        stream = held.enter_context(parts.documents.stream(prepared, awaited=as_events))
        if not as_events:
            return await unless_client_leaves(request, stream.whole())
        await unless_client_leaves(request, stream.ready(parts.documents.ping_seconds))
        return DocumentEvents(stream, request, parts, held.pop_all(), deadline)
