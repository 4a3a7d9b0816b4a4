"""What keeps a load test from being run; a mark that is missed is no error but a result."""

from models.errors import AntecedentError


class LoadTestError(AntecedentError):
    """A load test cannot go on; the message says why."""

    code = "load_test_failed"
