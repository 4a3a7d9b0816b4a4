"""Glossaries for several language pairs, managed by DeepL's own Python client, unmodified, on real servers."""

from collections.abc import Iterator

import deepl
import httpx
import pytest
from deepl import api_data

from tests.support.servers import RedisServer, Replica, Replicas, bundle

TO_ENGLISH = {"紫式部": "Lady Murasaki", "源氏物語": "Story of Genji"}
TO_JAPANESE = {"cat": "猫"}
FORM = {
    "name": "a form",
    "dictionaries[0].source_lang": "ja",
    "dictionaries[0].target_lang": "en",
    "dictionaries[0].entries": "座\tseat",
    "dictionaries[0].entries_format": "tsv",
    "dictionaries[1].source_lang": "en",
    "dictionaries[1].target_lang": "ja",
    "dictionaries[1].entries": "cat,猫\n",
    "dictionaries[1].entries_format": "csv",
}
"""Fields as DeepL's client for Node.js sends them."""


@pytest.fixture(scope="module")
def servers(
    shared_replicas: Replicas, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> list[Replica]:
    """Two replicas that translate in both directions."""
    folder = tmp_path_factory.mktemp("both")
    pairs = [
        bundle(folder / f"{one}-{other}", name=one, source=one, target=other)
        for one, other in (("ja", "en"), ("en", "ja"))
    ]
    settings = {"redis_url": redis_server.url, "max_glossary_terms": "4", "bundles": ":".join(map(str, pairs))}
    return [shared_replicas.new(**settings).start() for _ in range(2)]


@pytest.fixture
def clients(deepl_clients: list[deepl.DeepLClient]) -> Iterator[list[deepl.DeepLClient]]:
    """A client of each server; glossaries are removed after each test."""
    yield deepl_clients
    one, _ = deepl_clients
    for glossary in one.list_multilingual_glossaries():
        one.delete_multilingual_glossary(glossary)


def terms_of(source: str, target: str, entries: dict[str, str]) -> api_data.MultilingualGlossaryDictionaryEntries:
    """The terms for a language pair, as the client represents them."""
    return api_data.MultilingualGlossaryDictionaryEntries(source, target, entries)


def kept(client: deepl.DeepLClient, glossary: api_data.MultilingualGlossaryInfo) -> dict[str, str]:
    """The terms of a glossary, from Japanese into English."""
    (found,) = client.get_multilingual_glossary_entries(glossary, "JA", "EN-US").dictionaries
    assert (found.source_lang, found.target_lang) == ("ja", "en")
    return dict(line.split("\t") for line in str(found.entries).splitlines())


def pairs_of(glossary: api_data.MultilingualGlossaryInfo) -> dict[tuple[str, str], int]:
    """The number of terms that a glossary has for each language pair."""
    return {(each.source_lang, each.target_lang): each.entry_count for each in glossary.dictionaries}


def test_one_glossary_serves_several_pairs_of_languages(clients: list[deepl.DeepLClient]) -> None:
    """A glossary made at one replica is used at another, with the terms for the languages of each call."""
    one, other = clients
    both = [terms_of("JA", "EN-US", TO_ENGLISH), terms_of("EN", "JA", TO_JAPANESE)]
    made = one.create_multilingual_glossary("names", both)
    assert (made.name, pairs_of(made)) == ("names", {("JA", "EN"): 2, ("EN", "JA"): 1})
    (listed,) = other.list_multilingual_glossaries()
    assert listed.glossary_id == made.glossary_id == other.get_multilingual_glossary(made.glossary_id).glossary_id
    assert kept(other, made) == TO_ENGLISH
    there = other.translate_text("紫式部。", source_lang="JA", target_lang="EN-US", glossary=made)
    back = other.translate_text("A cat.", source_lang="EN", target_lang="JA", glossary=made.glossary_id)
    assert [there.text, back.text] == ["LADY MURASAKI。", "A 猫."]  # type: ignore[union-attr]


def test_a_glossary_is_changed(clients: list[deepl.DeepLClient]) -> None:
    """Its name, single terms, or all terms for a language pair can be changed, and pairs can be added or deleted."""
    one, other = clients
    made = one.create_multilingual_glossary("names", [terms_of("JA", "EN", TO_ENGLISH)])
    assert other.update_multilingual_glossary_name(made, "people").name == "people"
    new = terms_of("JA", "EN", {"座": "seat", "源氏物語": "Tale"})
    assert pairs_of(one.update_multilingual_glossary_dictionary(made, new)) == {("JA", "EN"): 3}
    assert kept(other, made) == TO_ENGLISH | new.entries
    too_many = terms_of("JA", "EN", {"一": "one", "二": "two"})
    with pytest.raises(deepl.DeepLException, match="the glossary has more than 4 terms"):
        one.update_multilingual_glossary_dictionary(made, too_many)
    assert other.replace_multilingual_glossary_dictionary(made, too_many).entry_count == 2
    assert kept(one, made) == too_many.entries
    added = one.update_multilingual_glossary_dictionary_from_csv(made, "EN", "JA", "cat,猫\n")
    assert (added.name, pairs_of(added)) == ("people", {("JA", "EN"): 2, ("EN", "JA"): 1})
    other.delete_multilingual_glossary_dictionary(made, added.dictionaries[0])
    assert pairs_of(one.get_multilingual_glossary(made.glossary_id)) == {("EN", "JA"): 1}
    with pytest.raises(deepl.GlossaryNotFoundException):
        kept(one, made)
    with pytest.raises(deepl.DeepLException, match="the glossary is for en-ja"):
        one.translate_text("座。", source_lang="JA", target_lang="EN-US", glossary=made.glossary_id)


def test_a_document_begins_anew_when_its_glossary_is_changed(clients: list[deepl.DeepLClient]) -> None:
    """Its next text gets the new terms and is not refused; with the old terms, the old document goes on."""
    one, other = clients
    made = one.create_multilingual_glossary("names", [terms_of("JA", "EN", {"座": "seat"})])

    def said(client: deepl.DeepLClient, text: str) -> str:
        asked = {"source_lang": "JA", "target_lang": "EN-US", "glossary": made}
        named = {"extra_body_parameters": {"document_id": "under a glossary"}}
        return client.translate_text(text, **asked, **named).text  # type: ignore[arg-type, union-attr]

    assert said(one, "座。") == "SEAT。"
    other.replace_multilingual_glossary_dictionary(made, terms_of("JA", "EN", {"座": "chair"}))
    assert said(one, "座。") == "CHAIR。"
    other.replace_multilingual_glossary_dictionary(made, terms_of("JA", "EN", {"座": "seat"}))
    assert said(other, "来た。") == "来た。 [座。]"


def test_both_versions_show_the_same_glossaries(clients: list[deepl.DeepLClient]) -> None:
    """The older version of the API omits glossaries that do not have exactly one language pair."""
    one, other = clients
    old = one.create_glossary("old", "JA", "EN", TO_ENGLISH)
    assert pairs_of(other.get_multilingual_glossary(old.glossary_id)) == {("JA", "EN"): 2}
    other.update_multilingual_glossary_dictionary(old.glossary_id, terms_of("JA", "EN", {"座": "seat"}))
    assert one.get_glossary_entries(old) == TO_ENGLISH | {"座": "seat"}
    other.update_multilingual_glossary_dictionary(old.glossary_id, terms_of("EN", "JA", TO_JAPANESE))
    assert one.list_glossaries() == []
    for call in (one.get_glossary, one.get_glossary_entries):
        with pytest.raises(deepl.GlossaryNotFoundException):
            call(old.glossary_id)
    other.delete_multilingual_glossary_dictionary(old.glossary_id, source_lang="JA", target_lang="EN")
    assert one.get_glossary_entries(old.glossary_id) == TO_JAPANESE


def test_forms_are_read_too(servers: list[Replica], clients: list[deepl.DeepLClient]) -> None:
    """Forms can create a glossary and change it."""
    with servers[0].client() as http:
        made = http.post("/v3/glossaries", data=FORM)
        assert made.status_code == 201
        path = f"/v3/glossaries/{made.json()['glossary_id']}"
        new = {name: value for name, value in FORM.items() if "[0]" in name} | {"dictionaries[0].entries": "一\tone"}
        assert http.patch(path, data=new).json()["name"] == "a form"
    (glossary,) = clients[1].list_multilingual_glossaries()
    assert pairs_of(glossary) == {("JA", "EN"): 2, ("EN", "JA"): 1}
    assert kept(clients[1], glossary) == {"座": "seat", "一": "one"}


@pytest.mark.parametrize(
    ("others", "detail"),
    [
        ({"dictionaries": "x"}, "the body has a field more than once"),
        ({"dictionaries[00].entries": "lost\tgone"}, "unknown member"),
        ({"dictionaries[٠].entries": "lost\tgone"}, "unknown member"),
        (
            {f"dictionaries[{at}].{name}": "" for at in range(2, 50) for name in ("entries", "x", "y", "z")},
            "Field required",
        ),
    ],
    ids=["both", "zeros", "other digits", "many"],
)
def test_no_part_of_a_form_is_lost(servers: list[Replica], others: dict[str, str], detail: str) -> None:
    """Duplicate or unknown fields are refused rather than dropped, however many fields there are."""
    with servers[0].client() as http:
        answer = http.post("/v3/glossaries", data=FORM | others)
        assert (answer.status_code, detail in answer.json()["detail"]) == (400, True), answer.text


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"name": "x", "dictionaries": []}, "dictionaries: "),
        ({"name": "", "dictionaries": [{}]}, "name: "),
        ({"name": "x"}, "dictionaries: Field required"),
        (
            {"name": "x", "dictionaries": [("ja", "de")]},
            "a glossary for ja-de would be of no use; served: en-ja, ja-en",
        ),
        ({"name": "x", "dictionaries": [("ja", "en"), ("ja", "en-gb")]}, "there are several for ja-en"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_glossary_is_refused(servers: list[Replica], body: dict[str, object], detail: str) -> None:
    """The error names the field at fault."""
    listed = body.get("dictionaries", ())
    assert isinstance(listed, list | tuple)
    terms = [
        {"source_lang": each[0], "target_lang": each[1], "entries": "a\tb", "entries_format": "tsv"}
        for each in listed
        if isinstance(each, tuple)
    ]
    with httpx.Client(base_url=servers[0].url, trust_env=False) as http:
        answer = http.post("/v3/glossaries", json=body | ({"dictionaries": terms} if terms else {}))
        assert (answer.status_code, detail in answer.json()["detail"]) == (400, True), answer.text
        assert http.get("/v3/glossaries").json() == {"glossaries": []}
        assert http.get("/v3/glossaries/none/entries", params={"source_lang": "ja"}).status_code == 400
