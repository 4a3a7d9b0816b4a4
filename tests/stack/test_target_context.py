"""Sessions whose model reads the preceding sentences' translations: waiting, taking over, failures, corrections."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import redis

from models.bundle.manifest import Manifest
from models.config import ContextWindow
from service.store.document import DocumentKey
from tests.support.client import begin, measured, say, translate
from tests.support.servers import RedisServer, Replica, Replicas, bundle, eventually
from tests.support.stand_in import expected
from tests.support.streams import opened, refused


@pytest.fixture(scope="module")
def bundles(stand_in_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Japanese-English reads sources, Japanese-German also translations, Japanese-French blocks of three sentences.

    Japanese-Spanish also reads what follows in a block, so it serves no sessions.
    """
    folder = tmp_path_factory.mktemp("more")
    reader = bundle(folder / "reader", name="reader", target="de", reads_target_context=True)
    blocks = bundle(folder / "blocks", name="blocks", target="fr")
    window = ContextWindow(kind="block", size=2)
    Manifest.load(blocks).model_copy(update={"window": window}).save(blocks)
    whole = bundle(folder / "whole", name="whole", target="es")
    changes = {"window": ContextWindow(kind="block", size=2, following=2), "serves_sessions": False}
    Manifest.load(whole).model_copy(update=changes).save(whole)
    return f"{stand_in_bundle}:{reader}:{blocks}:{whole}"


@pytest.fixture(scope="module")
def pair(shared_replicas: Replicas, redis_server: RedisServer, bundles: str) -> list[Replica]:
    """Two replicas that share a Redis."""
    return [shared_replicas.new(redis_url=redis_server.url, bundles=bundles).start() for _ in range(2)]


@pytest.fixture
def one(pair: list[Replica]) -> Iterator[httpx.Client]:
    """A client of the first replica."""
    with pair[0].client() as client:
        yield client


@pytest.fixture
def other(pair: list[Replica]) -> Iterator[httpx.Client]:
    """A client of the second replica."""
    with pair[1].client() as client:
        yield client


@pytest.fixture
def session(one: httpx.Client) -> str:
    """A session whose model reads translations."""
    return begin(one, target_lang="de")


def reads(sources: list[str]) -> list[str]:
    """The translations of a document, each made with those of up to two sentences before it."""
    done: list[str] = []
    for at, source in enumerate(sources):
        first = max(0, at - 2)
        done.append(expected(source, sources[first:at], list(done[first:at])))
    return done


def test_sentences_wait_for_those_before_them(pair: list[Replica], session: str) -> None:
    """However many are in flight, on one stream or several replicas, each is read with the translations before it."""
    texts = [f"文{number}" for number in range(24)]
    with opened(pair[0].url, session) as stream:
        stream.send_all(texts[:20], 0)
        answers = stream.receive_all(20)
    with opened(pair[0].url, session) as stream, opened(pair[1].url, session) as elsewhere:
        for at in range(20, 24):
            (stream, elsewhere)[at % 2].send(texts[at], at)
            eventually(lambda at=at: _next_position(pair[0], session) == at + 1, "it is appended")
        for at in range(20, 24):
            answers.append((stream, elsewhere)[at % 2].receive())
    assert [answer["translation"] for answer in answers] == reads(texts)


def test_blocks_begin_anew(one: httpx.Client) -> None:
    """If the model reads a document in blocks, a session gives the same translations as the document."""
    texts = [f"文{number}" for number in range(7)]
    session = begin(one, target_lang="fr")
    said = [say(one, session, text).json()["translation"] for text in texts]
    document = translate(one, *texts, target_lang="fr").json()["sentences"]
    assert said == [sentence["translation"] for sentence in document]
    assert said[3:6] == [expected(texts[3]), expected(texts[4], texts[3:4]), expected(texts[5], texts[3:5])]


