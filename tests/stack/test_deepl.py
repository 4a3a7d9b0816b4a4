"""DeepL's own Python client, unmodified, against a real server."""

from collections.abc import Iterator
from contextlib import closing

import deepl
import httpx
import pytest

from tests.stack.test_access import Command
from tests.support.client import SENTENCES, measured
from tests.support.servers import RedisServer, Replica, Replicas
from tests.support.stand_in import expected

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def server(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A running service without keys; each test uses document ids of its own."""
    return shared_replicas.new(redis_url=redis_server.url).start()


@pytest.fixture
def client(server: Replica, monkeypatch: pytest.MonkeyPatch) -> Iterator[deepl.DeepLClient]:
    """DeepL's client, configured only with another address and patience."""
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)
    monkeypatch.setattr(deepl.http_client, "min_connection_timeout", 60.0)  # by default 10, too few on a busy machine
    with closing(deepl.DeepLClient("any", server_url=server.url)) as client:
        yield client


def test_texts_are_translated_each_by_itself(client: deepl.DeepLClient) -> None:
    """As with DeepL, texts are not context for each other, but sentences of the same text are."""
    first, second = client.translate_text(["".join(SENTENCES[:2]), SENTENCES[2]], source_lang="JA", target_lang="EN-US")
    assert first.text == f"{expected(SENTENCES[0])} {expected(SENTENCES[1], SENTENCES[:1])}"
    assert second.text == expected(SENTENCES[2])
    assert (second.detected_source_lang, second.billed_characters) == ("JA", len(SENTENCES[2]))


def test_fifty_texts_of_many_sentences_find_room(client: deepl.DeepLClient) -> None:
    """This is the most that a call may have; they are queued a few at a time, or the queue would have no room."""
    text = "".join(SENTENCES * 5)
    results = client.translate_text([text] * 50, source_lang="JA", target_lang="EN-US")
    assert len({result.text for result in results}) == 1
    assert results[0].text.startswith(f"{expected(SENTENCES[0])} {expected(SENTENCES[1], SENTENCES[:1])} ")


def test_many_texts_wait_like_a_document(server: Replica, client: deepl.DeepLClient) -> None:
    """A single sentence takes precedence over documents; several texts, for all of which a program waits, do not."""
    count = 'antecedent_queue_seconds_count{priority="%s"}'

    def added(texts: list[str]) -> tuple[float, float]:
        before = [_figure(server, count % priority) for priority in ("interactive", "bulk")]
        client.translate_text(texts, source_lang="JA", target_lang="EN-US")
        after = [_figure(server, count % priority) for priority in ("interactive", "bulk")]
        return after[0] - before[0], after[1] - before[1]

    assert added([SENTENCES[0]]) == (1, 0)
    assert added(list(SENTENCES[:4])) == (0, 4)


@pytest.mark.parametrize("document", [{}, {"document_id": "a long one"}], ids=["alone", "in a document"])
def test_texts_are_together_no_more_than_a_document(client: deepl.DeepLClient, document: dict[str, str]) -> None:
    """Otherwise a call could have many documents for the price of one, and so exceed its key's rate."""
    texts = ["彼は来た。" * 101] * 50
    with pytest.raises(deepl.DeepLException, match="more than 5000 sentences"):
        client.translate_text(texts, source_lang="JA", target_lang="EN-US", extra_body_parameters=document)


def test_texts_without_words_take_no_place_in_the_queue(client: deepl.DeepLClient) -> None:
    """However long and numerous they are, and whatever sentences accompany them."""
    texts = [*SENTENCES, *[" " * 20_000] * 40]
    results = client.translate_text(texts, source_lang="JA", target_lang="EN-US")
    assert [result.text for result in results] == [*map(expected, SENTENCES), *texts[len(SENTENCES) :]]


def _figure(server: Replica, name: str) -> float:
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def test_context_comes_before_each_text(client: deepl.DeepLClient) -> None:
    """The given context is read but not translated."""
    context = "".join(SENTENCES[:2])
    for result in client.translate_text([SENTENCES[2]] * 2, source_lang="JA", target_lang="EN-GB", context=context):
        assert result.text == expected(SENTENCES[2], SENTENCES[:2])


