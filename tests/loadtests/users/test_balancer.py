import random

import httpx
import pytest

from loadtests.report.verdicts import OUTAGE
from loadtests.users.balancer import CONNECTION_LOST, NO_ANSWER, Balancer, GaveUpError


def balancer(answers: list[httpx.Response | httpx.TransportError], patience: float, repeated: list[str]) -> Balancer:
    """A balancer for a service that gives these answers in turn."""

    def answer(_: httpx.Request) -> httpx.Response:
        found = answers.pop(0)
        if isinstance(found, httpx.TransportError):
            raise found
        return found

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Balancer(http, ["http://one", "http://other"], random.Random(1), patience, repeated.append)


def refusal(code: str) -> httpx.Response:
    """A refusal after which another attempt may succeed."""
    return httpx.Response(503, headers={"Retry-After": "0"}, json={"code": code})


def test_what_may_be_repeated_is_repeated() -> None:
    """Requests are repeated after a lost connection or Retry-After, until answered; each reason is reported."""
    repeated: list[str] = []
    answers: list[httpx.Response | httpx.TransportError] = [
        httpx.ConnectError("gone"),
        refusal("shutting_down"),
        httpx.Response(404),
    ]
    assert balancer(answers, 30, repeated).ask("GET", "/").status_code == 404
    assert repeated == [CONNECTION_LOST, "shutting_down"]


def test_lost_answer_is_no_lost_connection() -> None:
    """If nothing comes for too long on an open connection, no outage explains that."""
    repeated: list[str] = []
    balancer([httpx.ReadTimeout("nothing"), httpx.Response(200)], 30, repeated).ask("GET", "/")
    assert repeated == [NO_ANSWER]
    assert NO_ANSWER not in OUTAGE


def test_without_patience_nothing_is_repeated() -> None:
    """The first refusal is final, and its code is kept."""
    repeated: list[str] = []
    with pytest.raises(GaveUpError) as gave_up:
        balancer([refusal("queue_full")], 0, repeated).ask("GET", "/")
    assert (gave_up.value.reason, repeated) == ("queue_full", [])
