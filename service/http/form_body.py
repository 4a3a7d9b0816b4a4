"""Bodies of requests that may be forms, as the clients of other services send them."""

from typing import Any, Final, TypeVar
from urllib.parse import parse_qs

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from service.http.json_body import StrictRequest, is_json
from service.http.origins import media_type

_FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 128
"""More than any form that is read has; each that is not known costs an error."""


_Body = TypeVar("_Body", bound=BaseModel)


def body_of(kind: type[_Body], members: dict[str, Any]) -> _Body:
    """The body that members make up.

    Raises:
        RequestValidationError: they do not.
    """
    try:
        return kind.model_validate(members)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def members_of(request: Request, *, lists: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The members of a body that is JSON or a form, in which those of `lists` may be there several times.

    Raises:
        HTTPException: it is neither, or not well-formed.
    """
    strict = StrictRequest(request.scope, request.receive)
    if is_json(request.headers.get("content-type", "")):
        members = await strict.json()
        if not isinstance(members, dict):
            raise HTTPException(400, "the body must be an object")
        return members
    if media_type(request.headers) != _FORM:
        raise HTTPException(415, f"the body must be JSON, with Content-Type: application/json, or {_FORM}")
    try:
        form = (await strict.body()).decode()
        fields = parse_qs(form, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise HTTPException(400, "the body is not UTF-8, or has too many fields") from None
    return {name: values if name in lists else _single(values) for name, values in fields.items()}


def _single(values: list[str]) -> str:
    if len(values) > 1:
        raise HTTPException(400, "the body has a field more than once")
    return values[0]