def test_a_document_that_the_client_names_goes_on(client: deepl.DeepLClient) -> None:
    """It continues over the texts of a call and over calls; white space stays, and other documents are separate."""
    for at, text in enumerate(SENTENCES[:3]):
        result = client.translate_text(
            f"{text}\n", source_lang="JA", target_lang="EN-US", extra_body_parameters={"document_id": "letter-42"}
        )
        assert result.text == expected(text, SENTENCES[max(0, at - 2) : at]) + "\n"
    results = client.translate_text(
        SENTENCES[3:], source_lang="JA", target_lang="EN-US", extra_body_parameters={"document_id": "letter-42"}
    )
    assert [result.text for result in results] == [
        expected(SENTENCES[3], SENTENCES[1:3]),
        expected(SENTENCES[4], SENTENCES[2:4]),
    ]
    other = client.translate_text(
        SENTENCES[3], source_lang="JA", target_lang="EN-US", extra_body_parameters={"document_id": "letter-43"}
    )
    assert other.text == expected(SENTENCES[3])


def test_a_call_that_is_repeated_appends_nothing(client: deepl.DeepLClient) -> None:
    """The client itself repeats a call after a lost answer, even if only part of it had been translated."""

    def translate(*texts: str) -> list[str]:
        asked = {"source_lang": "JA", "target_lang": "EN-US", "extra_body_parameters": {"document_id": "letter"}}
        return [result.text for result in client.translate_text(texts, **asked)]

    translate(SENTENCES[0])
    first = translate(*SENTENCES[1:3])
    assert translate(*SENTENCES[1:3]) == first
    assert translate(*SENTENCES[2:4]) == [first[1], expected(SENTENCES[3], SENTENCES[1:3])]
    assert translate(SENTENCES[4]) == [expected(SENTENCES[4], SENTENCES[2:4])]


@pytest.mark.parametrize(
    ("how", "translation"),
    [
        (deepl.SplitSentences.OFF, "彼女は\n来た。"),
        (deepl.SplitSentences.NO_NEWLINES, "彼女は来た。"),
        (deepl.SplitSentences.ALL, f"彼女は\n{expected('来た。', ['彼女は'])}"),
    ],
)
def test_sentences_are_split_as_asked(how: deepl.SplitSentences, translation: str, client: deepl.DeepLClient) -> None:
    """A line break ends a sentence unless the client says otherwise."""
    result = client.translate_text("彼女は\n来た。", source_lang="JA", target_lang="EN-US", split_sentences=how)
    assert result.text == translation
    asked = {"split_sentences": how, "extra_body_parameters": {"document_id": f"letter-{how}"}}
    named = client.translate_text("彼女は\n来た。", source_lang="JA", target_lang="EN-US", **asked)  # type: ignore[arg-type]
    assert named.text == translation
    again = client.translate_text("彼女は\n来た。\n", source_lang="JA", target_lang="EN-US", split_sentences=how)
    assert again.text == f"{translation}\n"


def test_html_comes_back_as_html(client: deepl.DeepLClient) -> None:
    """Paragraphs are sentences of one document, line ends in them do not matter, and the rest of the page stays."""
    page = f"<div class='a'>\n<p>{SENTENCES[0][:4]}\n{SENTENCES[0][4:]}</p>\n<!-- b --><p>{SENTENCES[1]}</p></div>"
    result = client.translate_text(page, source_lang="JA", target_lang="EN-US", tag_handling="html")
    first, second = expected(SENTENCES[0]), expected(SENTENCES[1], SENTENCES[:1])
    assert result.text == f"<div class='a'>\n<p>{first}</p>\n<!-- b --><p>{second}</p></div>"
    document = {"document_id": "a page"}
    kept = {"source_lang": "JA", "target_lang": "EN-US", "tag_handling": "html", "extra_body_parameters": document}
    assert client.translate_text(page, **kept).text == result.text  # type: ignore[arg-type]
    assert client.translate_text(page, **kept).text == result.text  # type: ignore[arg-type]


def test_xml_is_divided_as_asked(client: deepl.DeepLClient) -> None:
    """It is split at the elements that the client names; an ignored element is treated as a word."""
    text = f"<s>{SENTENCES[0]}</s><s>{SENTENCES[1]}</s><k>{SENTENCES[2]}</k>"
    asked = {"splitting_tags": ["s"], "ignore_tags": "k,l", "outline_detection": False}
    result = client.translate_text(text, source_lang="JA", target_lang="EN-US", tag_handling="xml", **asked)  # type: ignore[arg-type]
    first, second = expected(SENTENCES[0]), expected(SENTENCES[1], SENTENCES[:1])
    assert result.text == f"<s>{first}</s><s>{second}</s><k>{SENTENCES[2]}</k>"
    with pytest.raises(deepl.DeepLException, match="not well-formed: mismatched tag, line 1"):
        client.translate_text("<a>", source_lang="JA", target_lang="EN-US", tag_handling="xml")


