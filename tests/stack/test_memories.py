"""Translation memories: sentences of a document, a session or a file that they contain are not translated again."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from redis import Redis

from service.store.document import DocumentKey
from tests.support.client import PAIR, begin, measured, say, translate
from tests.support.events import document_events
from tests.support.servers import RedisServer, Replica, Replicas, bundle, eventually
from tests.support.streams import opened

SENTENCES = ["か。", "き。", "く。"]
MEMORY = [{"source": "き。", "target": "No, she said."}, {"source": "さ。", "target": "unused"}]


@pytest.fixture(scope="module")
def replicas_of_one_redis(
    shared_replicas: Replicas,
    redis_server: RedisServer,
    stand_in_bundle: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Replica]:
    """Two replicas, whose second model, into German, reads the translations of preceding sentences."""
    folder = tmp_path_factory.mktemp("bundles") / "reader"
    reader = bundle(folder, name="reader", target="de", reads_target_context=True)
    settings = {
        "redis_url": redis_server.url,
        "bundles": f"{stand_in_bundle}:{reader}",
        "max_memory_segments": "3",
        "max_session_memory_characters": "50",
        "max_translation_characters": "20",
    }
    return [shared_replicas.new(**settings).start() for _ in range(2)]


@pytest.fixture
def replica(replicas_of_one_redis: list[Replica]) -> Replica:
    """The first of them."""
    return replicas_of_one_redis[0]


@pytest.fixture
def other(replicas_of_one_redis: list[Replica]) -> Iterator[httpx.Client]:
    """A client of the second."""
    with replicas_of_one_redis[1].client() as client:
        yield client


def told(answers: list[dict[str, object]]) -> list[tuple[object, bool, object]]:
    """The translations, whether they have a score, and the size of the context."""
    return [(answer["translation"], answer["score"] is not None, answer["context_size"]) for answer in answers]


def test_a_known_sentence_is_not_translated(client: httpx.Client) -> None:
    """This holds for sentences, text and events; the known sentence's source serves as context for others."""
    expected = [("か。", True, 0), ("No, she said.", False, 0), ("く。 [か。 | き。]", True, 2)]
    assert told(translate(client, *SENTENCES, memory=MEMORY).json()["sentences"]) == expected
    text = client.post("/v1/documents", json=PAIR | {"text": "か。\n\n- き。く。", "memory": MEMORY}).json()
    assert (told(text["sentences"]), text["text"]) == (expected, "か。\n\n- No, she said. く。 [か。 | き。]")
    with document_events(client, sentences=SENTENCES, memory=MEMORY) as events:
        assert told([data for kind, data in events if kind == "sentence"]) == expected


def test_white_space_does_not_matter(client: httpx.Client) -> None:
    """Of two segments whose sources differ only in white space the last counts; letter case does matter."""
    memory = [{"source": "a \n b.", "target": "first"}, {"source": "\u3000a b. ", "target": " last "}]
    assert translate(client, "a b.", " a\tb.", memory=memory).json()["text"] == "last\nlast"
    assert translate(client, "A b.", memory=memory).json()["text"] == "A B."


def test_nobody_waits_for_what_is_known(client: httpx.Client) -> None:
    """A known sentence does not even reach a failing worker; drafts, alternatives and terms are ignored."""
    memory = [{"source": "raise", "target": "Raised."}]
    more = {"memory": memory, "glossary": [{"source": "raise", "target": "lift"}]}
    assert translate(client, "raise").status_code == 500
    answer = translate(client, "raise", **more, alternatives=2).json()["sentences"][0]
    assert (answer["translation"], answer["alternatives"]) == ("Raised.", [])
    assert translate(client, "raise", **more, drafts=["R"]).json()["text"] == "Raised."


def test_what_is_known_is_context(client: httpx.Client) -> None:
    """The known translation is context for a model that reads translations."""
    answer = translate(client, *SENTENCES, memory=MEMORY, target_lang="de").json()
    assert answer["sentences"][2]["translation"] == "く。 [か。=か。 | き。=No, she said.]"


