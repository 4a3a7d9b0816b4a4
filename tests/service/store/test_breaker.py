"""The circuit breaker."""

from service.store.breaker import Breaker


def test_opens_after_failures_in_a_row() -> None:
    """So many calls without a reply, and no reply between them, open it; the last of them says so, and no other."""
    breaker = Breaker(3)
    assert [breaker.failed(), breaker.failed(), breaker.succeeded()] == [False, False, False]
    assert not breaker.is_open
    assert [breaker.failed() for _ in range(5)] == [False, False, True, False, False]
    assert breaker.is_open


def test_one_reply_closes_it() -> None:
    """After a reply it is closed, says so once, and counts from the beginning."""
    breaker = Breaker(2)
    breaker.failed()
    breaker.failed()
    assert [breaker.succeeded(), breaker.succeeded()] == [True, False]
    assert [breaker.is_open, breaker.failed()] == [False, False]
