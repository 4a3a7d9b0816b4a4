"""Glossaries managed by DeepL's own Python client, unmodified, on real servers that share a Redis."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import deepl
import httpx
import pytest

from tests.support.servers import RedisServer, Replica, Replicas

ENTRIES = {"紫式部": "Lady Murasaki", "源氏物語": "Story of Genji"}
TEXTS = ["紫式部は来た。源氏物語を書いた。", "<p>座った。</p><p>紫式部。</p>"]
PAIR = ("JA", "EN-US")


@pytest.fixture(scope="module")
def servers(shared_replicas: Replicas, redis_server: RedisServer) -> list[Replica]:
    """Two replicas."""
    settings = {"redis_url": redis_server.url, "max_glossaries": "3", "max_glossary_terms": "4"}
    return [shared_replicas.new(**settings).start() for _ in range(2)]


@pytest.fixture
def clients(deepl_clients: list[deepl.DeepLClient]) -> Iterator[list[deepl.DeepLClient]]:
    """A client of each server; glossaries are removed after each test."""
    yield deepl_clients
    one, _ = deepl_clients
    for glossary in one.list_glossaries():
        with suppress(deepl.GlossaryNotFoundException):
            one.delete_glossary(glossary)


def say(client: deepl.DeepLClient, text: str, **members: object) -> str:
    """Translate a text."""
    result = client.translate_text(text, source_lang=PAIR[0], target_lang=PAIR[1], **members)  # type: ignore[arg-type]
    assert isinstance(result, deepl.TextResult)
    return result.text


def test_what_one_replica_keeps_every_one_has(clients: list[deepl.DeepLClient]) -> None:
    """A glossary made at one replica can be read, used and deleted at another."""
    one, other = clients
    made = one.create_glossary("names", *PAIR, ENTRIES)
    assert (made.name, made.ready, made.source_lang, made.target_lang) == ("names", True, "JA", "EN")
    assert made.entry_count == len(ENTRIES)
    assert abs(made.creation_time - datetime.now(UTC)) < timedelta(minutes=5)
    assert other.get_glossary_entries(made) == ENTRIES
    assert [each.glossary_id for each in other.list_glossaries()] == [made.glossary_id]
    assert vars(other.get_glossary(made.glossary_id)) == vars(made)
    said = say(other, TEXTS[0], glossary=made.glossary_id)
    assert said == "LADY MURASAKIは来た。 STORY OF GENJIを書いた。 [紫式部は来た。]"
    assert say(one, TEXTS[0]).startswith("紫式部は来た。")
    other.delete_glossary(made)
    for call in (one.get_glossary, one.get_glossary_entries, one.delete_glossary):
        with pytest.raises(deepl.GlossaryNotFoundException, match="no such glossary"):
            call(made.glossary_id)
    with pytest.raises(deepl.DeepLException, match="no such glossary"):
        say(one, TEXTS[0], glossary=made.glossary_id)


def test_terms_are_found_in_documents_and_in_pages(clients: list[deepl.DeepLClient]) -> None:
    """Terms apply to pages as well; a named document with another glossary is a separate document."""
    one, other = clients
    made = one.create_glossary_from_csv("a table", "JA", "EN", '紫式部,"Murasaki, the ""Lady""",ja,en\n座,seat\n')
    page = say(one, TEXTS[1], glossary=made, tag_handling="html")
    assert page == '<p>SEATった。</p><p>MURASAKI, THE "LADY"。 [座った。]</p>'
    named = {"extra_body_parameters": {"document_id": "with a glossary"}}
    assert say(one, "紫式部。", glossary=made, **named) == 'MURASAKI, THE "LADY"。'
    assert say(other, "座った。", glossary=made, **named) == "SEATった。 [紫式部。]"
    assert say(one, "紫式部。", **named) == "紫式部。"


