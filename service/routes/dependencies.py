"""What the routes depend on: the parts of the service, the caller, and answers that end when the client leaves."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Header, Request
from fastapi.security import HTTPBearer
from opentelemetry.trace import Tracer
from starlette.requests import HTTPConnection

from service.access.caller import Caller
from service.access.keyring import Access
from service.access.limiter import Limiter
from service.errors import ClientLeftError, SessionNotFoundError
from service.schemas.limits import Limits
from service.store.commands import Commands
from service.store.document import DocumentKey
from service.store.files import Files
from service.store.glossaries import Glossaries
from service.streams.open_streams import OpenStreams
from service.telemetry.metrics import Metrics
from service.use_cases.documents import Documents
from service.use_cases.model_changes import Models
from service.use_cases.sessions import Sessions

ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
"""What the id of a session or a file looks like."""
_T = TypeVar("_T")


@dataclass(slots=True)
class Services:
    """The running parts; `draining` is set once the process is about to end."""

    access: Access
    models: Models
    redis: Commands
    documents: Documents
    sessions: Sessions
    glossaries: Glossaries
    files: Files
    limiter: Limiter
    streams: OpenStreams
    limits: Limits
    metrics: Metrics
    tracer: Tracer
    new_id: Callable[[], str]
    draining: bool = False


async def services(connection: HTTPConnection) -> Services:
    """The parts that this application was started with."""
    running: Services = connection.app.state.services
    return running


ServicesDep = Annotated[Services, Depends(services)]
_BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    bearerFormat="ant_ID_SECRET",
    description="An API key. A service without keys, which listens on loopback only, needs none.",
)
_Declared = Annotated[object, Depends(_BEARER)]
"""Says in the API's description that a key is needed; `AuthenticationMiddleware` has seen to it by then."""


async def key_holder(connection: HTTPConnection, _key: _Declared) -> Caller:
    """Who asks for what every key may see."""
    who: Caller = connection.state.caller
    return who


KeyHolderDep = Annotated[Caller, Depends(key_holder)]


async def caller(who: KeyHolderDep) -> Caller:
    """Who asks for a translation.

    Raises:
        ForbiddenError: its key has another scope.
    """
    who.require("translate")
    return who


async def admin(who: KeyHolderDep) -> Caller:
    """Who asks for a change of the service itself.

    Raises:
        ForbiddenError: its key has another scope.
    """
    who.require("admin")
    return who


CallerDep = Annotated[Caller, Depends(caller)]
AdminDep = Annotated[Caller, Depends(admin)]
IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=255)]


async def document_key(session_id: str, who: CallerDep) -> DocumentKey:
    """The document that a session's id, in the path, stands for.

    Raises:
        SessionNotFoundError: no session can have this id.
    """
    if ID.fullmatch(session_id) is None:
        raise SessionNotFoundError
    return DocumentKey(who.tenant, session_id)


DocumentDep = Annotated[DocumentKey, Depends(document_key)]


@asynccontextmanager
async def admitted(request: Request, parts: Services, who: Caller, sentences: int) -> AsyncIterator[None]:
    """While it is open the request counts against its key's limits; how the quota stands goes with its answer.

    Raises:
        RateLimitedError, ConcurrencyLimitError: a limit is reached; see `Limiter.admit`.
    """
    async with parts.limiter.admit(who, sentences) as quota:
        if quota is not None:
            request.state.answer_headers.update(quota.headers())
        yield


async def unless_client_leaves(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Do the work of a request whose body has been read; cancel it when the client closes the connection.

    Raises:
        ClientLeftError: it has.
    """
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeftError
        return task.result()
    finally:
        for started in (task, gone):
            started.cancel()
        await asyncio.wait({task, gone})


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
