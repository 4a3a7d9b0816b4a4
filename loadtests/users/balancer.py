"""A well-behaved client of several replicas: it asks any, waits when told to, and asks another if one is gone."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from loadtests.errors import LoadTestError

ATTEMPT_SECONDS = 60.0
"""Time after which an attempt counts as lost."""
PAUSE_SECONDS = 0.1
"""Pause before another attempt if nothing says how long to wait."""
CONNECTION_LOST = "connection_lost"
"""The reason if the connection ended before the answer, or could not be made."""
NO_ANSWER = "no_answer"
"""The reason if nothing came on it for ATTEMPT_SECONDS: an answer is lost, which no outage explains."""


class GaveUpError(LoadTestError):
    """No attempt succeeded within a client's patience; `reason` is the code of the last one."""

    def __init__(self, reason: str, since: float) -> None:
        super().__init__(f"given up after {reason}")
        self.reason = reason
        self.since = since
        """When the request given up was due."""


class Balancer:
    """Sends repeatable requests, each attempt to a random replica, and tells `on_repeat` why it had to repeat."""

    def __init__(
        self,
        http: httpx.Client,
        urls: Sequence[str],
        rng: random.Random,
        patience_seconds: float,
        on_repeat: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._http = http
        self._urls = urls
        self._rng = rng
        self._patience_seconds = patience_seconds
        self.on_repeat = on_repeat

    def url(self) -> str:
        """Return the address of a random replica."""
        return self._rng.choice(self._urls)

    def repeat(self, reason: str, since: float, wait_seconds: float) -> None:
        """Wait before another attempt at something that was due at `since`.

        Raises:
            GaveUpError: the client's patience would not last that long.
        """
        if time.monotonic() + wait_seconds > since + self._patience_seconds:
            raise GaveUpError(reason, since)
        self.on_repeat(reason)
        time.sleep(wait_seconds)

    def ask(self, method: str, path: str, **members: Any) -> httpx.Response:  # noqa: ANN401 - as httpx has them
        """Send a request until an answer comes that does not ask to try again.

        Raises:
            GaveUpError: there was none in time.
        """
        since = time.monotonic()
        while True:
            try:
                answer = self._http.request(method, self.url() + path, **members)
            except httpx.TransportError as error:
                self.repeat(reason_of(error), since, PAUSE_SECONDS)
                continue
            if "retry-after" not in answer.headers:
                return answer
            self.repeat(answer.json()["code"], since, float(answer.headers["retry-after"]))


def reason_of(error: httpx.TransportError) -> str:
    """Return why there was no answer."""
    return NO_ANSWER if isinstance(error, httpx.TimeoutException) else CONNECTION_LOST


def http_client() -> httpx.Client:
    """Return a client without a limit on its connections."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.Client(timeout=ATTEMPT_SECONDS, trust_env=False, limits=limits)
