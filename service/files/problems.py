"""Why files could not be translated, as stored with them and as shown to clients."""

from typing import Final

from pydantic import ValidationError

from models.errors import AntecedentError
from service.errors import FileFailedError, WorkerDiedError
from service.http.problems import cause, cause_of
from service.schemas.problems import FileProblem

UNFORESEEN: Final = FileProblem.model_validate(cause(500, "internal_error", "internal error"))
_DIED: Final = FileProblem.model_validate(
    cause(WorkerDiedError.status, WorkerDiedError.code, "what translated it has died")
)


def of_error(error: AntecedentError) -> FileProblem:
    """Describe an error as a problem."""
    return FileProblem.model_validate(cause_of(error))


def without_error(detail: str) -> FileProblem:
    """Make a problem that has no error code of its own."""
    return FileProblem.model_validate(cause(FileFailedError.status, FileFailedError.code, detail))


def written(problem: FileProblem) -> str:
    """Serialise a problem for storage."""
    return problem.model_dump_json()


def read(kept: str) -> FileProblem:
    """Parse a stored problem; older releases stored only a sentence."""
    try:
        return FileProblem.model_validate_json(kept)
    except ValidationError:
        return without_error(kept)


def after_attempts(attempts: int, last: str) -> FileProblem:
    """Say that a file was given up after so many attempts; `last` is the last stored problem, if there is any."""
    problem = read(last) if last else _DIED
    return problem.model_copy(update={"detail": f"given up after {attempts} attempts: {problem.detail}"})
