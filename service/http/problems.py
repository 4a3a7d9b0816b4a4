"""Errors as RFC 9457 problem details: their members, status and headers."""

import re
from collections.abc import Mapping
from typing import Any

from models.errors import AntecedentError, BundleError, RequestError
from service.errors import ServiceError

PROBLEM_TYPE = "application/problem+json"

HTTP_CODES = {
    400: "malformed_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "unsupported_media_type",
}
"""Codes of errors that occur before a request reaches a route."""

_TITLES = {
    400: "Bad request",
    401: "Unauthenticated",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    410: "Gone",
    413: "Content too large",
    415: "Unsupported media type",
    422: "Cannot be processed",
    426: "Upgrade required",
    429: "Too many requests",
    499: "Client closed request",
    500: "Internal error",
    503: "Service unavailable",
    504: "Deadline exceeded",
}


_WORDS = {
    "extra_forbidden": "unknown member",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}
"""Messages in place of pydantic's, which are about Python."""
_NAME = re.compile(r"[\w-]{1,40}", re.ASCII)
"""What a client may have meant as the name of a member; an API key is longer."""


def status_of(kind: type[AntecedentError]) -> int:
    """Return the HTTP status of any class of errors that are raised on purpose."""
    if issubclass(kind, ServiceError):
        return kind.status
    return 422 if issubclass(kind, RequestError | BundleError) else 500


def title_of(status: int) -> str:
    """Return what a status means, in words that do not change."""
    return _TITLES.get(status, "Error")


def problem_of(error: AntecedentError, request_id: str) -> dict[str, Any]:
    """Return the members of the RFC 9457 problem that tells a client of `error`."""
    return problem(status_of(type(error)), error.code, str(error), request_id, retryable=error.retryable) | error.extras


def message_of(error: AntecedentError, request_id: str) -> dict[str, Any]:
    """Return the members of a problem sent without headers: when to try again is one of them."""
    members = problem_of(error, request_id)
    if isinstance(error, ServiceError) and error.retry_after is not None:
        members["retry_after_seconds"] = error.retry_after
    return members


def problem(status: int, code: str, detail: str, request_id: str, *, retryable: bool = False) -> dict[str, Any]:
    """Return the members that every problem of a request has."""
    return cause(status, code, detail, retryable=retryable) | {"request_id": request_id}


def cause_of(error: AntecedentError) -> dict[str, Any]:
    """Return the members of a problem that tells of `error`, but does not answer the request that caused it."""
    return cause(status_of(type(error)), error.code, str(error), retryable=error.retryable) | error.extras


def cause(status: int, code: str, detail: str, *, retryable: bool = False) -> dict[str, Any]:
    """Return the members that every problem has."""
    return {
        "type": f"urn:antecedent:error:{code}",
        "title": title_of(status),
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": retryable,
    }


def headers_of(error: AntecedentError) -> dict[str, str]:
    """Return the header fields of the answer that tells a client of `error`."""
    return error.headers() if isinstance(error, ServiceError) else {}


def mistake(error: Mapping[str, Any]) -> str:
    """Say what is wrong with a value that pydantic refuses, and where, but not the value or a name that may be text."""
    where = ".".join(part if _NAME.fullmatch(part) else "?" for part in map(str, error["loc"]))
    return f"{where}: {reason(error)}" if where else reason(error)


def reason(error: Mapping[str, Any]) -> str:
    """Say what is wrong with a value that pydantic refuses."""
    return _WORDS.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
