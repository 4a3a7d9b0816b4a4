"""LibreTranslate's own Python client, unmodified, against a real server."""

import json
import socket
from pathlib import Path
from urllib.error import HTTPError

import deepl
import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from service.routes.libretranslate import BODY_SECONDS
from tests.stack.test_access import Command
from tests.support.client import SENTENCES
from tests.support.servers import RedisServer, Replica, Replicas, bundle
from tests.support.stand_in import expected

PATH = "/libretranslate/translate"
PAIR = {"source": "ja", "target": "en"}


@pytest.fixture(scope="module")
def server(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A running service without keys."""
    return shared_replicas.new(redis_url=redis_server.url).start()


@pytest.fixture
def client(server: Replica) -> LibreTranslateAPI:
    """LibreTranslate's client, configured only with another address."""
    return LibreTranslateAPI(f"{server.url}/libretranslate")


def test_sentences_of_a_text_are_in_context(client: LibreTranslateAPI) -> None:
    """Each sentence is translated in the context of those before it."""
    found = client.translate("".join(SENTENCES[:2]), "ja", "en")
    assert found == f"{expected(SENTENCES[0])} {expected(SENTENCES[1], SENTENCES[:1])}"


def test_languages_are_told(client: LibreTranslateAPI) -> None:
    """Source and target languages are listed with their targets; the client's GET has a body."""
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": []},
        {"code": "ja", "name": "Japanese", "targets": ["en"]},
    ]
    assert httpx.head(f"{client.url}languages").status_code == 200


def test_list_is_answered_by_a_list(server: Replica) -> None:
    """Each text is a separate document; a list of one text gets a list, and a text without words stays."""
    with server.client() as http:
        several = http.post(PATH, json=PAIR | {"q": [*SENTENCES[:2], " "]}).json()
        one = http.post(PATH, json=PAIR | {"q": SENTENCES[:1]}).json()
    assert several == {"translatedText": [*map(expected, SENTENCES[:2]), " "]}
    assert one == {"translatedText": [expected(SENTENCES[0])]}


def test_several_fields_of_a_form_are_a_list(server: Replica) -> None:
    """A form repeats a field to send a list."""
    with server.client() as http:
        found = http.post(PATH, data=PAIR | {"q": SENTENCES[:2], "format": "text"}).json()
    assert found == {"translatedText": [*map(expected, SENTENCES[:2])]}


def test_every_way_in_which_clients_send_members(server: Replica) -> None:
    """In the URL (deep-translator), in a multipart form (cURL from PHP), and with another name for the key."""
    members = PAIR | {"q": SENTENCES[0], "api_key": ""}
    with server.client() as http:
        answers = [
            http.post(PATH, params=members),
            http.post(PATH, files={name: (None, value) for name, value in members.items()}),
            http.post(PATH, params={"q": SENTENCES[0]}, data=PAIR),
            http.post(PATH, json=PAIR | {"q": SENTENCES[0], "apiKey": ""}),
        ]
        twice = http.post(PATH, params=members, data={"source": "ja"})
        no_text = http.post(f"{PATH}?q=%ff")
        of_a_page = http.post(PATH, params=members, headers={"Origin": "https://example.org"})
        a_file = http.post(PATH, files={"q": ("a.txt", b"a")})
    assert [answer.json() for answer in answers] == [{"translatedText": expected(SENTENCES[0])}] * len(answers)
    assert [answer.status_code for answer in (twice, no_text, of_a_page, a_file)] == [400, 400, 403, 400]


def test_language_that_is_not_said(server: Replica) -> None:
    """The only source for the target is assumed, with confidence 0; if there is none, the error says so."""
    with server.client() as http:
        asked = {"source": "auto", "target": "en"}
        one = http.post(PATH, json=asked | {"q": SENTENCES[0]}).json()
        several = http.post(PATH, json=asked | {"q": SENTENCES[:2]}).json()
        none = http.post(PATH, json=asked | {"q": SENTENCES[0], "target": "de"})
    taken = {"language": "ja", "confidence": 0}
    assert one == {"translatedText": expected(SENTENCES[0]), "detectedLanguage": taken}
    assert several["detectedLanguage"] == [taken, taken]
    assert none.status_code == 400
    assert none.json()["error"] == "the source language is missing, and cannot be detected; served to de: none"


