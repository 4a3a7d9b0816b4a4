"""Errors that keep a load test from being run; missing a mark is not an error, but a result."""

from models.errors import AntecedentError


class LoadTestError(AntecedentError):
    """A load test cannot go on; the message says why."""

    code = "load_test_failed"
