"""Errors as clients read them (RFC 9457)."""

from pydantic import BaseModel, ConfigDict


class FileProblem(BaseModel):
    """An error as defined by RFC 9457, but with no `request_id`. Some errors have more members, such as `position`."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str
    title: str
    status: int
    detail: str
    code: str
    """What went wrong: a code that never changes."""
    retryable: bool
    """Whether the same request may succeed later."""


class Problem(FileProblem):
    """An error as defined by RFC 9457. Some errors have further members, such as `next_position`."""

    request_id: str
