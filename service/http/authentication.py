"""Authentication of requests, before any of their body is read."""

from collections.abc import Sequence

import structlog
from fastapi.security.utils import get_authorization_scheme_param
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.access.keyring import Access
from service.errors import ServiceError
from service.http.handlers import refuse
from service.telemetry.metrics import Metrics

PROTECTED = ("/v1/", "/v2/", "/v3/")
"""Prefixes of the paths that need a key, whether they exist or not; all others need none."""
_SCHEMES = ("bearer", "deepl-auth-key")
KEY_SUBPROTOCOL = "antecedent.key."
"""Prefix of a key sent as a WebSocket's subprotocol: browsers let a page set no header of the handshake."""


class AuthenticationMiddleware:
    """Refuses requests without a valid key; the caller of any other is put into its `state.caller`.

    The application's `state.access` identifies callers.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        if scope["type"] != "lifespan" and scope["path"].startswith(PROTECTED):
            access: Access = scope["app"].state.access
            try:
                caller = scope["state"]["caller"] = access.identify(presented_key(scope))
            except ServiceError as error:
                await refuse(error, self._metrics, scope, receive, send)
                return
            with structlog.contextvars.bound_contextvars(key=caller.key_id):
                await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def presented_key(scope: Scope) -> str | None:
    """Return the key presented: the token of a header, else a subprotocol; None if there is neither."""
    scheme, token = get_authorization_scheme_param(Headers(scope=scope).get("authorization"))
    if scheme.lower() in _SCHEMES and token:
        return token
    offered: Sequence[str] = scope.get("subprotocols", ())
    return next((name.removeprefix(KEY_SUBPROTOCOL) for name in offered if name.startswith(KEY_SUBPROTOCOL)), None)
