"""Several replicas that share a real Redis: what an administrator changes at one changes at all."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import redis

from models.bundle.manifest import Manifest
from service.store.model_record import KEY
from tests.support.client import begin, measured, say, translate
from tests.support.roots import QUICK, fresh_database, load, loaded, make_root
from tests.support.servers import RedisServer, Replica, Replicas, eventually, workers


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle root."""
    return make_root(tmp_path_factory.mktemp("bundles") / "root")


@pytest.fixture
def database(redis_server: RedisServer) -> str:
    """The URL of a database without a record of models."""
    return fresh_database(redis_server, 3)


@pytest.fixture
def own_root(tmp_path: Path) -> Path:
    """The same bundles in a folder of one replica's own."""
    return make_root(tmp_path / "own-root")


@pytest.fixture(scope="module")
def first(shared_replicas: Replicas, redis_server: RedisServer, root: Path) -> Replica:
    """The replica that the administrator calls."""
    database = fresh_database(redis_server, 3)
    return shared_replicas.new(bundles="one", bundle_root=str(root), redis_url=database, **QUICK).start()


@pytest.fixture
def client(first: Replica, database: str, root: Path) -> Iterator[httpx.Client]:
    """A client of the first replica, once the `database` is empty and the replica serves what its settings name."""
    deployed = {"stand-in": Manifest.load(root / "one").fingerprint[:12]}
    with first.client() as client:
        eventually(lambda: loaded(client) == deployed and missing(client) == [], "the settings count")
        yield client


@pytest.fixture
def other(replicas: Replicas, database: str, own_root: Path) -> Replica:
    """Another replica, not yet started."""
    return replicas.new(bundles="one", bundle_root=str(own_root), redis_url=database, **QUICK)


def missing(client: httpx.Client) -> list[dict[str, str]]:
    """The models that the answering replica should serve but does not."""
    found: list[dict[str, str]] = client.get("/v1/models").json()["not_loaded"]
    return found


def test_replicas_follow_each_other(client: httpx.Client, other: Replica) -> None:
    """A model that is loaded, swapped or unloaded at one soon is at the other, too."""
    with other.start().client() as second:
        assert load(client, "two").status_code == 200
        eventually(lambda: loaded(second) == loaded(client), "the other has swapped it")
        assert translate(second, "a").json()["text"] == "A two"
        assert load(second, "german").status_code == 200
        eventually(lambda: loaded(client) == loaded(second), "the first has loaded it")
        assert client.delete("/v1/models/stand-in").status_code == 204
        eventually(lambda: list(loaded(second)) == ["german"], "the other has unloaded it")


def test_session_is_not_told_off_by_a_replica_that_is_behind(
    client: httpx.Client, other: Replica, own_root: Path
) -> None:
    """If its model is new and not yet loaded at the other replica, that replica asks the client to retry."""
    with other.start().client() as second:
        (own_root / "two" / "held").touch()
        assert load(client, "two").status_code == 200
        session = begin(client)
        behind = say(second, session, "a", 0)
        assert (behind.status_code, behind.json()["code"]) == (503, "model_not_ready")
        assert behind.headers["retry-after"] == "2"
        (own_root / "two" / "held").unlink()
        eventually(lambda: say(second, session, "a", 0).status_code == 200, "the other has caught up")
        assert say(client, session, "b", 1).json()["translation"] == "B [a] two"


def test_replica_that_starts_later_serves_what_the_others_do(client: httpx.Client, other: Replica) -> None:
    """The record takes precedence over the settings."""
    assert load(client, "two").status_code == 200
    assert load(client, "german").status_code == 200
    with other.start().client() as second:
        assert loaded(second) == loaded(client)
        assert translate(second, "a").json()["text"] == "A two"


def test_without_the_record_the_settings_count_again(client: httpx.Client, database: str) -> None:
    """Deleting the record restores what was deployed."""
    deployed = loaded(client)
    assert load(client, "two").status_code == 200
    assert loaded(client) != deployed
    with redis.Redis.from_url(database) as records:
        assert records.delete(KEY) == 1
    eventually(lambda: loaded(client) == deployed, "the settings count")


def test_without_the_record_and_the_bundle_of_the_settings_it_goes_on(
    client: httpx.Client, other: Replica, own_root: Path, database: str
) -> None:
    """A replica keeps what it serves; requests for another model get an error about that model, not the settings."""
    session = begin(client)
    assert load(client, "two").status_code == 200
    with other.start().client() as second, redis.Redis.from_url(database) as records:
        shutil.rmtree(own_root / "one")
        assert records.delete(KEY) == 1
        refused = say(second, session, "a", 0)
        assert (refused.status_code, refused.json()["code"]) == (409, "session_model_not_loaded")
        assert translate(second, "a").json()["text"] == "A two"
        absent = [{"name": "one", "code": "invalid_bundle"}]
        eventually(lambda: missing(second) == absent, "it says what is missing")
        assert load(second, "two").status_code == 200
        assert records.exists(KEY)
        eventually(lambda: missing(second) == [], "all that is wanted is there")


def test_replica_that_cannot_load_a_model_keeps_its_old_one(
    client: httpx.Client, other: Replica, own_root: Path
) -> None:
    """It reports the problem but stays ready, and recovers once the wanted model is the one that it has."""
    shutil.rmtree(own_root / "two")
    with other.start().client() as second:
        served = loaded(second)
        assert load(client, "two").status_code == 200
        absent = [{"name": "stand-in", "code": "bundle_not_found"}]
        eventually(lambda: missing(second) == absent, "the other says what is missing")
        assert loaded(second) == served
        assert translate(second, "a").json()["text"] == "A"
        health = second.get("/health/dependencies")
        told = {"name": "model:stand-in", "status": "down", "detail": "cannot be loaded: bundle_not_found"}
        assert health.status_code == 503
        assert told in health.json()["dependencies"]
        assert second.get("/health/ready").status_code == 200
        assert measured(second, "antecedent_models_not_loaded 1.0")
        assert '"event": "model_not_loaded"' in other.log
        assert load(client, "one").status_code == 200
        eventually(lambda: missing(second) == [], "nothing is missing")


