"""Real processes that several test files share, and the order in which tests run."""

import gc
import os
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.servers import RedisServer, Replicas, bundle

# How fast the machine happens to be says nothing about the code.
_IN_ANY_TIME = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
settings.register_profile("in any time", deadline=None, suppress_health_check=_IN_ANY_TIME)
settings.load_profile("in any time")

_WAITING = frozenset(("stack", "loadtests", "deploy", "store", "http"))
"""Folders of tests that spend a third of their time or more waiting for other processes."""

gc.disable()  # until all tests are collected: collection makes a million objects, all of which stay


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores, to compute while others wait."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the files that wait among those that compute, so that some of both run at any time."""
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    kinds = [
        [file for file in files if _WAITING.isdisjoint(file[0].path.parts) == computes] for computes in (True, False)
    ]
    places = [((number + 0.5) / len(kind), file) for kind in kinds for number, file in enumerate(kind)]
    items[:] = chain.from_iterable(file for _, file in sorted(places, key=itemgetter(0)))


def pytest_collection_finish() -> None:
    """Collect garbage as usual, but never scan what test collection has loaded, such as torch."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that no test kills."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def mortal_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis for one test alone, which may kill and restart it."""
    folder = tmp_path / "mortal-redis"
    folder.mkdir()
    with RedisServer(folder) as server:
        yield server


@pytest.fixture(scope="session")
def stand_in_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Japanese-English bundle for the stand-in runtime, with a window of two sentences."""
    return bundle(tmp_path_factory.mktemp("bundles") / "stand-in")


@pytest.fixture
def replicas(tmp_path: Path, stand_in_bundle: Path) -> Iterator[Replicas]:
    """Make service processes on the stand-in runtime."""
    with closing(Replicas(tmp_path, stand_in_bundle)) as made:
        yield made


@pytest.fixture(scope="module")
def shared_replicas(tmp_path_factory: pytest.TempPathFactory, stand_in_bundle: Path) -> Iterator[Replicas]:
    """The same as `replicas`, for processes that all tests of a file share."""
    with closing(Replicas(tmp_path_factory.mktemp("replicas"), stand_in_bundle)) as made:
        yield made


@pytest.fixture
def new_replicas(tmp_path: Path, stand_in_bundle: Path) -> Iterator[Replicas]:
    """Make service processes that are started as users start them, for tests of how they start or end."""
    with closing(Replicas(tmp_path, stand_in_bundle, anew=True)) as made:
        yield made
