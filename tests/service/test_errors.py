"""Errors: each has a code of its own, says whether to retry, and is listed in docs/errors.md."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import service
from models.errors import AntecedentError, BundleError, RequestError
from service.errors import RateLimitedError, ServiceError
from service.http.problems import HTTP_CODES
from service.http.responses import FRAMEWORK_ERRORS, INTERNAL_ERROR, described

DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
TOLD = re.compile(r"^\| `(\w+)` \| (\d{3}) \| (yes|no) \| (\d*) \| (.+?) \| (.+) \|$", re.MULTILINE)
NOT_TOLD = re.compile(r"^\| `(\w+)` \| ([^|]+) \|$", re.MULTILINE)
STARTED = ("__main__", "worker_runtime")
"""Modules that are meant to be imported only in a process of their own."""


@pytest.fixture(scope="module", autouse=True)
def _all_modules() -> None:
    """Import all modules, so that every error class is defined."""
    for module in pkgutil.walk_packages(service.__path__, "service."):
        if not module.name.endswith(STARTED):
            importlib.import_module(module.name)


def _kinds(base: type[AntecedentError]) -> list[type[AntecedentError]]:
    children = [child for child in base.__subclasses__() if child.__module__.startswith(("models.", "service."))]
    return [kind for child in children for kind in (child, *_kinds(child))]


def _told() -> set[type[AntecedentError]]:
    """Errors that a client may get: the service's own, and the models' errors about a request or a bundle."""
    found = [kind for base in (ServiceError, RequestError, BundleError) for kind in (base, *_kinds(base))]
    return set(found) - {ServiceError}


def test_every_error_has_its_own_code() -> None:
    """No two errors share a code, so that clients can tell them apart."""
    codes = [kind.code for kind in _kinds(AntecedentError) if kind is not ServiceError]
    assert len(codes) == len(set(codes))


def test_errors_that_pass_say_when_to_try_again() -> None:
    """Exactly those of the service's errors that are worth a retry have a Retry-After."""
    for kind in _kinds(ServiceError):
        assert issubclass(kind, ServiceError)
        assert (kind.retry_after is not None) == kind.retryable
        if kind.retryable:
            assert kind.status in {409, 429, 503, 504}


def test_every_error_that_a_client_may_get_is_documented() -> None:
    """The table gives each code with the status, retryability, Retry-After and meaning from the code, plus advice."""
    expected = [*map(described, _told()), *FRAMEWORK_ERRORS.values(), INTERNAL_ERROR]
    rows = [row[:-1] for row in TOLD.findall(DOCUMENTATION.read_text())]
    assert sorted(rows) == sorted(
        (
            error.code,
            str(error.status),
            "yes" if error.retryable else "no",
            "" if error.retry_after is None else str(error.retry_after),
            error.meaning,
        )
        for error in expected
    )


def test_every_error_that_ends_a_command_is_documented() -> None:
    """The other table lists the errors that no client gets."""
    rest = set(_kinds(AntecedentError)) - _told() - {ServiceError}
    assert sorted(NOT_TOLD.findall(DOCUMENTATION.read_text())) == sorted(
        (kind.code, described(kind).meaning) for kind in rest
    )


def test_every_status_of_the_framework_has_a_meaning() -> None:
    """Every status that has a code for errors outside of routes also has a description."""
    assert FRAMEWORK_ERRORS.keys() == HTTP_CODES.keys()


def test_an_error_may_know_better_when_to_try_again() -> None:
    """An instance may set its own Retry-After, which takes precedence over the default of its class."""
    error = RateLimitedError("too many", retry_after=7, quota={"RateLimit": "some"})
    assert error.headers() == {"Retry-After": "7", "RateLimit": "some"}
    assert RateLimitedError.retry_after == 60
