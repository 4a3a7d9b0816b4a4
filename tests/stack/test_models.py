"""Loading, swapping and unloading models while a real server serves them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx
import pytest

from tests.support.client import begin, say, translate
from tests.support.roots import QUICK, fresh_database, load, loaded, make_key, make_root
from tests.support.servers import RedisServer, Replica, Replicas, eventually, workers
from tests.support.stand_in import expected

GERMAN = {"source_lang": "en", "target_lang": "de"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle root with a link that leads out of it."""
    folder = tmp_path_factory.mktemp("bundles")
    root = make_root(folder / "root")
    (root / "link").symlink_to(make_root(folder / "outside") / "two")
    return root


@pytest.fixture(scope="module")
def database(redis_server: RedisServer) -> str:
    """The URL of a database without a record of models."""
    return fresh_database(redis_server, 2)


@pytest.fixture(scope="module")
def replica(shared_replicas: Replicas, database: str, root: Path) -> Replica:
    """A replica that serves `one`."""
    return shared_replicas.new(bundles="one", bundle_root=str(root), redis_url=database, **QUICK).start()


@pytest.fixture
def client(replica: Replica) -> Iterator[httpx.Client]:
    """A client of the replica, whose only model afterwards is `one` again."""
    with replica.client() as client:
        yield client
        assert load(client, "one").status_code == 200
        client.delete("/v1/models/german")
        eventually(lambda: len(workers(replica.pid)) == 1, "the workers of other models have ended")


def test_second_pair_is_loaded_and_unloaded(client: httpx.Client) -> None:
    """It is served along with the first from the moment the call is answered until it is unloaded."""
    assert translate(client, "a", **GERMAN).json()["code"] == "language_pair_not_served"
    answer = load(client, "german")
    assert answer.status_code == 200
    listed = client.get("/v1/models").json()
    assert [model["name"] for model in listed["models"]] == ["stand-in", "german"]
    assert listed["models"][1] == answer.json()
    told = {"source_lang": "en", "target_lang": "de", "window": 2, "reads_target_context": False, "state": "serving"}
    assert answer.json() | told | {"default": True, "attribution": "nobody german"} == answer.json()
    assert translate(client, "a", **GERMAN).json()["text"] == "A german"
    assert translate(client, "a").json()["text"] == "A"

    assert client.delete("/v1/models/german").status_code == 204
    assert translate(client, "a", **GERMAN).status_code == 422
    assert client.delete("/v1/models/german").json()["code"] == "model_not_found"
    last = client.delete("/v1/models/stand-in")
    assert (last.status_code, last.json()["code"]) == (409, "last_model")


def test_repeated_load_changes_nothing(replica: Replica, client: httpx.Client) -> None:
    """A model that is already served keeps its processes, so the call may be repeated."""
    before = workers(replica.pid)
    assert load(client, "one").json()["fingerprint"][:12] == loaded(client)["stand-in"]
    assert workers(replica.pid) == before


def test_swap_under_load_without_a_failed_request(
    replica: Replica, client: httpx.Client, pool: ThreadPoolExecutor
) -> None:
    """Every request is answered, entirely by the old model or entirely by the new one; in the end by the new one."""
    over, answers = Event(), [list[httpx.Response]() for _ in range(3)]

    def documents(answers: list[httpx.Response]) -> None:
        with replica.client() as mine:
            while not over.is_set():
                answers.append(translate(mine, "a", "b", "c"))

    def sessions(answers: list[httpx.Response]) -> None:
        with replica.client() as mine:
            while not over.is_set():
                answers.append(say(mine, begin(mine), "a", 0))

    def wait_for_answers() -> None:
        """Wait until each client has an answer to a request that it has yet to send."""
        wanted = [len(each) + 2 for each in answers]
        eventually(
            lambda: all(len(each) >= number for each, number in zip(answers, wanted, strict=True)),
            "each client is answered",
        )

    running = [pool.submit(*work) for work in zip((documents, documents, sessions), answers, strict=True)]
    try:
        for name in ("two", "one", "two"):
            wait_for_answers()
            assert load(client, name).status_code == 200
        wait_for_answers()
    finally:
        over.set()
    for work in running:
        work.result()
    texts = ["A", "B [a]", "C [a | b]"]
    swapped = [f"{text} two" for text in texts]
    for whole in answers[:2]:
        assert {answer.status_code for answer in whole} == {200}
        found = [[sentence["translation"] for sentence in answer.json()["sentences"]] for answer in whole]
        assert [each for each in found if each not in (texts, swapped)] == []
        assert texts in found
        assert swapped in found
    # A session that was created just before a swap gets an error, or is to try again if its model is just coming back;
    # all other answers are translations.
    said = [answer.json() for answer in answers[2]]
    assert {body.get("code") for body in said} <= {None, "session_model_not_loaded", "model_not_ready"}
    assert {body.get("translation") for body in said} - {None} <= {"A", "A two"}
    assert translate(client, "a").json()["text"] == "A two"