def test_texts_that_are_in_the_target_language_already(server: Replica) -> None:
    """As with LibreTranslate they come back unchanged, whatever the language: clients ask for each user's language."""
    asked = {"source": "en", "target": "EN", "alternatives": 2}
    with server.client() as http:
        one, several = (http.post(PATH, json=asked | {"q": q}) for q in ("It rains.", ["It rains.", " "]))
        other = http.post(PATH, data={"source": "de", "target": "de", "q": "Es regnet."})
    assert one.json() == {"translatedText": "It rains.", "alternatives": []}
    assert several.json() == {"translatedText": ["It rains.", " "], "alternatives": [[], []]}
    assert other.json() == {"translatedText": "Es regnet."}


def test_language_that_is_detected(shared_replicas: Replicas, redis_server: RedisServer, tmp_path: Path) -> None:
    """If the target has several source languages, the texts decide; this works for DeepL's clients as well."""
    pairs = [bundle(tmp_path / source, name=source, source=source, accent=f" ({source})") for source in ("de", "fr")]
    both = shared_replicas.new(redis_url=redis_server.url, bundles=":".join(map(str, pairs))).start()
    text = "Le chien court dans le jardin."
    client = LibreTranslateAPI(f"{both.url}/libretranslate")
    assert client.translate(text, "auto", "en") == f"{expected(text)} (fr)"
    (taken,) = client.detect(text)
    assert (taken["language"], taken["confidence"] > 90) == ("fr", True)
    with both.client() as http:
        answer = http.post(PATH, json={"q": text, "source": "auto", "target": "en"}).json()
        assert answer["detectedLanguage"] == taken
        missing = {"target_lang": "EN"}
        assert "served to en: de, fr" in http.post("/v2/document", data=missing, files={"file": ("a.txt", b"a")}).text
    client_of_deepl = deepl.DeepLClient("no key", server_url=both.url)
    named = {"document_id": "a document"}
    with pytest.raises(deepl.DeepLException, match="the source language is missing"):
        client_of_deepl.translate_text(text, target_lang="EN-US", extra_body_parameters=named)
    found = client_of_deepl.translate_text(text, target_lang="EN-US")
    assert (found.text, found.detected_source_lang) == (f"{expected(text)} (fr)", "FR")  # type: ignore[union-attr]


def test_context_is_read_before_each_text(server: Replica) -> None:
    """`context` is an extension of ours, for those who write requests themselves."""
    with server.client() as http:
        found = http.post(PATH, json=PAIR | {"q": SENTENCES[1:3], "context": SENTENCES[0]}).json()["translatedText"]
    assert found == [expected(text, SENTENCES[:1]) for text in SENTENCES[1:3]]


def test_what_is_empty_is_not_said(server: Replica) -> None:
    """LibreTranslate's clients send members without a value."""
    with server.client() as http:
        for members in ({"format": ""}, {"format": None}, {"alternatives": None}):
            found = http.post(PATH, json=PAIR | {"q": SENTENCES[0]} | members).json()
            assert found == {"translatedText": expected(SENTENCES[0])}


def test_alternatives_of_whole_texts(server: Replica) -> None:
    """The n-th alternative of a text has the n-th of each sentence; if requested, there is always a list."""
    with server.client() as http:
        one = http.post(PATH, json=PAIR | {"q": "".join(SENTENCES[:2]), "alternatives": 2}).json()
        two = http.post(PATH, data=PAIR | {"q": [SENTENCES[0], " "], "alternatives": "1"}).json()
    best = [expected(SENTENCES[0]), expected(SENTENCES[1], SENTENCES[:1])]
    assert one["translatedText"] == " ".join(best)
    assert one["alternatives"] == [" ".join(f"{text} {rank}" for text in best) for rank in (2, 3)]
    assert (two["translatedText"], two["alternatives"]) == ([best[0], " "], [[f"{best[0]} 2"], []])


