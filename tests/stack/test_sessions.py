"""Sessions from end to end, on one replica and on two that share a Redis."""

import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from redis import Redis

from service.store.document import DocumentKey
from tests.support.client import PAIR, SENTENCES, begin, say
from tests.support.servers import RedisServer, Replicas, eventually
from tests.support.stand_in import expected


@pytest.fixture(scope="module")
def two(shared_replicas: Replicas, redis_server: RedisServer) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Clients of two replicas that share a Redis."""
    settings = {"redis_url": redis_server.url, "session_max_ttl_seconds": "100000", "session_lease_seconds": "60"}
    replicas = [shared_replicas.new(**settings).start() for _ in range(2)]
    with replicas[0].client() as one, replicas[1].client() as other:
        yield one, other


def test_sentence_that_is_lost_while_it_is_translated(
    two: tuple[httpx.Client, httpx.Client], redis_server: RedisServer, tmp_path: Path
) -> None:
    """If Redis loses its last writes, the client is told the next position, and can send the sentence again there."""
    client, session, gate = two[0], begin(two[0]), tmp_path / "gate"
    assert say(client, session, "一", 0).status_code == 200
    with ThreadPoolExecutor() as pool, Redis.from_url(redis_server.url, decode_responses=True) as redis:
        waiting = pool.submit(say, client, session, f"wait-for:{gate}", 1)
        eventually(lambda: client.get(session).json()["next_position"] == 2, "it is appended")
        of_session, entries, keys = DocumentKey("default", session.rpartition("/")[2]).names()
        redis.hset(of_session, "next", 1)
        redis.hdel(entries, "s1", "k1", "l1")
        redis.delete(keys)
        gate.touch()
        lost = waiting.result()
    assert (lost.status_code, lost.json()["code"], lost.json()["next_position"]) == (409, "position_gap", 1)
    assert say(client, session, f"wait-for:{gate}", 1).status_code == 200


def test_session_that_is_deleted_and_begun_again(two: tuple[httpx.Client, httpx.Client], tmp_path: Path) -> None:
    """What is still being translated of the old one, with its context, answers no sentence of the new one."""
    client, gate = two[0], tmp_path / "gate"
    last = f"wait-for:{gate}"

    def begun() -> str:
        answer = client.post("/v1/sessions", json=PAIR, headers={"Idempotency-Key": "begun again"})
        return f"/v1/sessions/{answer.json()['session_id']}"

    session = begun()
    assert say(client, session, "旧", 0).status_code == 200
    with ThreadPoolExecutor() as pool:
        late = pool.submit(say, client, session, last, 1)
        eventually(Path(f"{gate}.begun").exists, "it is being translated")
        assert client.delete(session).status_code == 204
        assert begun() == session
        new = []
        for position, text in enumerate(["新", last]):
            new.append(pool.submit(say, client, session, text, position))
            eventually(lambda: client.get(session).json()["next_position"] == len(new), "it is appended")
        gate.touch()
        assert late.result().json()["code"] == "session_not_found"
        assert new[1].result().json()["translation"] == expected(last, ["新"])


def test_session_by_two_replicas(two: tuple[httpx.Client, httpx.Client]) -> None:
    """Two replicas that alternate give the same answers as one alone, and as the whole document."""
    one, other = two
    alone, shared = begin(one), begin(one)
    by_one = [say(one, alone, text).json() for text in SENTENCES]
    in_turn = [say(two[at % 2], shared, text).json() for at, text in enumerate(SENTENCES)]
    document = other.post("/v1/documents", json=PAIR | {"sentences": SENTENCES}).json()["sentences"]
    assert by_one == in_turn
    assert in_turn == document
    assert by_one[4]["translation"] == expected("帰った。", ["笑った。", "泣いた。"])


def test_alternatives_are_those_of_the_document(two: tuple[httpx.Client, httpx.Client]) -> None:
    """Each sentence has as many alternatives as the session asked for, in retries too; a correction has none."""
    one, other = two
    session = begin(one, alternatives=2)
    said = [say(two[at % 2], session, text).json() for at, text in enumerate(SENTENCES)]
    asked = PAIR | {"sentences": SENTENCES, "alternatives": 2}
    assert said == one.post("/v1/documents", json=asked).json()["sentences"]
    assert [each["translation"] for each in said[0]["alternatives"]] == [
        f"{expected(SENTENCES[0])} {rank}" for rank in (2, 3)
    ]
    assert say(other, session, SENTENCES[0], 0).json() == said[0]
    corrected = other.patch(f"{session}/sentences/0", json={"translation": "She came."}).json()
    assert (corrected["translation"], corrected["alternatives"]) == ("She came.", [])
    state = one.get(session).json()
    assert (state["alternatives"], state["sentences"]) == (2, [corrected, *said[1:]])
    for asked in ({"alternatives": 8}, {"alternatives": 2, "beam_size": 2}):
        refused = one.post("/v1/sessions", json=PAIR | asked)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")


def test_retry_conflict_and_gap(two: tuple[httpx.Client, httpx.Client]) -> None:
    """A retry gets the same answer at any replica; for another text or a gap, the error gives the next position."""
    one, other = two
    session = begin(one)
    first = say(one, session, "一", 0)
    assert say(other, session, "一", 0).json() == first.json()
    conflict, gap = say(other, session, "二", 0), say(other, session, "二", 2)
    assert (conflict.status_code, conflict.json()["code"]) == (409, "position_conflict")
    assert (gap.status_code, gap.json()["code"]) == (409, "position_gap")
    assert conflict.json()["next_position"] == gap.json()["next_position"] == 1


def test_retry_costs_no_translation(two: tuple[httpx.Client, httpx.Client]) -> None:
    """An answer from the store is counted as such, and not as a translated sentence."""
    client = two[0]
    session = begin(client)
    say(client, session, "一", 0)
    before = client.get("/metrics").text
    say(client, session, "一", 0)
    after = client.get("/metrics").text
    for name, more in (("stored_answers", 1), ("sentences", 0)):
        line = re.compile(rf"^antecedent_{name}_total (\S+)$", re.MULTILINE)
        assert float(line.findall(after)[0]) - float(line.findall(before)[0]) == more


def test_idempotency_key(two: tuple[httpx.Client, httpx.Client]) -> None:
    """Without a position, the key makes a repetition safe; it may not be too long."""
    session = begin(two[0])
    first, again = (say(client, session, "一", **{"Idempotency-Key": "k"}).json() for client in two)
    assert first == again
    assert say(two[0], session, "二").json()["position"] == 1
    refused = say(two[0], session, "三", **{"Idempotency-Key": "k" * 256}).json()
    assert "idempotency-key" in refused["detail"].lower()


def test_sentence_without_words_is_no_context(two: tuple[httpx.Client, httpx.Client]) -> None:
    """It keeps its position in the session, but does not count as context."""
    session = begin(two[0])
    said = [say(two[0], session, text).json() for text in ("一", "", "二")]
    assert [one["context_size"] for one in said] == [0, 0, 1]
    assert [one["position"] for one in said] == [0, 1, 2]


def test_session_is_begun_once(two: tuple[httpx.Client, httpx.Client]) -> None:
    """If its answer was lost, a creation can be repeated with its key at any replica, and finds the session."""
    key, body = {"Idempotency-Key": "a random key"}, PAIR | {"ttl_seconds": 77}
    first = two[0].post("/v1/sessions", json=body, headers=key).json()
    say(two[0], f"/v1/sessions/{first['session_id']}", "一")
    again = two[1].post("/v1/sessions", json=PAIR, headers=key)
    assert (again.status_code, again.json()) == (201, first | {"next_position": 1})
    changes = [
        {"ttl_seconds": 78},
        {"model": "another"},
        {"source_lang": "de"},
        {"target_lang": "de"},
        {"alternatives": 1},
    ]
    others = [two[1].post("/v1/sessions", json=PAIR | change, headers=key) for change in changes]
    assert {(other.status_code, other.json()["code"]) for other in others} == {(409, "session_conflict")}
    another = two[1].post("/v1/sessions", json=PAIR, headers={"Idempotency-Key": "another key"}).json()
    assert another["session_id"] != first["session_id"]


def test_state_and_deletion(two: tuple[httpx.Client, httpx.Client]) -> None:
    """A session shows what it keeps; once deleted it is unknown everywhere, and is not created again."""
    one, other = two
    session = begin(one, ttl_seconds=77)
    said = [say(one, session, text).json() for text in SENTENCES]
    state = other.get(session).json()
    assert (state["next_position"], state["window"], state["ttl_seconds"]) == (5, 2, 77)
    assert state["sentences"] == said
    assert one.delete(session).status_code == 204
    for answer in (other.get(session), other.delete(session), say(other, session, "一", 0)):
        assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")


@pytest.mark.parametrize("session_id", ["x", "A" * 22, "..%2F..", "{a}:b"])
def test_unknown_session(two: tuple[httpx.Client, httpx.Client], session_id: str) -> None:
    """Whatever the id looks like, a session that was never created is not found."""
    answer = say(two[0], f"/v1/sessions/{session_id}", "一")
    assert answer.status_code == 404


@pytest.mark.parametrize("position", ["0.0", "0_0", "+0", "%200", "00", "-0", "-1", "٠", "a"])
def test_position_in_a_path_is_written_as_in_json(two: tuple[httpx.Client, httpx.Client], position: str) -> None:
    """Every sentence has exactly one address."""
    session, correction = begin(two[0]), {"translation": "eins"}
    say(two[0], session, "一", 0)
    wrong = two[0].patch(f"{session}/sentences/{position}", json=correction)
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_input")
    assert wrong.json()["detail"] == "path.position: must be digits without leading zeros"
    assert two[0].patch(f"{session}/sentences/0", json=correction).status_code == 200


def test_session_does_not_expire_while_its_sentence_is_translated(
    two: tuple[httpx.Client, httpx.Client], redis_server: RedisServer, tmp_path: Path
) -> None:
    """Its short time to live is extended, even though it is less than the time until the lease is renewed."""
    session, gate = begin(two[0], ttl_seconds=5), tmp_path / "gate"
    of_session, entries, _ = DocumentKey("default", session.rpartition("/")[2]).names()
    with ThreadPoolExecutor() as pool, Redis.from_url(redis_server.url) as redis:
        waiting = pool.submit(say, two[0], session, f"wait-for:{gate}", 0)
        eventually(lambda: redis.exists(entries) == 1, "it is appended")
        left = [redis.pttl(of_session)]

        def renewed() -> bool:
            left.append(redis.pttl(of_session))
            return bool(left[-1] > left[-2])

        eventually(renewed, "it lives on")
        gate.touch()
        assert waiting.result().status_code == 200


def test_time_to_live_has_a_limit(two: tuple[httpx.Client, httpx.Client]) -> None:
    """A longer time than the service allows is refused rather than shortened."""
    answer = two[0].post("/v1/sessions", json=PAIR | {"ttl_seconds": 100_001})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")


def test_refused_sentence_does_not_block_the_document(two: tuple[httpx.Client, httpx.Client]) -> None:
    """A sentence that cannot be translated takes no position: another one can follow there."""
    session = begin(two[0])
    say(two[0], session, "一")
    assert say(two[0], session, "refuse", 1).status_code == 422
    assert two[0].get(session).json()["next_position"] == 1
    assert say(two[1], session, "二", 1).json()["translation"] == expected("二", ["一"])


def test_replica_killed_between_append_and_finish(
    two: tuple[httpx.Client, httpx.Client], replicas: Replicas, redis_server: RedisServer, tmp_path: Path
) -> None:
    """A retry at another replica is answered with the same context, and the sentence is not appended twice."""
    survivor, gate = two[0], tmp_path / "gate"
    text = f"二 wait-for:{gate}"
    dying = replicas.new(redis_url=redis_server.url, session_lease_seconds="0.5").start()
    with dying.client() as client, ThreadPoolExecutor(1) as pool:
        session = begin(client)
        say(client, session, "一", 0)
        lost = pool.submit(say, client, session, text, 1)
        eventually(lambda: survivor.get(session).json()["next_position"] == 2, "the sentence is appended")
        assert survivor.get(session).json()["sentences"][1]["translation"] is None
        dying.end(signal.SIGKILL)
        with pytest.raises(httpx.TransportError):
            lost.result()
    gate.touch()
    assert say(survivor, session, text, 1).json()["translation"] == expected(text, ["一"])
    assert survivor.get(session).json()["next_position"] == 2
