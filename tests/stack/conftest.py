"""A client of the `replica` that each of these files of tests has, and threads for requests that wait."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.servers import Replica


@pytest.fixture
def client(replica: Replica) -> Iterator[httpx.Client]:
    """A client of the file's replica."""
    with replica.client() as client:
        yield client


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """For requests that wait while others are made."""
    with ThreadPoolExecutor(8) as executor:
        yield executor
