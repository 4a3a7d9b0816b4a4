"""Errors: each has a code of its own, a status, and says whether to try again."""

import pytest

from models import errors as model_errors
from models.errors import AntecedentError
from service import errors
from service.errors import ServiceError, problem_of, retry_after_of, status_of


def _kinds(base: type[AntecedentError]) -> list[type[AntecedentError]]:
    return [kind for child in base.__subclasses__() for kind in (child, *_kinds(child))]


def test_every_error_has_its_own_code() -> None:
    """A client can tell any two errors apart by their codes."""
    codes = [kind.code for kind in _kinds(AntecedentError) if kind is not ServiceError]
    assert len(codes) == len(set(codes))


def test_errors_that_pass_say_when_to_try_again() -> None:
    """Of the service's errors those that are worth a retry, and no others, have a Retry-After."""
    for kind in _kinds(ServiceError):
        assert issubclass(kind, ServiceError)
        assert (kind.retry_after is not None) == kind.retryable
        if kind.retryable:
            assert kind.status in {429, 503, 504}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (model_errors.SentenceTooLongError("too long"), 422),
        (model_errors.UnsupportedOptionError("no such beam"), 422),
        (model_errors.BundleError("damaged"), 500),
        (errors.QueueFullError(), 429),
        (errors.StoreUnavailableError(), 503),
        (errors.SessionNotFoundError(), 404),
        (errors.PositionExpiredError("gone"), 410),
    ],
)
def test_status_of_an_error(error: AntecedentError, status: int) -> None:
    """Errors of the models are the client's if they are about the request, and the service's otherwise."""
    assert status_of(error) == status


def test_problem_has_the_members_of_rfc_9457_and_the_errors_own() -> None:
    """A problem carries type, title, status and a string as detail, and what the error adds."""
    body = problem_of(errors.PositionGapError("beyond", next_position=4), "request-1")
    assert body == {
        "type": "urn:antecedent:error:position_gap",
        "title": "Conflict",
        "status": 409,
        "detail": "beyond",
        "code": "position_gap",
        "retryable": False,
        "request_id": "request-1",
        "next_position": 4,
    }


def test_retry_after_is_a_header_only_where_it_helps() -> None:
    """A full queue has the header, a conflict has not."""
    assert retry_after_of(errors.QueueFullError()) == {"Retry-After": "1"}
    assert retry_after_of(errors.PositionConflictError("other text", next_position=1)) == {}