def test_a_block_is_one_sentence_if_nothing_is_to_be_split(client: deepl.DeepLClient) -> None:
    """White space around a block is not part of the sentence, and a block without words is not a sentence."""
    both = "".join(SENTENCES[:2])
    page = f"<d>\n <p> {both} </p>\n <p>1</p>\n</d>"
    asked = {"source_lang": "JA", "target_lang": "EN-US", "tag_handling": "xml", "split_sentences": "0"}
    translation = client.translate_text(both, source_lang="JA", target_lang="EN-US", split_sentences="0").text
    assert client.translate_text(page, **asked).text == page.replace(both, translation)  # type: ignore[arg-type]
    assert client.translate_text("\n", **asked).text == "\n"  # type: ignore[arg-type]


def test_tags_do_not_count_as_the_length_of_a_sentence(client: deepl.DeepLClient) -> None:
    """Tags are not counted, but a text that is nearly all tags is refused."""
    tags = "".join(f"<b>{number:03}</b>" for number in range(140))
    asked = {"source_lang": "JA", "target_lang": "EN-US", "tag_handling": "html", "split_sentences": "0"}
    result = client.translate_text(f"<p>{SENTENCES[0]}{tags}</p>", **asked)  # type: ignore[arg-type]
    assert "139" in result.text
    with pytest.raises(deepl.DeepLException, match="characters; at most"):
        client.translate_text(f"<p>{SENTENCES[0]}{tags * 3}</p>", **asked)  # type: ignore[arg-type]


def test_the_only_source_language_need_not_be_named(client: deepl.DeepLClient) -> None:
    """If only one language can be translated into the target, there is nothing to detect."""
    assert client.translate_text(SENTENCES[0], target_lang="EN-US").detected_source_lang == "JA"
    with pytest.raises(
        deepl.DeepLException, match="the source language is missing, and cannot be detected; served to de: none"
    ):
        client.translate_text(SENTENCES[0], target_lang="DE")


def test_more_sentences_than_a_repeated_call_could_find_are_refused(client: deepl.DeepLClient) -> None:
    """They are refused before any is appended."""
    named = {"document_id": "too long"}
    with pytest.raises(deepl.DeepLException, match="at most 32 sentences"):
        client.translate_text(SENTENCES[0] * 33, target_lang="EN-US", extra_body_parameters=named)
    assert client.translate_text(SENTENCES[1], target_lang="EN-US", extra_body_parameters=named).text == expected(
        SENTENCES[1]
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "rephrase", 404), ("GET", "glossaries/none", 404), ("PUT", "usage", 405), ("POST", "translate", 415)],
)
def test_every_error_has_what_clients_read(method: str, path: str, status: int, server: Replica) -> None:
    """Every error, even for an unknown path, has `message` and `detail`."""
    with httpx.Client(base_url=server.url, trust_env=False) as http:
        answer = http.request(method, f"/v2/{path}", content=b"x")
    assert answer.status_code == status
    assert all(isinstance(answer.json()[member], str) for member in ("message", "detail"))
    assert status != 405 or set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_languages_and_usage(client: deepl.DeepLClient) -> None:
    """The client can list the languages, and sees no limit on characters."""
    assert [(language.code, language.name) for language in client.get_source_languages()] == [("JA", "Japanese")]
    targets = {language.code: language.name for language in client.get_target_languages()}
    assert targets == {"EN-GB": "English (British)", "EN-US": "English (American)"}
    for target in targets:  # the client itself refuses EN
        assert client.translate_text(SENTENCES[0], target_lang=target).text == expected(SENTENCES[0])
    assert not client.get_usage().any_limit_reached


def test_languages_and_usage_are_asked_for_with_post_too(server: Replica) -> None:
    """DeepL's client for Java uses POST, with an empty form for source languages or with no form at all."""
    with server.client() as http:
        read = http.post("/v2/languages", headers=FORM)
        written = http.post("/v2/languages", data={"type": "target"})
        usage = http.post("/v2/usage")
    assert [each["language"] for each in read.json()] == ["JA"]
    assert [each["language"] for each in written.json()] == ["EN-GB", "EN-US"]
    assert usage.json()["character_count"] == 0


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"tag_handling": "markdown"}, "tag_handling: Input should be"),
        ({"ignore_tags": "b"}, "ignore_tags, splitting_tags and non_splitting_tags need tag_handling"),
        ({"style_rule": "a-style"}, "style_id: unknown member"),
        ({"formality": "more"}, "formality: Input should be"),
        ({"source_lang": "FR"}, "no model serves fr-en-us; available: ja-en"),
        ({"context": "前。", "extra_body_parameters": {"document_id": "x"}}, "give either context or document_id"),
    ],
)
def test_what_cannot_be_done_is_said_by_name(
    parameters: dict[str, object], said: str, client: deepl.DeepLClient
) -> None:
    """Unsupported options are not silently ignored: the client reports the error to its user."""
    asked: dict[str, object] = {"source_lang": "JA", "target_lang": "EN-US"} | parameters
    with pytest.raises(deepl.DeepLException, match=said) as raised:
        client.translate_text(SENTENCES[0], **asked)  # type: ignore[arg-type]
    assert raised.value.http_status_code == 400


