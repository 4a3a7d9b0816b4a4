"""The middleware around the routes, and its order."""

from collections.abc import Callable
from typing import Final

from fastapi import FastAPI
from opentelemetry.trace import Tracer
from starlette.middleware.cors import CORSMiddleware

from service.http.authentication import AuthenticationMiddleware
from service.http.body_limit import BodyLimitMiddleware
from service.http.hosts import LoopbackHostMiddleware
from service.http.middleware import REQUEST_ID, RequestMiddleware
from service.http.origins import OriginMiddleware
from service.http.security import SecurityHeadersMiddleware
from service.http.tracing import TraceMiddleware
from service.settings import Settings
from service.strict_json import JsonLimits
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER

_MOST_OF_STRANGERS: Final = 2**17
"""Most bytes of a body that holds the key: from a client without one, more would be read and parsed for nothing."""
_FORM_BYTES: Final = 2**20
"""Bytes that a body with a file may have besides the file."""
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_MAY_BE_SENT: Final = ("Authorization", "Content-Type", "Idempotency-Key", "traceparent", REQUEST_ID)
_MAY_BE_READ: Final = ("Content-Disposition", "RateLimit", "RateLimit-Policy", "Retry-After", REQUEST_ID)


def install(app: FastAPI, settings: Settings, metrics: Metrics, tracer: Tracer, new_id: Callable[[], str]) -> None:
    """Add the middleware, innermost first: each sees only the requests that those added after it let through."""
    app.state.json_limits = _json_limits(settings)
    app.add_middleware(BodyLimitMiddleware, most=settings.max_body_bytes, most_at=_most_at(settings))
    app.add_middleware(AuthenticationMiddleware, metrics=metrics)
    app.add_middleware(OriginMiddleware, allowed=settings.cors_origins, metrics=metrics)
    if settings.keys == "none":
        app.add_middleware(LoopbackHostMiddleware, metrics=metrics)
    app.add_middleware(RequestMiddleware, metrics=metrics, new_id=new_id)
    if tracer is not NO_TRACER:
        app.add_middleware(TraceMiddleware, tracer=tracer)
    if settings.cors_origins:  # around errors too: a page could not read them otherwise
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=_METHODS,
            allow_headers=_MAY_BE_SENT,
            expose_headers=_MAY_BE_READ,
        )
    app.add_middleware(SecurityHeadersMiddleware)


def _most_at(settings: Settings) -> dict[str, int]:
    """Return the limits on bodies in bytes, by the prefix of the path."""
    with_files = dict.fromkeys(("/v1/files", "/v2/document"), settings.max_file_bytes + _FORM_BYTES)
    return with_files | {"/libretranslate/": min(settings.max_body_bytes, _MOST_OF_STRANGERS)}


def _json_limits(settings: Settings) -> JsonLimits:
    """Allow twice the values of the largest document: one slightly larger then gets the error that says so."""
    sentences = settings.max_document_sentences + settings.max_context_sentences
    values = sentences + 2 * (settings.max_glossary_terms + settings.max_memory_segments)  # each of them has two
    return JsonLimits(settings.max_json_depth, 2 * values + 100)