@pytest.mark.parametrize("name", ["one", "in-turn"])
def test_old_model_finishes_what_it_has(
    replica: Replica, client: httpx.Client, pool: ThreadPoolExecutor, tmp_path: Path, name: str
) -> None:
    """It completes a document that it has begun, while new documents already go to the new model."""
    assert load(client, name).status_code == 200
    accent = translate(client, "a").json()["text"].removeprefix("A")
    gate = tmp_path / "gate"
    begun = pool.submit(translate, client, f"wait-for:{gate}", *"bcd")
    eventually(lambda: "antecedent_sentences_running 0.0" not in client.get("/metrics").text, "the worker is busy")
    assert load(client, "two").status_code == 200
    assert translate(client, "a").json()["text"] == "A two"
    assert not begun.done()
    assert len(workers(replica.pid)) == 2
    gate.touch()
    translations = [sentence["translation"] for sentence in begun.result().json()["sentences"]]
    assert len(translations) == 4
    assert all(translation.endswith(accent) and "two" not in translation for translation in translations)


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("wrong", 422, "self_test_failed"),
        ("damaged", 422, "invalid_bundle"),
        ("missing", 404, "bundle_not_found"),
        ("link", 404, "bundle_not_found"),
        ("..", 422, "invalid_input"),
        ("../outside", 422, "invalid_input"),
        ("/etc", 422, "invalid_input"),
    ],
)
def test_bundle_that_cannot_be_served_stays_out(
    replica: Replica, client: httpx.Client, name: str, status: int, code: str
) -> None:
    """The old model and its processes go on as if nothing had happened."""
    before, served = workers(replica.pid), loaded(client)
    answer = load(client, name)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (workers(replica.pid), loaded(client)) == (before, served)
    assert translate(client, "a").json()["text"] == "A"


def test_one_change_at_a_time(replica: Replica, client: httpx.Client, pool: ThreadPoolExecutor, root: Path) -> None:
    """While a bundle loads, requests are served, but other changes are refused for now."""
    (root / "two" / "held").touch()
    loading = pool.submit(load, client, "two")
    eventually(lambda: len(workers(replica.pid)) == 2, "the bundle is loading")
    for refused in (load(client, "german"), client.delete("/v1/models/stand-in")):
        assert (refused.status_code, refused.json()["code"]) == (409, "model_change_in_progress")
        assert refused.headers["retry-after"] == "5"
    assert translate(client, "a").json()["text"] == "A"
    (root / "two" / "held").unlink()
    assert loading.result().status_code == 200
    assert translate(client, "a").json()["text"] == "A two"


def test_without_a_bundle_root_nothing_changes(replicas: Replicas, database: str) -> None:
    """The models are those of the settings; anybody may list them."""
    with replicas.new(redis_url=database).start().client() as client:
        for answer in (load(client, "one"), client.delete("/v1/models/stand-in")):
            assert (answer.status_code, answer.json()["code"]) == (403, "model_changes_disabled")
        assert list(loaded(client)) == ["stand-in"]


def test_only_an_administrator_changes_models(
    replicas: Replicas, redis_server: RedisServer, root: Path, tmp_path: Path
) -> None:
    """A key with the scope translate may list the models, but not change them."""
    keys = {"keys": "file", "keys_file": str(tmp_path / "keys.json")}
    translator, administrator = (make_key(keys, scope) for scope in ("translate", "admin"))
    replica = replicas.new(bundles="one", bundle_root=str(root), redis_url=fresh_database(redis_server, 4), **keys)
    with replica.start().client() as client:
        assert load(client, "two").status_code == 401
        client.headers["Authorization"] = f"Bearer {translator}"
        for answer in (load(client, "two"), client.delete("/v1/models/stand-in")):
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert list(loaded(client)) == ["stand-in"]
        assert translate(client, "a").json()["text"] == "A"
        client.headers["Authorization"] = f"Bearer {administrator}"
        assert load(client, "two").status_code == 200


def test_session_is_told_that_its_model_is_gone(client: httpx.Client) -> None:
    """Its next sentence is refused without taking a position, what it has remains, and new sessions are served."""
    session = begin(client)
    first = say(client, session, "a", 0).json()
    assert load(client, "two").status_code == 200
    told = say(client, session, "b", 1)
    assert (told.status_code, told.json()["code"], told.json()["retryable"]) == (409, "session_model_not_loaded", False)
    assert say(client, session, "a", 0).json() == first
    assert [sentence["source"] for sentence in client.get(session).json()["sentences"]] == ["a"]
    assert say(client, begin(client), "b", 0).json()["translation"] == "B two"
    assert load(client, "one").status_code == 200
    assert say(client, session, "b", 1).json()["translation"] == expected("b", ["a"])


def test_session_is_found_again_though_its_model_is_gone(client: httpx.Client) -> None:
    """Repeating its creation with the idempotency key gives the same answer; a new session would have no model."""
    assert load(client, "german").status_code == 200
    begun = client.post("/v1/sessions", json=GERMAN, headers={"Idempotency-Key": "of a German one"})
    assert client.delete("/v1/models/german").status_code == 204
    again = client.post("/v1/sessions", json=GERMAN, headers={"Idempotency-Key": "of a German one"})
    assert (again.status_code, again.json()) == (201, begun.json())
    another = client.post("/v1/sessions", json=GERMAN, headers={"Idempotency-Key": "of another one"})
    assert (another.status_code, another.json()["code"]) == (422, "language_pair_not_served")