def test_document_of_other_languages_is_refused(server: Replica) -> None:
    """A document keeps its language pair, so its id cannot be used for another."""
    body = {"text": [SENTENCES[0]], "source_lang": "JA", "document_id": "contract"}
    with httpx.Client(base_url=server.url, trust_env=False) as http:
        assert http.post("/v2/translate", json=body | {"target_lang": "EN"}).status_code == 200
        again = http.post("/v2/translate", json=body | {"target_lang": "EN-US"})
        assert (again.status_code, again.json()["code"]) == (400, "session_conflict")
        assert measured(http, 'antecedent_rejections_total{code="session_conflict"} 1.0')


def test_forms_are_read_too(server: Replica) -> None:
    """DeepL's clients for other languages send forms; since any web page could send one too, the origin is checked."""
    form = {"text": SENTENCES[:2], "source_lang": "JA", "target_lang": "EN-US", "show_billed_characters": "1"}
    with httpx.Client(base_url=server.url, trust_env=False) as http:
        answer = http.post("/v2/translate", data=form)
        assert [each["text"] for each in answer.json()["translations"]] == [expected(each) for each in SENTENCES[:2]]
        assert http.post("/v2/translate", data=form, headers={"Origin": "http://page.example"}).status_code == 403
        twice = http.post("/v2/translate", content="text=a&target_lang=EN&target_lang=DE", headers=FORM)
        assert (twice.status_code, twice.json()["detail"]) == (400, "the body has a field more than once")
        assert http.post("/v2/translate", content=b"text=%ff&target_lang=EN", headers=FORM).status_code == 400
        instructed = http.post("/v2/translate", data=form | {"custom_instructions": ["Be brief.", "Be polite."]})
        told = instructed.json()["detail"]
        assert (instructed.status_code, told) == (400, "custom_instructions: unknown member"), "as with Node.js"


@pytest.mark.parametrize(
    "request_of",
    [
        {"content": f"text={SENTENCES[0]}&source_lang&target_lang=en&tag_handling=html", "headers": FORM},
        {"data": {"text": SENTENCES[0], "source_lang": "", "target_lang": "en", "formality": "", "tag_handling": ""}},
        {"json": {"text": SENTENCES[:1], "target_lang": "EN", "formality": None, "ignore_tags": None, "context": ""}},
    ],
    ids=["as Mastodon", "a form", "JSON"],
)
def test_what_is_empty_is_not_said(server: Replica, request_of: dict[str, object]) -> None:
    """Mastodon sends an empty source language for a post that does not state its own."""
    with server.client() as http:
        answer = http.post("/v2/translate", **request_of)  # type: ignore[arg-type]
    assert [each["text"] for each in answer.json().get("translations", ())] == [expected(SENTENCES[0])]


def test_keys_are_shown_as_to_deepl(replicas: Replicas, redis_server: RedisServer) -> None:
    """A client learns that its key is wrong, or that a limit has been reached."""
    stored = {"keys": "redis", "redis_url": redis_server.url}
    key = Command(**stored).create("tenant", "--sentences-per-minute", "2")
    server = replicas.new(**stored).start()
    with closing(deepl.DeepLClient(key, server_url=server.url)) as client:
        assert client.translate_text(SENTENCES[0], target_lang="EN-US").text == expected(SENTENCES[0])
    with (
        closing(deepl.DeepLClient(f"{key}x", server_url=server.url)) as stranger,
        pytest.raises(deepl.AuthorizationException, match="key"),
    ):
        stranger.translate_text(SENTENCES[0], target_lang="EN-US")
    with httpx.Client(base_url=server.url, trust_env=False) as http:
        beyond = http.post(
            "/v2/translate",
            json={"text": SENTENCES, "target_lang": "EN"},
            headers={"Authorization": f"DeepL-Auth-Key {key}"},
        )
        assert beyond.status_code == 429
        assert int(beyond.headers["retry-after"]) > 0
        assert beyond.json()["message"] == "Too many requests"
