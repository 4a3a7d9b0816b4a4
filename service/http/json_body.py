"""Request bodies, read as strict JSON (RFC 8259, I-JSON) or refused with what is wrong with them."""

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
    """A route whose body, if it takes one, is strict JSON; for use as the `route_class` of a router.

    The limits of every body are the application's `state.json_limits`.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, given a request that reads its body strictly."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def strictly(request: Request) -> Response:
            if not is_json(request.headers.get("content-type", "")):
                raise HTTPException(415, "the body must be JSON, with Content-Type: application/json")
            strict = StrictRequest(request.scope, request.receive)
            if not await strict.body():  # FastAPI would not parse it, and report its members as missing
                raise HTTPException(400, "the body is empty, but must be JSON")
            return await handle(strict)

        return strictly


class StrictRequest(Request):
    """A request whose body must not be compressed, and is parsed as strict JSON."""

    async def body(self) -> bytes:
        """Return all of the body.

        Raises:
            HTTPException: it is compressed.
            ClientLeftError: the client left before its end, which FastAPI would report as a malformed request.
        """
        refuse_compressed(self.headers)
        try:
            return await super().body()
        except ClientDisconnect:
            raise ClientLeftError from None

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the parsed body.

        Raises:
            HTTPException: it is not JSON, or not strict JSON.
        """
        try:
            return parse(await self.body(), self.app.state.json_limits)
        except NotStrictJsonError as error:
            raise HTTPException(400, f"the body {error}") from None


def refuse_compressed(headers: Headers) -> None:
    """Refuse a compressed body.

    Raises:
        HTTPException: it is compressed.
    """
    if headers.get("content-encoding", "identity").lower() != "identity":
        message = "the body must be sent without a Content-Encoding"
        raise HTTPException(415, message, headers={"Accept-Encoding": "identity"})


def is_json(content_type: str) -> bool:
    """Return whether a Content-Type names JSON: `application/json`, or one like `application/problem+json`."""
    header = Message()
    header["Content-Type"] = content_type
    subtype = header.get_content_subtype()
    return header.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