@pytest.mark.parametrize(
    ("memory", "code", "detail"),
    [
        ([{"source": " ", "target": "x"}], "invalid_input", "memory.0.source: String should have at least 1 character"),
        ([{"source": "x", "target": "a\nb"}], "invalid_input", "memory.0.target: must not contain line breaks"),
        ([{"source": "x"}], "invalid_input", "memory.0.target: Field required"),
        ([MEMORY[0]] * 4, "invalid_input", "the memory has more than 3 segments, which is the maximum"),
        (
            [MEMORY[0], {"source": "x", "target": "x" * 21}],
            "sentence_too_long",
            "translation 1 of the memory has 21 characters; at most 20",
        ),
        ({"x": "y"}, "invalid_input", "memory: Input should be a valid list"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/documents", "/v1/sessions"])
def test_what_is_no_memory_is_refused(client: httpx.Client, path: str, memory: object, code: str, detail: str) -> None:
    """The error says what is wrong without quoting the memory."""
    answer = client.post(path, json=PAIR | {"memory": memory} | ({"text": "あ。"} if path == "/v1/documents" else {}))
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert detail in answer.json()["detail"]


def test_the_limits_are_told(client: httpx.Client) -> None:
    """They are listed with the others; a memory exactly at the limit is accepted, and one character more is not."""
    assert translate(client, "き。", memory=[MEMORY[1], MEMORY[1], MEMORY[0]]).json()["text"] == "No, she said."
    limits = client.get("/v1/info").json()["limits"]
    assert (limits["max_memory_segments"], limits["max_session_memory_characters"]) == (3, 50)
    memory = [{"source": source * 15, "target": "x" * 10} for source in "ab"]
    assert client.get(begin(client, memory=memory)).json()["memory"] == memory
    refused = client.post("/v1/sessions", json=PAIR | {"memory": [memory[0], memory[1] | {"target": "x" * 11}]})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")
    assert refused.json()["detail"] == "the memory has 51 characters; at most 50 are accepted for a session"


def test_a_session_keeps_its_memory(client: httpx.Client, other: httpx.Client) -> None:
    """For all of its sentences, at every replica: they are those of the document, and retries get the same."""
    session = begin(client, memory=MEMORY, alternatives=2)
    said = [say((client, other)[at % 2], session, text).json() for at, text in enumerate(SENTENCES)]
    assert said == translate(client, *SENTENCES, memory=MEMORY, alternatives=2).json()["sentences"]
    assert told(said) == [("か。", True, 0), ("No, she said.", False, 0), ("く。 [か。 | き。]", True, 2)]
    assert say(client, session, " き。\n", 3).json()["translation"] == "No, she said."
    assert say(client, session, SENTENCES[1], 1).json() == said[1]
    state = other.get(session).json()
    assert (state["memory"], state["sentences"][:3]) == (MEMORY, said)
    assert client.get(begin(client)).json()["memory"] == []


def test_a_session_with_another_memory_is_another_one(client: httpx.Client, other: httpx.Client) -> None:
    """A retry of its beginning has to bring the same."""
    key = {"Idempotency-Key": "with a memory"}
    memories: tuple[list[dict[str, str]], ...] = (MEMORY, MEMORY, MEMORY[:1], [])
    begun = [
        (client, other)[at % 2].post("/v1/sessions", json=PAIR | {"memory": memory}, headers=key)
        for at, memory in enumerate(memories)
    ]
    assert begun[0].json() == begun[1].json()
    assert [(answer.status_code, answer.json()["code"]) for answer in begun[2:]] == [(409, "session_conflict")] * 2


def test_a_stream_has_the_memory_of_its_session(replica: Replica, client: httpx.Client) -> None:
    """Whatever else is sent."""
    with opened(replica.url, begin(client, memory=MEMORY)) as stream:
        stream.send_all(SENTENCES, 0)
        answers = stream.receive_all(3)
    assert told(answers) == [("か。", True, 0), ("No, she said.", False, 0), ("く。 [か。 | き。]", True, 2)]


def test_a_correction_counts_more_than_the_memory(client: httpx.Client, other: httpx.Client) -> None:
    """Retries get it, and the following sentences read it; the same sentence further on is translated as ever."""
    session = begin(client, memory=MEMORY, target_lang="de")
    say(client, session, "き。", 0)
    other.patch(f"{session}/sentences/0", json={"translation": "Nein."})
    assert say(client, session, "き。", 0).json()["translation"] == "Nein."
    assert say(client, session, "く。", 1).json()["translation"] == "く。 [き。=Nein.]"
    assert say(client, session, "き。", 2).json()["translation"] == "No, she said."
    assert say(client, session, "け。", 3).json()["translation"] == "け。 [く。=く。 | き。=No, she said.]"


def test_no_session_waits_for_what_is_known(client: httpx.Client, pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    """Neither for a sentence before it, whose translation others have to read, nor for a worker that is ill."""
    memory = [*MEMORY, {"source": "raise", "target": "Raised."}]
    session, gate = begin(client, memory=memory, target_lang="de"), tmp_path / "gate"
    first = pool.submit(say, client, session, f"wait-for:{gate}", 0)
    eventually(lambda: measured(client, "antecedent_sentences_running 1.0"), "the first is being translated")
    try:
        answers = [say(client, session, text).json() for text in ("き。", "raise")]
        assert told(answers) == [("No, she said.", False, 0), ("Raised.", False, 0)]
        assert not first.done()
    finally:
        gate.touch()
    assert first.result().status_code == 200


def test_what_a_session_knows_needs_no_model(
    replicas: Replicas, redis_server: RedisServer, client: httpx.Client
) -> None:
    """A replica without the session's model answers what the memory has, and only refuses the rest."""
    session = begin(client, memory=MEMORY, target_lang="de")
    with replicas.new(redis_url=redis_server.url).start().client() as without:
        assert say(without, session, "き。", 0).json()["translation"] == "No, she said."
        assert say(without, session, "く。", 1).json()["code"] == "session_model_not_loaded"
    assert say(client, session, "く。", 1).json()["translation"] == "く。 [き。=No, she said.]"


def test_a_session_of_an_earlier_release_has_no_memory(client: httpx.Client, redis_server: RedisServer) -> None:
    """It goes on as it began."""
    session = begin(client)
    with Redis.from_url(redis_server.url) as redis:
        assert redis.hdel(DocumentKey("default", session.rpartition("/")[2]).names()[0], "memory") == 1
    assert say(client, session, "き。").json()["translation"] == "き。"
    assert client.get(session).json()["memory"] == []


TMX = """\ufeff<?xml version="1.0" encoding="UTF-16"?><tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en-US"><seg>No &amp;amp; &lt;no.</seg></tuv><tuv xml:lang="ja"><seg>か&amp;き。</seg></tuv></tu>
</body></tmx>"""


def send(client: httpx.Client, content: str, name: str, memory: str | bytes, key: str = "") -> httpx.Response:
    """Send a file with a memory."""
    headers = {"Idempotency-Key": key} if key else {}
    upload = {"file": (name, content.encode())}
    return client.post("/v1/files", data=PAIR | {"memory": memory}, files=upload, headers=headers)


@pytest.mark.parametrize(
    ("content", "name", "memory", "expected"),
    [
        ("か。き。", "a.txt", "き。\tNo.\n\nさ。\tunused\n", "か。 No."),
        ("か&き。", "a.txt", TMX.removeprefix("\ufeff"), "No &amp; <no."),
        ("か&き。", "a.txt", TMX.removeprefix("\ufeff").encode("utf-16"), "No &amp; <no."),
        ("- か&き。\n", "a.md", TMX, "- No &amp; <no.\n"),
        (
            "<p>か&amp;き。<p>か&き。く。",
            "a.html",
            TMX,
            "<p>No &amp;amp; &lt;no.<p>No &amp;amp; &lt;no. く。",
        ),
        ("<p>か<br>&lt;", "a.html", "か\t<b>\n<\t&\n", "<p>&lt;b&gt;<br>&lt;"),
        (
            "<p>か&amp;き。<p>か&#38;き。<p>か&き。",
            "a.html",
            "か&き。\t" + "&" * 20,
            f"<p>{'&amp;' * 20}" * 3,
        ),
        ("か。", "a.txt", "", "か。"),
    ],
)
def test_a_file_has_what_is_known(
    client: httpx.Client, content: str, name: str, memory: str | bytes, expected: str
) -> None:
    """A memory is given as lines or as TMX; it is matched as plain text, without the file's entities or markup."""
    sent = send(client, content, name, memory)
    assert sent.status_code == 202, sent.text
    answer = client.get(f"/v1/files/{sent.json()['id']}/translation", params={"wait_seconds": 20})
    assert re.sub(r" \[.*?\]", "", answer.text).removeprefix("\ufeff") == expected


@pytest.mark.parametrize(
    ("memory", "detail"),
    [
        ("か。", "memory: line 1 is not a source and a target separated by a tab"),
        ("か。\t", "memory: entry 0, target: String should have at least 1 character"),
        ("<html/>", "memory: is not TMX: its root element is another one"),
        (TMX.replace("ja", "fr"), "memory: has no unit in both ja and en; the languages in it are en-us, fr"),
        ("か。\tx\n" * 4, "the memory has more than 3 segments, which is the maximum"),
        (f"か。\t{'x' * 21}", "translation 0 of the memory has 21 characters; at most 20 are accepted"),
    ],
)
def test_a_file_with_what_is_no_memory_is_refused(client: httpx.Client, memory: str, detail: str) -> None:
    """It is refused at once."""
    answer = send(client, "か。", "a.txt", memory)
    assert (answer.status_code, detail in answer.json()["detail"]) == (422, True), answer.text


def test_a_retry_brings_the_same_memory(client: httpx.Client) -> None:
    """With another memory it counts as a different file, which is a conflict."""
    first, again, other = (send(client, "か。", "a.txt", memory, "one") for memory in ("か。\tx", "か。\tx", "か。\ty"))
    assert (first.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert (other.status_code, other.json()["code"]) == (409, "file_conflict")
