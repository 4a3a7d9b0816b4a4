"""Request bodies that may be forms, as clients of other services send them."""

import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from service.http.json_body import StrictRequest, is_json
from service.http.multipart import MULTIPART, fields_of
from service.http.origins import media_type

_FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 256
"""More fields than any form here has; each unknown one costs an error."""
_TWICE: Final = "the body has a field more than once"
_OF_AN_ELEMENT: Final = re.compile(r"(\w+)\[(0|[1-9]\d?)\]\.(\w+)", re.ASCII)


_Body = TypeVar("_Body", bound=BaseModel)


def body_of(kind: type[_Body], members: dict[str, Any]) -> _Body:
    """Return the body with these members.

    Raises:
        RequestValidationError: they do not make up a body of this `kind`.
    """
    try:
        return kind.model_validate(members)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def members_of(
    request: Request, *, lists: frozenset[str] = frozenset(), in_address: bool = False
) -> dict[str, Any]:
    """Return the members of a body that is JSON, or a form that may repeat those in `lists`.

    Args:
        in_address: the fields of a form may be in the address as well, in which case no body is needed.

    Raises:
        HTTPException: the body is neither, or is not well-formed.
    """
    if is_json(request.headers.get("content-type", "")):
        members = await StrictRequest(request.scope, request.receive).json()
        if not isinstance(members, dict):
            raise HTTPException(400, "the body must be an object")
        return members
    fields = _fields(request.scope["query_string"]) if in_address else []
    if not fields or media_type(request.headers):
        fields += await _fields_of_body(request)
    return _grouped(fields, lists)


def with_elements(members: dict[str, Any]) -> dict[str, Any]:
    """Gather form fields such as `name[0].member` into lists of elements, here `name`.

    Raises:
        HTTPException: `name` itself is a field as well.
    """
    lists: dict[str, dict[int, dict[str, Any]]] = {}
    others = {}
    for name, value in members.items():
        if found := _OF_AN_ELEMENT.fullmatch(name):
            lists.setdefault(found[1], {}).setdefault(int(found[2]), {})[found[3]] = value
        else:
            others[name] = value
    if lists.keys() & others.keys():
        raise HTTPException(400, _TWICE)
    return others | {name: [elements[place] for place in sorted(elements)] for name, elements in lists.items()}


async def _fields_of_body(request: Request) -> list[tuple[str, str]]:
    kind = media_type(request.headers)
    if kind == MULTIPART:
        return await fields_of(request, _MOST_FIELDS)
    if kind != _FORM:
        raise HTTPException(415, f"the body must be JSON, with Content-Type: application/json, {_FORM} or {MULTIPART}")
    return _fields(await StrictRequest(request.scope, request.receive).body())


def _fields(form: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(form.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, "the body is not UTF-8, or has too many fields") from None


def _grouped(fields: Iterable[tuple[str, str]], lists: frozenset[str]) -> dict[str, Any]:
    grouped: dict[str, list[str]] = {}
    for name, value in fields:
        grouped.setdefault(name, []).append(value)
    return {name: values if name in lists else _single(values) for name, values in grouped.items()}


def _single(values: list[str]) -> str:
    if len(values) > 1:
        raise HTTPException(400, _TWICE)
    return values[0]
