"""Problems as answers, in the words of the interface that a path belongs to: ours, or DeepL's."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse
from starlette.types import Scope

from service.http.problems import PROBLEM_TYPE

_DEEPL: Final = "/v2/"
"""What each path of DeepL's interface begins with."""
_STATUSES: Final = {401: 403, 409: 400, 422: 400}
"""Its statuses for ours: of the others its clients say no more than that they are unexpected."""


def problem_answer(scope: Scope, problem: Mapping[str, Any], headers: Mapping[str, str]) -> JSONResponse:
    """The answer that tells of a problem; DeepL's clients read `message` and `detail` to their users."""
    status: int = problem["status"]
    if not scope["path"].startswith(_DEEPL):
        return JSONResponse(problem, status, headers=headers, media_type=PROBLEM_TYPE)
    body = {"message": problem["title"]} | {name: problem[name] for name in ("detail", "code", "request_id")}
    return JSONResponse(body, _STATUSES.get(status, status), headers=headers)
