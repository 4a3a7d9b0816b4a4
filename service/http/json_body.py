"""Bodies of requests, read as JSON in the strict sense (RFC 8259, I-JSON) or refused with what is wrong with them."""

from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from service.errors import ClientLeftError
from service.strict_json import NotStrictJsonError, parse


class StrictRoute(APIRoute):
    """A route whose body, if it takes one, is strict JSON; give it to a router as its `route_class`.

    The application's `state.json_limits` are those of every body.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, given a request that reads its body strictly."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def strictly(request: Request) -> Response:
            if not is_json(request.headers.get("content-type", "")):
                raise HTTPException(415, "the body must be JSON, with Content-Type: application/json")
            strict = StrictRequest(request.scope, request.receive)
            if not await strict.body():  # FastAPI would not look for JSON in it, and miss its members
                raise HTTPException(400, "the body is empty, and must be JSON")
            return await handle(strict)

        return strictly


class StrictRequest(Request):
    """A request whose body is read as it is, and its JSON strictly."""

    async def body(self) -> bytes:
        """All of it.

        Raises:
            HTTPException: it is compressed.
            ClientLeftError: the client has left before its end, which FastAPI would take for a mistake of the client's.
        """
        refuse_compressed(self.headers)
        try:
            return await super().body()
        except ClientDisconnect:
            raise ClientLeftError from None

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Its value.

        Raises:
            HTTPException: it is no JSON, or not in the strict sense.
        """
        try:
            return parse(await self.body(), self.app.state.json_limits)
        except NotStrictJsonError as error:
            raise HTTPException(400, f"the body {error}") from None


def refuse_compressed(headers: Headers) -> None:
    """See to it that a body is as it was before anybody compressed it.

    Raises:
        HTTPException: it is compressed.
    """
    if headers.get("content-encoding", "identity").lower() != "identity":
        message = "the body must be sent without a Content-Encoding"
        raise HTTPException(415, message, headers={"Accept-Encoding": "identity"})


def is_json(content_type: str) -> bool:
    """Whether a Content-Type names JSON, `application/json` or one like `application/problem+json`."""
    header = Message()
    header["Content-Type"] = content_type
    subtype = header.get_content_subtype()
    return header.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
