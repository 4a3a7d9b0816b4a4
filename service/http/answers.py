"""Problems as answers, in the terms of the interface that a path belongs to: ours, DeepL's or LibreTranslate's."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse
from starlette.types import Scope

from service.http.problems import PROBLEM_TYPE

_DEEPL: Final = ("/v2/", "/v3/")
"""Prefixes of the paths of DeepL's interface."""
_LIBRETRANSLATE: Final = "/libretranslate"
"""Prefix of the paths of LibreTranslate's."""
_STATUSES: Final = {401: 403, 409: 400, 422: 400}
"""Their statuses for ours, which their clients would only report as unexpected."""

_NOT_READY: Final = {"file_not_ready": 503}
"""Statuses by which DeepL's clients recognise a problem, by its code."""


def problem_answer(scope: Scope, problem: Mapping[str, Any], headers: Mapping[str, str]) -> JSONResponse:
    """Return the answer for a problem, with the members in which the interface's clients look for it."""
    status: int = problem["status"]
    path: str = scope["path"]
    if path.startswith(_DEEPL):
        told = {"message": problem["title"], "detail": problem["detail"]}
        status = _NOT_READY.get(problem["code"], status)
    elif path.startswith(_LIBRETRANSLATE):
        told = {"error": problem["detail"]}
    else:
        return JSONResponse(problem, status, headers=headers, media_type=PROBLEM_TYPE)
    body = told | {name: problem[name] for name in ("code", "request_id")}
    return JSONResponse(body, _STATUSES.get(status, status), headers=headers)