def test_same_sentence_at_two_replicas_at_once(
    one: httpx.Client, other: httpx.Client, pool: ThreadPoolExecutor, redis_server: RedisServer, tmp_path: Path
) -> None:
    """It is translated once: the second request waits for the first's answer, whose lease is renewed meanwhile."""
    gate, session = tmp_path / "gate", begin(one)
    text = f"wait-for:{gate}"
    first = pool.submit(say, one, session, text, 0)
    eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "the first translates it")
    before = _translated(other)
    second = pool.submit(say, other, session, text, 0)
    with redis.Redis(port=redis_server.port) as client:
        eventually(lambda: client.hexists(entries_of(session), "w0"), "the second waits")
    wait_for_a_renewal(redis_server, session, 0)
    assert not second.done()
    gate.touch()
    assert first.result().json() == second.result().json()
    assert _translated(other) == before


def test_sentence_that_waits_keeps_its_lease(
    pair: list[Replica],
    one: httpx.Client,
    session: str,
    pool: ThreadPoolExecutor,
    redis_server: RedisServer,
    tmp_path: Path,
) -> None:
    """However long it waits for the previous one, it is not mistaken for one left behind by a dead replica."""
    gate = tmp_path / "gate"
    first = pool.submit(say, one, session, f"wait-for:{gate}", 0)
    eventually(lambda: _next_position(pair[0], session) == 1, "the first is in its place")
    second = pool.submit(say, one, session, "二", 1)
    eventually(lambda: _next_position(pair[0], session) == 2, "the second is in its place")
    wait_for_a_renewal(redis_server, session, 1)
    assert not second.done()
    gate.touch()
    assert (first.result().status_code, second.result().status_code) == (200, 200)


def entries_of(session: str) -> str:
    """The key in Redis of a session's sentences."""
    _, entries, _ = DocumentKey("default", session.rpartition("/")[2]).names()
    return entries


def wait_for_a_renewal(server: RedisServer, session: str, position: int) -> None:
    """Wait until the lease of a sentence that somebody holds is extended."""
    with redis.Redis(port=server.port, decode_responses=True) as client:

        def ends() -> int:
            return int(str(client.hget(entries_of(session), f"l{position}")).rpartition(":")[2])

        first = ends()
        eventually(lambda: ends() > first, "the lease is renewed")


def test_correction_is_read_by_later_sentences(one: httpx.Client, other: httpx.Client, session: str) -> None:
    """Retries at any replica get it, without a score; the next sentence is translated with it."""
    say(one, session, "一", 0)
    corrected = other.patch(f"{session}/sentences/0", json={"translation": "eins"})
    assert corrected.status_code == 200
    entry = {"position": 0, "source": "一", "translation": "eins", "score": None}
    assert corrected.json() == entry | {"context_size": 0, "alternatives": []}
    assert say(one, session, "一", 0).json().items() >= entry.items()
    assert say(one, session, "二", 1).json()["translation"] == expected("二", ["一"], ["eins"])


def test_correction_of_a_sentence_in_flight(
    one: httpx.Client, other: httpx.Client, session: str, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """The correction is the answer even for the waiting client; the late translation changes nothing."""
    gate = tmp_path / "gate"
    waiting = pool.submit(say, one, session, f"wait-for:{gate}", 0)
    eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "it is being translated")
    other.patch(f"{session}/sentences/0", json={"translation": "eins"})
    gate.touch()
    assert waiting.result().json()["translation"] == "eins"
    assert one.get(session).json()["sentences"][0]["translation"] == "eins"


def test_correction_ends_the_translation_that_it_takes_the_place_of(
    one: httpx.Client, other: httpx.Client, session: str, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """Waiting clients, also those whose context it is, get the correction before the worker is done."""
    gate = tmp_path / "gate"
    first = pool.submit(say, one, session, f"wait-for:{gate}", 0)
    eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "it is being translated")
    second = pool.submit(say, other, session, "二", 1)
    eventually(lambda: one.get(session).json()["next_position"] == 2, "the second waits for it")
    one.patch(f"{session}/sentences/0", json={"translation": "eins"})
    try:
        corrected, after = (waiting.result(timeout=30).json()["translation"] for waiting in (first, second))
    finally:
        gate.touch()
    assert (corrected, after) == ("eins", expected("二", [f"wait-for:{gate}"], ["eins"]))