def test_record_that_cannot_be_read(client: httpx.Client, other: Replica, database: str) -> None:
    """Replicas keep serving and report the record where alerts see it; once it is deleted, they work as before."""
    deployed = loaded(client)
    with other.start().client() as second, redis.Redis.from_url(database) as records:
        records.hset(KEY, mapping={"version": "1", "models": "himitsu"})
        absent = [{"name": KEY, "code": "invalid_model_record"}]
        for each in (client, second):
            eventually(lambda each=each: missing(each) == absent, "it says so")  # type: ignore[misc]
            assert measured(each, "antecedent_models_not_loaded 1.0")
            assert each.get("/health/dependencies").status_code == 503
            assert translate(each, "a").json()["text"] == "A"
        assert "himitsu" not in other.log
        assert "models_not_followed" not in other.log
        records.delete(KEY)
        assert load(client, "two").status_code == 200
        eventually(lambda: loaded(second) == loaded(client) != deployed, "they follow each other again")
        eventually(lambda: measured(second, "antecedent_models_not_loaded 0.0"), "nothing is missing")


def test_administrator_need_not_wait_for_what_does_not_load(
    client: httpx.Client, other: Replica, own_root: Path
) -> None:
    """A replica that is merely following others can be interrupted by a call, which may resolve what hangs there."""
    (own_root / "two" / "held").touch()
    with other.start().client() as second:
        assert load(client, "two").status_code == 200
        eventually(lambda: len(workers(other.pid)) == 2, "the other is loading, too")
        assert load(second, "one").status_code == 200
        assert translate(second, "a").json()["text"] == "A"
        eventually(lambda: len(workers(other.pid)) == 1, "what was loading has ended")
        eventually(lambda: translate(client, "a").json()["text"] == "A", "and the first has followed")


def test_replica_starts_with_what_it_can_load(client: httpx.Client, other: Replica, own_root: Path) -> None:
    """It serves those wanted models that exist, or if there are none, what its settings name."""
    assert load(client, "two").status_code == 200
    assert load(client, "german").status_code == 200
    shutil.rmtree(own_root / "two")
    with other.start().client() as second:
        assert list(loaded(second)) == ["german"]
    other.end()
    shutil.rmtree(own_root / "german")
    with other.start().client() as second:
        assert list(loaded(second)) == ["stand-in"]
        assert translate(second, "a").json()["text"] == "A"


def test_folder_with_other_content_is_not_what_is_wanted(client: httpx.Client, other: Replica, own_root: Path) -> None:
    """A replica serves exactly the bundle that was loaded elsewhere, or keeps what it has."""
    shutil.rmtree(own_root / "two")
    shutil.copytree(own_root / "german", own_root / "two")
    with other.start().client() as second:
        assert load(client, "two").status_code == 200
        absent = [{"name": "stand-in", "code": "invalid_bundle"}]
        eventually(lambda: missing(second) == absent, "the other says what is missing")


def test_nothing_changes_while_redis_is_away(replicas: Replicas, mortal_redis: RedisServer, root: Path) -> None:
    """Since other replicas could not be told, the administrator is asked to retry; later the change works."""
    replica = replicas.new(bundles="one", bundle_root=str(root), redis_url=mortal_redis.url, **QUICK)
    with replica.start().client() as client:
        before, served = workers(replica.pid), loaded(client)
        mortal_redis.kill()
        for answer in (load(client, "two"), client.delete("/v1/models/stand-in")):
            assert (answer.status_code, answer.json()["code"]) == (503, "session_store_unavailable")
        assert (workers(replica.pid), loaded(client)) == (before, served)
        mortal_redis.start()
        eventually(lambda: load(client, "two").status_code == 200, "Redis is back")
        assert translate(client, "a").json()["text"] == "A two"


def test_redis_that_leaves_while_a_bundle_loads(
    replicas: Replicas, mortal_redis: RedisServer, root: Path, pool: ThreadPoolExecutor
) -> None:
    """The bundle that has just been loaded is given up again."""
    replica = replicas.new(bundles="one", bundle_root=str(root), redis_url=mortal_redis.url, **QUICK)
    (root / "two" / "held").touch()
    with replica.start().client() as client:
        before, served = workers(replica.pid), loaded(client)
        loading = pool.submit(load, client, "two")
        eventually(lambda: len(workers(replica.pid)) == 2, "the bundle is loading")
        mortal_redis.kill()
        (root / "two" / "held").unlink()
        assert loading.result().status_code == 503
        eventually(lambda: workers(replica.pid) == before, "its workers have ended")
        assert loaded(client) == served


def test_replica_that_starts_without_redis_follows_later(
    replicas: Replicas, mortal_redis: RedisServer, root: Path
) -> None:
    """It serves what its settings name until it can read the record."""
    settings = {"bundles": "one", "bundle_root": str(root), "redis_url": mortal_redis.url, **QUICK}
    with replicas.new(**settings).start().client() as first:
        assert load(first, "two").status_code == 200
    mortal_redis.kill()
    with replicas.new(**settings).start().client() as second:
        assert translate(second, "a").json()["text"] == "A"
        mortal_redis.start()
        eventually(lambda: translate(second, "a").json()["text"] == "A two", "it has followed")
