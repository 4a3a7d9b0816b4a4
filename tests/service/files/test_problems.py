"""The stored reasons why files could not be translated."""

import pytest

from models.errors import SentenceTooLongError
from service.errors import DeadlineError
from service.files import problems
from service.schemas.problems import FileProblem


def test_a_problem_is_kept_with_its_code_and_place() -> None:
    """A stored problem has the same members as one in an immediate answer."""
    problem = problems.read(problems.written(problems.of_error(SentenceTooLongError("too long", position=3))))
    assert problem.model_dump() == {
        "type": "urn:antecedent:error:sentence_too_long",
        "title": "Cannot be processed",
        "status": 422,
        "detail": "too long",
        "code": "sentence_too_long",
        "retryable": False,
        "position": 3,
    }


@pytest.mark.parametrize("kept", ["the model refuses this sentence", "5", "", '{"code": "queue_full"}'])
def test_what_another_release_has_kept_is_told_as_it_is(kept: str) -> None:
    """An earlier release stored just a sentence; any text that does not parse as a problem becomes the detail."""
    problem = problems.read(kept)
    assert (problem.status, problem.code, problem.detail) == (422, "file_failed", kept)


@pytest.mark.parametrize(
    ("last", "code", "why"),
    [
        (problems.of_error(DeadlineError()), "deadline_exceeded", "a sentence was not translated before its deadline"),
        (None, "worker_died", "what translated it has died"),
    ],
)
def test_after_some_attempts_the_last_problem_is_told(last: FileProblem | None, code: str, why: str) -> None:
    """If there is none, the worker must have died before it could report one."""
    problem = problems.after_attempts(3, "" if last is None else problems.written(last))
    assert (problem.code, problem.detail) == (code, f"given up after 3 attempts: {why}")
