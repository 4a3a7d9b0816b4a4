"""The OpenAPI document: what FastAPI derives from the routes, and what it cannot know."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from service.http.examples import EXAMPLES, ID
from service.schemas.body import Body
from service.schemas.documents import DocumentEnd, StreamedSentence
from service.schemas.files import FileForm
from service.schemas.problems import Problem

DESCRIPTION: Final = """\
Antecedent translates each sentence of a document together with the sentences before it.

- **Documents** are translated whole, in one request. The answer is JSON, or server-sent events: one for each sentence
  as soon as it is ready.
- **Files** are documents, too: text, HTML, subtitles, Word documents, slides, spreadsheets, books and message
  catalogues. They are queued, translated while the client does something else, and fetched when they are ready.
- **Sessions** are documents that grow. Each sentence has a position, from 0. Sending the same text at the same position
  again is a retry, and gets the same answer. An `Idempotency-Key` does the same for sentences without a position, and
  for creating a session and sending a file.
- **Streams**: the WebSocket `/v1/sessions/{session_id}/stream` accepts the sentences of a session without waiting for
  each answer, and returns the translations in order. OpenAPI cannot describe it; see `docs/streams.md`.

Every error is a problem as defined by RFC 9457, with a `code` that never changes; `docs/errors.md` explains what to do
about each. If trying again may help, `retryable` is true and `Retry-After` says when. Every answer has an
`X-Request-ID`: that of the request if it is valid, otherwise a new one. If tracing is on, a `traceparent` header (W3C
Trace Context) is followed.
"""

TAGS: Final = [
    {"name": "documents", "description": "Whole documents, each in one request."},
    {"name": "files", "description": "Files, each translated as one document into a file of the same kind."},
    {"name": "sessions", "description": "Documents that grow sentence by sentence; see also `docs/streams.md`."},
    {"name": "models", "description": "The loaded models. Changing them requires a key with the scope `admin`."},
    {"name": "operation", "description": "Probes, metrics, and the limits of this service."},
]

_SERVERS: Final[list[dict[str, Any]]] = [{"url": ".", "description": "The service that this document is from."}]
"""Relative to the document's own address, in which a proxy may put a path before the service's."""
_HEADERS: Final[dict[str, Any]] = {
    "X-Request-ID": {
        "description": "The id of the request in the service's log: the request's own if valid, otherwise a new one.",
        "schema": {"type": "string"},
        "example": ID,
    },
    "Retry-After": {
        "description": "The number of seconds after which the same request may succeed.",
        "schema": {"type": "integer", "minimum": 0},
        "example": 1,
    },
    "RateLimit": {
        "description": "How many sentences the key has left (`r`), and in how many seconds it gets more (`t`); only "
        "if it has a limit.",
        "schema": {"type": "string"},
        "example": '"default";r=118;t=1',
    },
    "RateLimit-Policy": {
        "description": "How many sentences (`q`) the key may send in how many seconds (`w`); only if it has a limit.",
        "schema": {"type": "string"},
        "example": '"default";q=120;w=60',
    },
}
_NOT_OF_ROUTES: Final = (Problem, StreamedSentence, DocumentEnd)
"""Bodies that no route names as its answer: those of errors and of events."""
_FORMS: Final = (FileForm,)
"""Bodies that are forms, which the routes parse themselves."""
_FASTAPIS_OWN: Final = "#/components/schemas/HTTPValidationError"
"""The 422 answer that FastAPI adds to every operation with parameters, unless it declares its own."""
_REQUEST_ID_PARAMETER: Final = {
    "name": "X-Request-ID",
    "in": "header",
    "required": False,
    "description": "The id of the request in the service's log: at most 64 letters, digits, `.`, `_` and `-`.",
    "schema": {"type": "string"},
}


class DescribedAPI(FastAPI):
    """An application whose OpenAPI document says all that a client needs to know."""

    def openapi(self) -> dict[str, Any]:
        """Return the document, which is built at the first call."""
        if self.openapi_schema is None:
            self.openapi_schema = _complete(
                get_openapi(
                    title=self.title,
                    version=self.version,
                    summary=self.summary,
                    description=DESCRIPTION,
                    routes=self.routes,
                    tags=TAGS,
                    license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
                    servers=_SERVERS,
                )
            )
        return self.openapi_schema


def _complete(schema: dict[str, Any]) -> dict[str, Any]:
    components = schema.setdefault("components", {})
    components["headers"] = _HEADERS
    components.setdefault("parameters", {})["RequestId"] = _REQUEST_ID_PARAMETER
    schemas = components.setdefault("schemas", {})
    schemas |= {kind.__name__: _of_no_route(kind) for kind in _NOT_OF_ROUTES}
    schemas |= {kind.__name__: _of_form(kind) for kind in _FORMS}
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for name, body in schemas.items():
        if name in EXAMPLES:
            body["examples"] = [EXAMPLES[name]]
    for operation in _operations(schema):
        if _FASTAPIS_OWN in str(operation["responses"].get("422")):
            del operation["responses"]["422"]
        operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/RequestId"})
        for response in operation["responses"].values():
            response.setdefault("headers", {})["X-Request-ID"] = {"$ref": "#/components/headers/X-Request-ID"}
    return schema


def _of_no_route(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a body that no route names; routes do name the schemas it refers to."""
    schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return schema


def _of_form(kind: type[Body]) -> dict[str, Any]:
    """Return the schema of a form, which cannot hold null: a field without a value is empty, or left out.

    Swagger UI fills in each field by its example or default, or else with the word "string".
    """
    schema = kind.model_json_schema()
    for name, field in schema["properties"].items():
        field.update(field.pop("anyOf", [{}])[0])
        if name in schema["required"]:
            field["examples"] = [EXAMPLES[kind.__name__][name]]
        elif field.get("default") is None:
            field.pop("default", None)
            if field["type"] == "string":
                field["default"] = ""
                del field["minLength"]
    return schema


def _operations(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in schema["paths"].values():
        yield from path.values()
