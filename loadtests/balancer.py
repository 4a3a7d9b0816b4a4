"""A well-behaved client of several replicas: it asks any, waits when told to, and asks another where one is gone."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import httpx

from loadtests.errors import LoadTestError
from loadtests.processes import PATIENCE_SECONDS

ATTEMPT_SECONDS = 30.0
"""After this an attempt counts as lost."""
PAUSE_SECONDS = 0.1
"""Before another attempt where nothing says how long to wait."""


class GaveUpError(LoadTestError):
    """No attempt was answered within PATIENCE_SECONDS."""


class Balancer:
    """Sends requests that may be repeated, each attempt to a replica chosen at random; counts why it had to repeat."""

    def __init__(self, http: httpx.AsyncClient, urls: Sequence[str], rng: random.Random, counts: Counter[str]) -> None:
        self._http = http
        self._urls = urls
        self._rng = rng
        self.counts = counts

    def url(self) -> str:
        """A replica."""
        return self._rng.choice(self._urls)

    async def ask(self, method: str, path: str, **members: Any) -> httpx.Response:  # noqa: ANN401 - as httpx has them
        """Send a request until an answer does not ask to try again.

        Raises:
            GaveUpError: there was none in time.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self.counts["requests"] += 1
            try:
                answer = await self._http.request(method, self.url() + path, **members)
            except httpx.TransportError:
                self.counts["repeated after a lost connection"] += 1
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if "retry-after" not in answer.headers:
                return answer
            self.counts[f"repeated after {answer.status_code} {answer.json()['code']}"] += 1
            await asyncio.sleep(float(answer.headers["retry-after"]))
        raise GaveUpError(f"{method} {path} was not answered within {PATIENCE_SECONDS:.0f} s")


def http_client() -> httpx.AsyncClient:
    """A client for as many connections at a time as there is use for."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(timeout=ATTEMPT_SECONDS, trust_env=False, limits=limits)
