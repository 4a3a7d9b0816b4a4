"""The errors of an operation in the OpenAPI document: their statuses, and an example of each code."""

import inspect
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from models.errors import AntecedentError
from service.errors import InvalidInputError, ServiceError
from service.http.examples import ID
from service.http.problems import HTTP_CODES, PROBLEM_TYPE, problem, status_of, title_of

Responses = dict[int | str, dict[str, Any]]
"""`responses` of a FastAPI route."""

_PROBLEM: Final = {"$ref": "#/components/schemas/Problem"}
_OF_A_QUOTA: Final = ("RateLimit-Policy", "RateLimit")


@dataclass(frozen=True, slots=True)
class Described:
    """An error as described in the OpenAPI document and docs/errors.md; `retry_after` is in seconds, or None."""

    code: str
    status: int
    retryable: bool
    retry_after: int | None
    meaning: str


def described(kind: type[AntecedentError]) -> Described:
    """Describe a class of errors; its meaning is the first line of its docstring."""
    retry_after = kind.retry_after if issubclass(kind, ServiceError) else None
    meaning = inspect.getdoc(kind) or ""
    return Described(kind.code, status_of(kind), kind.retryable, retry_after, meaning.partition("\n")[0])


INTERNAL_ERROR: Final = Described("internal_error", 500, False, None, "An unexpected error occurred in the service.")
_MEANINGS: Final = {
    400: "The body is not JSON, or not as strict as is required here.",
    404: "There is nothing at this path.",
    405: "The path does not support this method.",
    413: "The body is larger than the service accepts.",
    415: "The body is not declared as JSON, or is compressed.",
}
FRAMEWORK_ERRORS: Final = {
    status: Described(HTTP_CODES[status], status, False, None, meaning) for status, meaning in _MEANINGS.items()
}
"""Errors that occur before a request reaches a route, by status."""
_OF_BODIES: Final = (FRAMEWORK_ERRORS[400], FRAMEWORK_ERRORS[413], FRAMEWORK_ERRORS[415])


def problems(*kinds: type[AntecedentError], body: bool = False, checked: bool = True) -> Responses:
    """Return a route's errors by status: `kinds`, those of a `body` and of `checked` input, and unforeseen ones."""
    found = [described(kind) for kind in kinds]
    if body:
        found += _OF_BODIES
    if checked:
        found.append(described(InvalidInputError))
    by_status: defaultdict[int, list[Described]] = defaultdict(list)
    for each in [*found, INTERNAL_ERROR]:
        by_status[each.status].append(each)
    return {status: _response(status, by_status[status]) for status in sorted(by_status)}


def links(parameters: Mapping[str, str], *operations: str) -> dict[str, Any]:
    """Return the links of an answer: operations by id, with parameters taken from the answer or its request."""
    return {"links": {each: {"operationId": each, "parameters": dict(parameters)} for each in operations}}


def _response(status: int, errors: list[Described]) -> dict[str, Any]:
    examples = {error.code: {"summary": error.meaning, "value": _example(error)} for error in errors}
    codes = ", ".join(f"`{code}`" for code in examples)
    return {
        "description": f"{title_of(status)}: {codes}.",
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in _headers(status, errors)},
        "content": {PROBLEM_TYPE: {"schema": _PROBLEM, "examples": examples}},
    }


def _headers(status: int, errors: list[Described]) -> list[str]:
    """Return the headers that errors of a status may have, besides those of every answer."""
    later = ["Retry-After"] if any(error.retry_after is not None for error in errors) else []
    return [*later, *(_OF_A_QUOTA if status == HTTPStatus.TOO_MANY_REQUESTS else ())]


def _example(error: Described) -> dict[str, Any]:
    return problem(error.status, error.code, error.meaning, ID, retryable=error.retryable)