def test_a_table_may_be_written_as_programs_do(clients: list[deepl.DeepLClient]) -> None:
    """Byte order marks, Windows line ends, blank lines, and spaces of any width in a term are accepted."""
    table = "\ufeff紫式部\tLady\u00a0Murasaki\r\n \r\nファン\u3000ゴッホ\tvan Gogh\r\n"
    body = {"name": "x", "source_lang": "ja", "target_lang": "en", "entries": table, "entries_format": "tsv"}
    with httpx.Client(base_url=clients[0].server_url, trust_env=False) as http:
        made = http.post("/v2/glossaries", json=body).json()["glossary_id"]
    assert clients[1].get_glossary_entries(made) == {"紫式部": "Lady\u00a0Murasaki", "ファン\u3000ゴッホ": "van Gogh"}


def test_languages_are_those_of_the_models(clients: list[deepl.DeepLClient]) -> None:
    """A glossary for other languages is refused."""
    assert [(pair.source_lang, pair.target_lang) for pair in clients[0].get_glossary_languages()] == [("ja", "en")]
    with pytest.raises(deepl.DeepLException, match="a glossary for ja-de would be of no use; served: ja-en"):
        clients[0].create_glossary("names", "JA", "DE", ENTRIES)


def test_there_is_room_for_so_many(clients: list[deepl.DeepLClient]) -> None:
    """At the limit, one has to be deleted before another can be made."""
    made = [clients[n % 2].create_glossary(str(n), "JA", "EN", ENTRIES) for n in range(3)]
    assert [each.name for each in clients[0].list_glossaries()] == ["0", "1", "2"]
    with pytest.raises(deepl.DeepLException, match="there are 3 glossaries already"):
        clients[0].create_glossary("3", "JA", "EN", ENTRIES)
    clients[1].delete_glossary(made[0])
    assert clients[0].create_glossary("3", "JA", "EN", ENTRIES).name == "3"


@pytest.mark.parametrize(
    ("entries", "entries_format", "detail"),
    [
        ("", "tsv", "entries: there are none"),
        ("a\tb\n\nc", "tsv", "entries: line 3 is not a source and a target separated by a tab"),
        ("a\tb\tc", "tsv", "entries: line 1 is not a source and a target separated by a tab"),
        ("a\tb\na\tc", "tsv", "entries: term 1 has the same source as an earlier term"),
        ("a\tb\nc\t ", "tsv", "entries: entry 1, target: String should have at least 1 character"),
        ("a,b\nc", "csv", "entries: line 2 is not two terms separated by a comma"),
        ('a,"b', "csv", "entries: line 1 is not valid CSV"),
        ("\n".join(f"{n}\tx" for n in range(5)), "tsv", "the glossary has more than 4 terms"),
        ('"a\nb",c', "csv", "entries: entry 0, source: must not contain line breaks"),
        ("a\tb", "xml", "entries_format: Input should be 'tsv' or 'csv'"),
    ],
)
def test_what_is_no_glossary_is_refused(servers: list[Replica], entries: str, entries_format: str, detail: str) -> None:
    """The error gives the line at fault, but none of its words."""
    body = {"name": "x", "source_lang": "ja", "target_lang": "en", "entries": entries, "entries_format": entries_format}
    with httpx.Client(base_url=servers[0].url, trust_env=False) as http:
        answer = http.post("/v2/glossaries", json=body)
        assert answer.status_code == 400
        assert detail in answer.json()["detail"]
        assert http.get("/v2/glossaries").json() == {"glossaries": []}


def test_forms_are_read_too(servers: list[Replica], clients: list[deepl.DeepLClient]) -> None:
    """DeepL's clients for other languages send forms."""
    form = {"name": "x", "source_lang": "JA", "target_lang": "EN", "entries": "座\tseat", "entries_format": "tsv"}
    with httpx.Client(base_url=servers[0].url, trust_env=False) as http:
        assert http.post("/v2/glossaries", data=form).status_code == 201
    assert [each.name for each in clients[1].list_glossaries()] == ["x"]
