"""Host names under which a service without keys may be called."""

import pytest

from service.http.hosts import names_this_machine


@pytest.mark.parametrize(
    ("host", "does"),
    [
        ("127.0.0.1:8000", True),
        ("127.8.8.8", True),
        ("[::1]:8000", True),
        ("[::1]", True),
        ("localhost:8000", True),
        ("LOCALHOST", True),
        ("app.localhost:8000", True),
        ("", True),
        ("evil.example:8000", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("localhost@evil.example", False),
        ("192.168.1.7:8000", False),
        ("[::1", False),
        (":8000", False),
    ],
)
def test_only_names_of_loopback(host: str, does: bool) -> None:
    """Only names and addresses that always mean this machine are accepted."""
    assert names_this_machine(host) is does
