"""Whole documents from end to end: a real server on a socket, with worker processes."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.client import PAIR
from tests.support.servers import RedisServer, Replicas, bundle
from tests.support.stand_in import expected


@pytest.fixture(scope="module")
def client(shared_replicas: Replicas, redis_server: RedisServer) -> Iterator[httpx.Client]:
    """A client of a replica with small limits."""
    replica = shared_replicas.new(
        redis_url=redis_server.url,
        max_sentence_characters="50",
        max_document_sentences="300",
        max_context_sentences="3",
        max_body_bytes="20000",
        document_concurrency="8",
        queue_limit="16",
    )
    with replica.start().client() as client:
        yield client
    assert replica.end() == 0


def _document(client: httpx.Client, **members: object) -> httpx.Response:
    return client.post("/v1/documents", json=PAIR | members)


def test_each_sentence_is_translated_with_those_before_it(client: httpx.Client) -> None:
    """Text is split, each sentence is read with up to two before it, and the original white space stays."""
    answer = _document(client, text="彼女は来た。座った。\n\n　笑った。\n帰った。")
    assert answer.status_code == 200
    body = answer.json()
    sources = ["彼女は来た。", "座った。", "笑った。", "帰った。"]
    translations = [expected(source, sources[max(0, at - 2) : at]) for at, source in enumerate(sources)]
    assert [sentence["position"] for sentence in body["sentences"]] == [0, 1, 2, 3]
    assert [sentence["source"] for sentence in body["sentences"]] == sources
    assert [sentence["translation"] for sentence in body["sentences"]] == translations
    assert [sentence["context_size"] for sentence in body["sentences"]] == [0, 1, 2, 2]
    assert body["text"] == "{} {}\n\n　{}\n{}".format(*translations)
    assert set(body) == {"id", "model", "text", "sentences"}


def test_a_paragraph_that_is_wrapped_is_one_line(client: httpx.Client) -> None:
    """Its sentences are read whole and its translation is a single line; paragraphs stay separate."""
    body = _document(client, text="か。きa b c d of which there are 40 columns\nand more.\n\nく。").json()
    assert [sentence["source"] for sentence in body["sentences"]] == [
        "か。",
        "きa b c d of which there are 40 columns and more.",
        "く。",
    ]
    assert body["text"].count("\n") == 2


def test_callers_boundaries_are_kept(client: httpx.Client) -> None:
    """Sentences given by the caller are neither split nor joined; an empty one keeps its place."""
    body = _document(client, sentences=["a. b.", "", "c"]).json()
    assert [sentence["source"] for sentence in body["sentences"]] == ["a. b.", "", "c"]
    assert body["text"] == "\n".join(sentence["translation"] for sentence in body["sentences"])


def test_context_precedes_the_first_sentence(client: httpx.Client) -> None:
    """The given context is read but not translated."""
    body = _document(client, sentences=["c", "d"], context=["a", "b"]).json()
    translations = [sentence["translation"] for sentence in body["sentences"]]
    assert translations == [expected("c", ["a", "b"]), expected("d", ["b", "c"])]


def test_strategy_sentence_reads_no_context(client: httpx.Client) -> None:
    """Each sentence is translated as if there were no others."""
    body = _document(client, sentences=["a", "b"], context=["x"], strategy="sentence").json()
    assert [sentence["translation"] for sentence in body["sentences"]] == ["A", "B"]
    assert [sentence["context_size"] for sentence in body["sentences"]] == [0, 0]


def test_long_document_is_served_beside_others(client: httpx.Client) -> None:
    """A document much longer than the queue's limit does not block itself, and its order is preserved."""
    sources = [f"s{number}" for number in range(300)]
    body = _document(client, sentences=sources).json()
    assert [sentence["source"] for sentence in body["sentences"]] == sources
    assert body["sentences"][-1]["translation"] == expected("s299", ["s297", "s298"])


def test_document_without_sentences(client: httpx.Client) -> None:
    """White space comes back as it is."""
    assert _document(client, text=" \n ").json()["text"] == " \n "


def test_empty_sentences_take_no_room_in_the_window(client: httpx.Client) -> None:
    """They do not count as context, just like blank lines in a text."""
    body = _document(client, sentences=["一。", "", "2024", "🎉", "", "二。"], context=["零。", " "]).json()
    assert [sentence["context_size"] for sentence in body["sentences"]] == [1, 0, 0, 0, 0, 2]


@pytest.mark.parametrize(
    ("members", "status", "code"),
    [
        ({"text": "a", "colour": "red"}, 422, "invalid_input"),
        ({"text": "a", "sentences": ["a"]}, 422, "invalid_input"),
        ({"text": "a", "beam_size": 9}, 422, "invalid_input"),
        ({"text": "a", "target_lang": "de"}, 422, "language_pair_not_served"),
        ({"text": "a", "model": "other"}, 404, "model_not_found"),
        ({"sentences": ["a" * 51]}, 422, "sentence_too_long"),
        ({"sentences": ["a"], "context": ["a" * 51]}, 422, "sentence_too_long"),
        ({"sentences": ["a"] * 301}, 422, "invalid_input"),
        ({"text": "a", "context": ["a"] * 4}, 422, "invalid_input"),
        ({"sentences": ["fine", "refuse"]}, 422, "invalid_request"),
    ],
)
def test_refusals_are_problems(client: httpx.Client, members: dict[str, object], status: int, code: str) -> None:
    """Refusals follow RFC 9457 and have a machine-readable code."""
    answer = _document(client, **members)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert not answer.json()["retryable"]


