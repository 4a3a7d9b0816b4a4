"""Why files could not be translated: as it is kept beside them, and as it is told."""

from typing import Final

from pydantic import ValidationError

from models.errors import AntecedentError
from service.errors import FileFailedError, WorkerDiedError
from service.http.problems import cause, cause_of
from service.schemas import FileProblem

UNFORESEEN: Final = FileProblem.model_validate(cause(500, "internal_error", "internal error"))
_DIED: Final = FileProblem.model_validate(
    cause(WorkerDiedError.status, WorkerDiedError.code, "what translated it has died")
)


def of_error(error: AntecedentError) -> FileProblem:
    """What an error says."""
    return FileProblem.model_validate(cause_of(error))


def without_error(detail: str) -> FileProblem:
    """What has no code of its own."""
    return FileProblem.model_validate(cause(FileFailedError.status, FileFailedError.code, detail))


def written(problem: FileProblem) -> str:
    """A problem as it is kept."""
    return problem.model_dump_json()


def read(kept: str) -> FileProblem:
    """The same, later; a release before this one has kept a sentence and no more."""
    try:
        return FileProblem.model_validate_json(kept)
    except ValidationError:
        return without_error(kept)


def after_attempts(attempts: int, last: str) -> FileProblem:
    """That a file was given up after so many attempts, of which the last one has left a problem, or nothing."""
    problem = read(last) if last else _DIED
    return problem.model_copy(update={"detail": f"given up after {attempts} attempts: {problem.detail}"})
