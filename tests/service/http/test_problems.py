"""Errors as problem details."""

import pytest

from models import errors as model_errors
from models.errors import AntecedentError
from service import errors
from service.http.problems import headers_of, problem_of, status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (model_errors.SentenceTooLongError("too long"), 422),
        (model_errors.UnsupportedOptionError("no such beam"), 422),
        (model_errors.BundleError("damaged"), 422),  # an administrator asked for it
        (model_errors.AntecedentError("unforeseen"), 500),
        (errors.QueueFullError(), 429),
        (errors.StoreUnavailableError(), 503),
        (errors.SessionNotFoundError(), 404),
        (errors.PositionExpiredError("gone"), 410),
    ],
)
def test_status_of_an_error(error: AntecedentError, status: int) -> None:
    """The models' errors are the client's fault if they concern the request, otherwise the service's."""
    assert status_of(type(error)) == status


def test_problem_has_the_members_of_rfc_9457_and_the_errors_own() -> None:
    """A problem has type, title, status and a string as detail, plus the error's own members."""
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
    """A full queue has the header, a conflict does not."""
    assert headers_of(errors.QueueFullError()) == {"Retry-After": "1"}
    assert headers_of(errors.PositionConflictError("other text", next_position=1)) == {}
