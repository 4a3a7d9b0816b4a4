"""Which web pages may open a WebSocket or send a form."""

import pytest

from service.http.origins import may_ask

APP = "https://app.example.org"


@pytest.mark.parametrize(
    ("origin", "host", "allowed", "may"),
    [
        (None, "api.example.org", (), True),
        ("https://api.example.org", "api.example.org", (), True),
        ("HTTPS://API.example.org", "api.EXAMPLE.org", (), True),
        ("http://localhost:8000", "localhost:8000", (), True),
        ("http://localhost:3000", "localhost:8000", (), False),
        (APP, "api.example.org", (), False),
        (APP, "api.example.org", (APP,), True),
        ("HTTPS://App.example.org", "api.example.org", (APP,), True),
        ("http://app.example.org", "api.example.org", (APP,), False),
        ("https://app.example.org.evil.example", "api.example.org", (APP,), False),
        ("https://evil.example/api.example.org", "api.example.org", (), False),
        ("https://api.example.org@evil.example", "api.example.org", (), False),
        (APP, "api.example.org", ("*",), True),
        ("null", "api.example.org", (APP,), False),
        ("null", "", (), False),
        ("", "", (), False),
        ("http://[", "api.example.org", (), False),
    ],
)
def test_only_pages_of_ones_own_or_allowed_origins(
    origin: str | None, host: str, allowed: tuple[str, ...], may: bool
) -> None:
    """The service's own pages, allowed origins, and clients other than browsers; containing the name is not enough."""
    assert may_ask(origin, host, allowed) is may