def test_tags_of_html_stay(server: Replica) -> None:
    """A request for HTML preserves the tags, and blocks end sentences."""
    with server.client() as http:
        page = f"<p class='a'>{SENTENCES[0]}</p>\n<p>{SENTENCES[1]}</p>"
        found = http.post(PATH, json=PAIR | {"q": page, "format": "html"}).json()["translatedText"]
    assert found == f"<p class='a'>{expected(SENTENCES[0])}</p>\n<p>{expected(SENTENCES[1], SENTENCES[:1])}</p>"


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"q": None}, "q: must be a text, or a list of texts"),
        ({"q": 5}, "q: must be a text, or a list of texts"),
        ({"q": []}, "q: Value should have at least 1 item after validation, not 0"),
        ({"q": ["あ"] * 51}, "q: Value should have at most 50 items after validation, not 51"),
        ({"q": "あ", "source": "日本語"}, "source: String should match pattern"),
        ({"q": "あ", "source": None}, "source: String should match pattern"),
        ({"q": "あ", "target": "tlh"}, "no model serves ja-tlh"),
        ({"q": "あ", "format": "markdown"}, "format: Input should be 'text' or 'html'"),
        ({"q": "あ", "alternatives": 8}, "alternatives: Input should be less than 8"),
        ({"q": "あ", "alternatives": True}, "alternatives: must be an integer"),
        ({"q": "あ", "glossary": "x"}, "glossary: unknown member"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_is_told_where_such_clients_look(server: Replica, members: dict[str, object], error: str) -> None:
    """The status is 400, and `error` names the wrong member."""
    with server.client() as http:
        answer = http.post(PATH, json=PAIR | members)
    assert answer.status_code == 400
    assert error in answer.json()["error"]
    assert answer.json().keys() == {"error", "code", "request_id"}


def test_bodies_that_are_none(server: Replica) -> None:
    """Refused are a web page's form, another content type, no body, and one that is too large."""
    with server.client() as http:
        page = http.post(PATH, data=PAIR | {"q": "あ"}, headers={"Origin": "https://example.org"})
        kind = http.post(PATH, content="q=a", headers={"Content-Type": "text/plain"})
        nothing = http.post(PATH)
        large = http.post(PATH, content=b"[" + b" " * 2**17, headers={"Content-Type": "application/json"})
    statuses = [answer.status_code for answer in (page, kind, nothing, large)]
    assert statuses == [403, 415, 415, 413]
    assert all("error" in answer.json() for answer in (page, kind, nothing, large))


def test_key_is_in_the_body(replicas: Replicas, redis_server: RedisServer, tmp_path: Path) -> None:
    """The key is read from the client's usual place or a header; an invalid one gets 403, an exceeded limit 429."""
    settings = {"redis_url": redis_server.url, "keys": "file", "keys_file": str(tmp_path / "keys.json")}
    command = Command(**settings)
    key, admin = command.create("acme", "--sentences-per-minute", "3"), command.create("acme", "--scope", "admin")
    replica = replicas.new(**settings, log_level="debug").start()
    url = f"{replica.url}/libretranslate"
    with replica.client() as http:
        assert LibreTranslateAPI(url, key).translate(SENTENCES[0], "ja", "en") == expected(SENTENCES[0])
        assert LibreTranslateAPI(url, key).languages()[1]["code"] == "ja"
        body = PAIR | {"q": SENTENCES[0]}
        assert http.post(PATH, json=body | {"api_key": key}).status_code == 200
        assert http.post(PATH, json=body, headers={"Authorization": f"Bearer {key}"}).status_code == 200
        assert http.get("/libretranslate/languages").status_code == 200
        for wrong in (None, "", "wrong", 5, [key]):
            refused = http.post(PATH, json=body | {"api_key": wrong})
            assert (refused.status_code, refused.json()["code"]) == (403, "unauthenticated")
        assert (
            http.post(PATH, json=body | {"api_key": admin}).json()["error"]
            == "the key does not have the scope translate"
        )
        as_a_member = http.post(PATH, json=body | {"api_key": key, key: 1})
        assert (as_a_member.status_code, as_a_member.json()["error"]) == (400, "?: unknown member")
        limited = http.post(PATH, json=body | {"api_key": key})
        assert (limited.status_code, limited.json()["code"]) == (429, "rate_limited")
        assert int(limited.headers["Retry-After"]) > 0
        with pytest.raises(HTTPError, match="403"):
            LibreTranslateAPI(url).translate(SENTENCES[0], "ja", "en")
    assert replica.end() == 0
    assert key[-43:] not in replica.log
    requests = [line for line in map(json.loads, replica.log.splitlines()) if line["event"] == "request"]
    assert [line.get("key") for line in requests].count(key.split("_")[1]) == 5


def test_many_texts_find_room(server: Replica) -> None:
    """The maximum number of texts is accepted, since they are queued a few at a time."""
    text = "".join(SENTENCES * 5)
    with server.client() as http:
        one = http.post(PATH, json=PAIR | {"q": text}).json()["translatedText"]
        found = http.post(PATH, json=PAIR | {"q": [text] * 50}).json()["translatedText"]
    assert one.startswith(f"{expected(SENTENCES[0])} {expected(SENTENCES[1], SENTENCES[:1])} ")
    assert found == [one] * 50


def test_body_that_does_not_come_is_not_waited_for(server: Replica) -> None:
    """The sender is not authenticated yet, so the service gives up after a few seconds and closes the connection."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=BODY_SECONDS + 20) as line:
        line.sendall(
            b"POST /libretranslate/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"error":"the body has not come within 5 seconds"' in answer
