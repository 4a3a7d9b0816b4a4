"""Errors as DeepL's clients understand them, at the paths of DeepL's interface."""

from collections.abc import Mapping
from typing import Any, Final

DEEPL: Final = "/v2/"
"""What each of its paths begins with."""
_STATUSES: Final = {401: 403, 409: 400, 422: 400}
"""Theirs for ours: of the others a client says no more than that they are unexpected."""


def as_deepl_says_it(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status and the members of an error: of `message` and `detail` they tell their users, the others are ours."""
    body = {"message": problem["title"]} | {name: problem[name] for name in ("detail", "code", "request_id")}
    return _STATUSES.get(problem["status"], problem["status"]), body
