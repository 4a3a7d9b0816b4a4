"""The circuit breaker."""

from service.store.breaker import Breaker


def test_opens_after_failures_in_a_row() -> None:
    """That many calls in a row without a reply open it; only the call that opens it says so."""
    breaker = Breaker(3)
    assert [breaker.failed(), breaker.failed(), breaker.succeeded()] == [False, False, False]
    assert not breaker.is_open
    assert [breaker.failed() for _ in range(5)] == [False, False, True, False, False]
    assert breaker.is_open


def test_one_reply_closes_it() -> None:
    """A reply closes it, which is reported once, and counting starts afresh."""
    breaker = Breaker(2)
    breaker.failed()
    breaker.failed()
    assert [breaker.succeeded(), breaker.succeeded()] == [True, False]
    assert [breaker.is_open, breaker.failed()] == [False, False]
