"""Clients of the `replica` or `servers` that each test file defines, and threads for requests that wait."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import deepl
import httpx
import pytest

from tests.support.servers import Replica


@pytest.fixture
def client(replica: Replica) -> Iterator[httpx.Client]:
    """A client of the file's replica."""
    with replica.client() as client:
        yield client


@pytest.fixture
def deepl_clients(servers: list[Replica], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[deepl.DeepLClient]]:
    """DeepL's own client for each of the file's servers, without automatic retries."""
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)
    monkeypatch.setattr(deepl.http_client, "min_connection_timeout", 60.0)  # by default 10, too few on a busy machine
    with ExitStack() as stack:
        yield [stack.enter_context(closing(deepl.DeepLClient("any", server_url=each.url))) for each in servers]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for requests that wait while others are made."""
    with ThreadPoolExecutor(8) as executor:
        yield executor
