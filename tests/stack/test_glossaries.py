"""Glossaries of documents and sessions: each sentence is translated with the terms that occur in it."""

from collections.abc import Iterator

import httpx
import pytest
from redis import Redis

from service.store.document import DocumentKey
from tests.support.client import PAIR, begin, say, translate
from tests.support.events import document_events
from tests.support.servers import RedisServer, Replicas
from tests.support.streams import opened

GLOSSARY = [{"source": "紫式部", "target": "Lady Murasaki"}, {"source": "源氏物語", "target": "Story of Genji"}]
SENTENCES = ["紫式部は来た。", "源氏物語を書いた。", "座った。"]
SAID = ["LADY MURASAKIは来た。", "STORY OF GENJIを書いた。", "座った。"]
"""Translations by the stand-in runtime, which inserts terms where they occur."""


@pytest.fixture(scope="module")
def two(shared_replicas: Replicas, redis_server: RedisServer) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Clients of two replicas that share a Redis."""
    settings = {
        "redis_url": redis_server.url,
        "max_glossary_terms": "3",
        "max_glossary_characters": "450",
        "session_lease_seconds": "60",
    }
    replicas = [shared_replicas.new(**settings).start() for _ in range(2)]
    with replicas[0].client() as one, replicas[1].client() as other:
        yield one, other


@pytest.fixture
def client(two: tuple[httpx.Client, httpx.Client]) -> httpx.Client:
    """The client of the first replica."""
    return two[0]


def said(answers: list[dict[str, str]]) -> list[str]:
    """Translations without their contexts."""
    return [answer["translation"].split(" [")[0] for answer in answers]


def test_sentences_of_a_document_have_their_terms(client: httpx.Client) -> None:
    """Terms apply to documents as text, as sentences and as events, but not to preceding sentences as context."""
    sentences = translate(client, *SENTENCES, glossary=GLOSSARY).json()["sentences"]
    assert said(sentences) == SAID
    assert sentences[2]["translation"] == "座った。 [紫式部は来た。 | 源氏物語を書いた。]"
    text = client.post("/v1/documents", json=PAIR | {"text": "".join(SENTENCES), "glossary": GLOSSARY})
    assert said(text.json()["sentences"]) == SAID
    assert "LADY" not in translate(client, *SENTENCES).text
    with document_events(client, sentences=SENTENCES, glossary=GLOSSARY) as events:
        assert said([data for kind, data in events if kind == "sentence"]) == SAID


def test_a_session_keeps_its_glossary(two: tuple[httpx.Client, httpx.Client]) -> None:
    """The glossary applies to all sentences on every replica; a retry of the creation must have the same one."""
    one, other = two
    key = {"Idempotency-Key": "with a glossary"}
    begun = [one.post("/v1/sessions", json=PAIR | {"glossary": terms}, headers=key) for terms in (GLOSSARY, GLOSSARY)]
    path = f"/v1/sessions/{begun[0].json()['session_id']}"
    assert begun[1].json() == begun[0].json()
    answers = [say(client, path, text).json() for client, text in zip((one, other, one), SENTENCES, strict=True)]
    assert said(answers) == SAID
    assert other.get(path).json()["glossary"] == GLOSSARY
    refused = one.post("/v1/sessions", json=PAIR | {"glossary": GLOSSARY[:1]}, headers=key)
    assert (refused.status_code, refused.json()["code"]) == (409, "session_conflict")
    assert one.get(begin(one)).json()["glossary"] == []


def test_a_stream_says_the_terms_of_its_session(client: httpx.Client) -> None:
    """The terms apply over a WebSocket, too."""
    with opened(str(client.base_url).rstrip("/"), begin(client, glossary=GLOSSARY)) as stream:
        stream.send_all(SENTENCES, 0)
        assert said(stream.receive_all(len(SENTENCES))) == SAID


def test_a_session_of_an_earlier_release_has_none(client: httpx.Client, redis_server: RedisServer) -> None:
    """Such a session goes on without a glossary."""
    path = begin(client)
    with Redis.from_url(redis_server.url) as redis:
        redis.hdel(DocumentKey("default", path.rpartition("/")[2]).names()[0], "glossary")
    assert said([say(client, path, SENTENCES[0]).json()]) == ["紫式部は来た。"]
    assert client.get(path).json()["glossary"] == []


@pytest.mark.parametrize(
    ("glossary", "detail"),
    [
        ([{"source": " ", "target": "x"}], "glossary.0.source: String should have at least 1 character"),
        ([{"source": "x" * 201, "target": "x"}], "glossary.0.source: String should have at most 200 characters"),
        ([{"source": "x", "target": "a\nb"}], "glossary.0.target: must not contain line breaks"),
        ([{"source": "x"}], "glossary.0.target: Field required"),
        (
            [{"source": "a", "target": "b"}, {"source": "a ", "target": "c"}],
            "term 1 has the same source as an earlier term",
        ),
        ([{"source": "x", "target": "a\U000f0000"}], "glossary.0.target: must not contain line breaks"),
        ([{"source": str(n), "target": "x"} for n in range(4)], "the glossary has more than 3 terms"),
        ([{"source": n * 200, "target": "x" * 30} for n in "ab"], "the glossary has 460 characters; at most 450"),
        ({"x": "y"}, "glossary: Input should be a valid list"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/documents", "/v1/sessions"])
def test_what_is_no_glossary_is_refused(client: httpx.Client, path: str, glossary: object, detail: str) -> None:
    """The error says what is wrong without quoting the glossary."""
    body = PAIR | {"glossary": glossary} | ({"text": "a"} if path == "/v1/documents" else {})
    answer = client.post(path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert detail in answer.json()["detail"]


def test_the_limit_is_told(client: httpx.Client) -> None:
    """It is listed with the other limits."""
    limits = client.get("/v1/info").json()["limits"]
    assert (limits["max_glossary_terms"], limits["max_glossary_characters"]) == (3, 450)
