"""Real processes that several test files share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.servers import RedisServer, Replica, bundle

StartReplica = Callable[..., Replica]


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that nobody kills."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def mortal_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of one test's own, to be killed and started again."""
    folder = tmp_path / "mortal-redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def stand_in_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Japanese-English bundle for the stand-in runtime, with a window of two sentences."""
    return bundle(tmp_path_factory.mktemp("bundles") / "stand-in")


@pytest.fixture
def new_replica(tmp_path: Path, stand_in_bundle: Path) -> Iterator[StartReplica]:
    """Makes service processes, not yet started, on the stand-in runtime; arguments are settings."""
    made: list[Replica] = []

    def make(**settings: str) -> Replica:
        folder = tmp_path / f"replica-{len(made)}"
        folder.mkdir()
        default = {"bundles": str(stand_in_bundle), "redis_folder": str(tmp_path / "redis")}
        environment = {f"ANTECEDENT_{name.upper()}": value for name, value in (default | settings).items()}
        made.append(Replica(folder, "tests.support.stand_in", environment))
        return made[-1]

    yield make
    for replica in made:
        replica.close()