def test_what_cannot_be_corrected(one: httpx.Client, session: str) -> None:
    """A missing sentence, a translation that is too long, and an unknown session lead to errors."""
    absent = one.patch(f"{session}/sentences/0", json={"translation": "eins"})
    assert (absent.status_code, absent.json()["code"]) == (404, "sentence_not_found")
    say(one, session, "一", 0)
    assert one.patch(f"{session}/sentences/0", json={"translation": "x" * 8000}).status_code == 200
    too_long = one.patch(f"{session}/sentences/0", json={"translation": "x" * 8001})
    assert (too_long.status_code, too_long.json()["code"]) == (422, "sentence_too_long")
    unknown = one.patch(f"/v1/sessions/{'A' * 22}/sentences/0", json={"translation": "eins"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "session_not_found")
    assert one.patch(f"{session}/sentences/-1", json={"translation": "eins"}).status_code == 422


def test_sentence_after_one_that_failed(
    pair: list[Replica], one: httpx.Client, session: str, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """Later sentences get errors that name the failed one, until it is corrected; then they are translated."""
    gate = tmp_path / "gate"
    busy = pool.submit(translate, one, f"wait-for:{gate}", target_lang="de")
    eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "the worker is busy")
    with opened(pair[0].url, session) as stream:
        stream.send_all(["refuse", "二", "三"], 0)
        eventually(lambda: _next_position(pair[0], session) == 3, "they are appended")
        gate.touch()
        refused, second, third = stream.receive_all(3)
        assert (refused["code"], second["code"], third["code"]) == (
            "invalid_request",
            "sentence_failed",
            "sentence_failed",
        )
        assert (second["status"], second["failed_position"]) == (409, 0)
        stream.send("二", 1)
        assert stream.receive()["failed_position"] == 0
        one.patch(f"{session}/sentences/0", json={"translation": "eins"})
        stream.send_all(["二", "三"], 1)
        second, third = stream.receive_all(2)
    assert busy.result().status_code == 200
    assert second["translation"] == expected("二", ["refuse"], ["eins"])
    assert third["translation"] == expected("三", ["refuse", "二"], ["eins", "二"])


def test_document_that_is_deleted_under_a_sentence_that_waits(
    one: httpx.Client, other: httpx.Client, session: str, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """Whoever waits for the previous sentence is told that the session is gone, not that a sentence has failed."""
    first = pool.submit(say, one, session, f"wait-for:{tmp_path / 'gate'}", 0)
    eventually(lambda: one.get(session).json()["next_position"] == 1, "the first is appended")
    second = pool.submit(say, other, session, "二", 1)
    eventually(lambda: one.get(session).json()["next_position"] == 2, "the second is appended")
    assert one.delete(session).status_code == 204
    gone = [waiting.result().json()["code"] for waiting in (first, second)]
    (tmp_path / "gate").touch()
    assert gone == ["session_not_found"] * 2


def test_untranslatable_sentence_sent_twice(
    one: httpx.Client, other: httpx.Client, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """Both requests get the reason, and the sentence does not block the session."""
    gate, session = tmp_path / "gate", begin(one)
    busy = pool.submit(translate, one, f"wait-for:{gate}")
    eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "the worker is busy")
    first = pool.submit(say, one, session, "refuse", 0)
    eventually(lambda: one.get(session).json()["next_position"] == 1, "it is appended")
    second = pool.submit(say, other, session, "refuse", 0)
    with pytest.raises(TimeoutError):
        second.result(timeout=0.2)
    gate.touch()
    assert [refused.result().json()["code"] for refused in (first, second)] == ["invalid_request"] * 2
    assert busy.result().status_code == 200
    assert say(one, session, "一", 0).status_code == 200


def test_sentence_before_whose_replica_was_killed(
    replicas: Replicas, redis_server: RedisServer, bundles: str, one: httpx.Client, session: str, tmp_path: Path
) -> None:
    """A later sentence that needs its translation has it made once the lease has run out, and both are kept.

    If it cannot be translated, the later sentence's error names it, rather than blaming the later sentence itself.
    """
    gate, hopeless = tmp_path / "gate", begin(one, target_lang="de")
    texts = ["一", f"wait-for:{gate}", "三"]
    dying = replicas.new(redis_url=redis_server.url, bundles=bundles, session_lease_seconds="0.5").start()
    say(one, session, texts[0], 0)
    with opened(dying.url, session) as stream, opened(dying.url, hopeless) as another:
        stream.send(texts[1], 1)
        with dying.client() as client:
            eventually(lambda: measured(client, "antecedent_sentences_running 1.0"), "the worker is busy")
        another.send("refuse", 0)
        eventually(lambda: one.get(hopeless).json()["next_position"] == 1, "it is appended")
        dying.end(signal.SIGKILL)
    gate.touch()
    assert say(one, session, texts[2], 2).json()["translation"] == reads(texts)[2]
    assert [kept["translation"] for kept in one.get(session).json()["sentences"]] == reads(texts)
    told = say(one, hopeless, "二", 1)
    assert (told.status_code, told.json()["failed_position"]) == (409, 0)


def test_model_that_reads_what_follows_serves_no_sessions(one: httpx.Client) -> None:
    """A session is refused with a clear error, but whole documents are translated."""
    pair = {"source_lang": "ja", "target_lang": "es"}
    told = one.post("/v1/sessions", json=pair)
    assert (told.status_code, told.json()["code"], told.json()["model"]) == (409, "sessions_not_served", "whole")
    assert one.post("/v1/documents", json=pair | {"sentences": ["一", "二"]}).status_code == 200
    served = {model["name"]: model["serves_sessions"] for model in one.get("/v1/models").json()["models"]}
    assert (served["whole"], served["reader"]) == (False, True)


def test_stream_where_the_model_is_not_loaded(
    replicas: Replicas, redis_server: RedisServer, one: httpx.Client, session: str
) -> None:
    """A replica without the session's model refuses the handshake, just like a request."""
    without = replicas.new(redis_url=redis_server.url).start()
    refusal = refused(without.url, session)
    with without.client() as client:
        request = say(client, session, "一", 0).json()
    assert refusal["code"] == request["code"] == "session_model_not_loaded"
    assert (refusal["status"], refusal["model"]) == (409, "reader")
    assert one.get(session).json()["next_position"] == 0


def test_session_deleted_while_a_sentence_is_in_flight(
    one: httpx.Client, pool: ThreadPoolExecutor, redis_server: RedisServer, tmp_path: Path
) -> None:
    """The translation does not bring the session back: the client is told, and Redis holds nothing of it."""
    gate, session = tmp_path / "gate", begin(one)
    waiting = pool.submit(say, one, session, f"wait-for:{gate}", 0)
    eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "it is being translated")
    assert one.delete(session).status_code == 204
    gate.touch()
    told = waiting.result()
    assert (told.status_code, told.json()["code"]) == (404, "session_not_found")
    with redis.Redis(port=redis_server.port) as client:
        assert client.keys(f"*{session.rpartition('/')[2]}*") == []


def _next_position(replica: Replica, session: str) -> int:
    with replica.client() as client:
        position: int = client.get(session).json()["next_position"]
    return position


def _translated(client: httpx.Client) -> str:
    lines = client.get("/metrics").text.splitlines()
    return next((line for line in lines if line.startswith("antecedent_sentences_total")), "")