@pytest.mark.parametrize(
    ("members", "position"),
    [
        ({"sentences": ["a", "b", "refuse"]}, 2),
        ({"text": "あ。い。\nrefuse"}, 2),
        ({"sentences": ["a", "b" * 51]}, 1),
    ],
)
def test_sentence_that_cannot_be_translated_is_named(
    client: httpx.Client, members: dict[str, object], position: int
) -> None:
    """If the model or a limit refuses a sentence, the problem gives its position in the document."""
    assert _document(client, **members).json()["position"] == position


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("# a\r\n\r\n- b\n  1. c\n", "# A\r\n\r\n- B [a]\n  1. C [a | b]\n"),
        ("・一。二。\n① 三。", "・一。 二。 [一。]\n① 三。 [一。 | 二。]"),
        ("> a\n> > b\n---\n(a) c", "> A\n> > B [a]\n---\n(a) C [a | b]"),
        ("🙂", "🙂"),
        ("", ""),
        ("一。", "一。"),
    ],
)
def test_text_keeps_its_form(client: httpx.Client, text: str, translation: str) -> None:
    """White space, list markers, headings and lines without words surround the translations as in the original."""
    assert _document(client, text=text).json()["text"] == translation


def test_pair_that_is_not_served_names_those_that_are(client: httpx.Client) -> None:
    """The refusal lists what could be requested."""
    assert _document(client, text="a", target_lang="de").json()["pairs"] == ["ja-en"]


def test_what_is_no_json_or_no_route_is_a_problem_too(client: httpx.Client) -> None:
    """Framework errors look like all others."""
    answers = [
        (client.post("/v1/documents", content=b"{", headers={"Content-Type": "application/json"}), 400),
        (client.get("/v1/nothing"), 404),
        (client.get("/v1/documents"), 405),
        (
            client.post("/v1/documents", content=b'{"text": "\\ud83d"}', headers={"Content-Type": "application/json"}),
            422,
        ),
    ]
    for answer, status in answers:
        assert answer.status_code == answer.json()["status"] == status
        assert answer.headers["content-type"] == "application/problem+json"
    assert "/openapi.json" in answers[1][0].json()["detail"]
    assert (
        answers[2][0].json()["detail"]
        == f"this path supports {answers[2][0].headers['allow']}"
        == "this path supports POST"
    )


@pytest.mark.parametrize("chunked", [False, True])
def test_body_beyond_the_limit_is_refused(client: httpx.Client, chunked: bool) -> None:
    """The limit applies whether or not the length is announced."""
    body = b'{"text": "' + b"a" * 30_000 + b'"}'
    content = iter([body[:15_000], body[15_000:]]) if chunked else body
    answer = client.post("/v1/documents", content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_models_are_listed(client: httpx.Client) -> None:
    """Each bundle is listed with its languages, its window and its licence."""
    (model,) = client.get("/v1/models").json()["models"]
    assert (model["name"], model["source_lang"], model["target_lang"], model["window"]) == ("stand-in", "ja", "en", 2)
    assert model["licence"] == "CC0-1.0"


def test_probes_and_metrics(client: httpx.Client) -> None:
    """All probes are ok; requests are counted by the route's pattern, never by an id or a text."""
    _document(client, sentences=["countable"])
    client.get("/v1/sessions/some-made-up-id")
    assert client.get("/health/live").json()["status"] == "ok"
    assert client.get("/health/ready").json() == {"status": "ok", "reasons": []}
    assert client.get("/health/dependencies").json()["status"] == "ok"
    metrics = client.get("/metrics").text
    for line in (
        'antecedent_requests_total{method="POST",route="/v1/documents",status="200"}',
        'antecedent_requests_total{method="GET",route="/v1/sessions/{session_id}",status="404"} 1.0',
        "antecedent_batch_sentences_count",
        "antecedent_tokens_total",
        'antecedent_sentences_waiting{priority="bulk"} 0.0',
        "antecedent_sentences_running 0.0",
        'antecedent_redis_seconds_count{operation="try_to_write"} 1.0',
    ):
        assert line in metrics
    assert "made-up" not in metrics
    assert "countable" not in metrics


def test_request_id_of_the_client_is_kept_if_it_is_harmless(client: httpx.Client) -> None:
    """A client can find its request in the logs, but cannot write whatever it likes into them."""
    assert client.get("/health/live", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert client.get("/health/live", headers={"X-Request-ID": "a b\tc"}).headers["x-request-id"] != "a b\tc"


def test_several_bundles_are_told_apart_by_pair_and_name(replicas: Replicas, tmp_path: Path) -> None:
    """Of two models for the same language pair the first is the default; the other is requested by name."""
    bundles = [
        bundle(tmp_path / "one", name="one", window=1),
        bundle(tmp_path / "two", name="two", window=3),
        bundle(tmp_path / "de", name="german", target="de", window=0),
    ]
    replica = replicas.new(bundles=os.pathsep.join(map(str, bundles)), redis_url="redis://127.0.0.1:1").start()
    asked = {"default": {}, "two": {"model": "two"}, "german": {"target_lang": "de"}}
    with replica.client() as client:
        answers = {name: _document(client, sentences=list("abcd"), **members) for name, members in asked.items()}
        sizes = {name: answer.json()["sentences"][-1]["context_size"] for name, answer in answers.items()}
        assert sizes == {"default": 1, "two": 3, "german": 0}
        refused = _document(client, text="a", model="german").json()
        assert refused["code"] == "language_pair_not_served"
        assert refused["detail"].startswith("model german does not serve ja-en;")
