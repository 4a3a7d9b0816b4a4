"""Errors: each has a code of its own, and says whether to try again."""

from models.errors import AntecedentError
from service.errors import ServiceError


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
