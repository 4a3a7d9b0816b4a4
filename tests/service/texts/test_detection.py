"""Detecting the language of texts when the client does not give it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import cast

import pytest
from py3langid.langid import LanguageIdentifier

from service.errors import InvalidInputError
from service.inference.catalogue import Model
from service.texts import detection
from service.texts.detection import detect, source_of

TEXTS = {
    "de": "Der Hund läuft durch den Garten.",
    "en": "The dog runs through the garden.",
    "fr": "Le chien court dans le jardin.",
    "ja": "紫式部は平安時代中期の女流歌人である。",
    "nb": "Hunden løper gjennom hagen og bjeffer på katten.",
    "zh-hant": "紫式部是平安時代的女作家。",
}


async def test_number_of_no_character_is_text() -> None:
    """However long it is."""
    found = await detect([f"{TEXTS['fr']} &#{'1' * 5000};"], TEXTS.keys())
    assert found[0].language == "fr"


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
async def test_sentence_is_enough(language: str, text: str) -> None:
    """One sentence suffices among the served languages, under the codes used there; probabilities sum to 1."""
    found = await detect([text], TEXTS.keys())
    assert found[0].language == language
    assert found[0].confidence > 0.9
    assert sum(each.confidence for each in found) == pytest.approx(1)
    assert [each.confidence for each in found] == sorted((each.confidence for each in found), reverse=True)


async def test_only_languages_that_are_served_are_likely() -> None:
    """English is not detected if it is not served, and neither is a language that the identifier does not know."""
    assert {each.language for each in await detect([TEXTS["en"]], {"ja", "de", "tlh"})} == {"ja", "de"}
    assert await detect([TEXTS["en"]], {"tlh"}) == []
    assert await detect([], {"ja", "de"}) == []


@pytest.mark.parametrize(
    "before",
    [
        "<div class='the garden of the dog'>" + "<span title='with the words'></span>" * 50,
        "<style>" + "body { color: the-garden; }" * 500 + "</style>",
        "<script>" + "if (a < b) runThroughTheGarden();" * 500 + "</script>",
        "<!-- The dog runs through the garden. <b> " * 200 + "-->",
        "<img src='data:image/png;base64," + "TheDogRunsThroughTheGarden" * 400 + "'>",
    ],
)
async def test_tags_are_in_no_language(before: str) -> None:
    """Tags are ignored, however long and English they look; comparison signs are not tags."""
    assert (await detect([before + TEXTS["de"]], TEXTS.keys()))[0].language == "de"
    assert (await detect(["1 < 2 und der Hund läuft durch den Garten, 3 > 2"], TEXTS.keys()))[0].language == "de"


@pytest.mark.parametrize("text", ["ｺﾚﾊ ﾃｽﾄ ﾃﾞｽ｡ ﾈｺ ﾃﾞｱﾙ｡", "&#12371;&#12428;&#12399;&#29483;&#12391;&#12377;&#12290;"])
async def test_letters_that_are_written_otherwise(text: str) -> None:
    """Half-width kana and numeric HTML entities are recognized."""
    assert (await detect([text], TEXTS.keys()))[0].language == "ja"


def test_many_that_come_at_once_load_one_identifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The identifier takes 90 MB, so concurrent requests must not each load one."""
    loaded: list[str] = []
    real = LanguageIdentifier.from_model_file

    def load(file: str) -> LanguageIdentifier:
        loaded.append(file)
        return real(file)

    monkeypatch.setattr(LanguageIdentifier, "from_model_file", load)
    detection._identifier.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: asyncio.run(detect([TEXTS["ja"]], TEXTS.keys())), range(4)))
    assert [each[0].language for each in found] == ["ja"] * 4
    assert len(loaded) == 1


async def test_target_is_that_of_a_model_that_would_be_chosen() -> None:
    """The target is matched as when the source is given: a script or region that no model writes matches none."""
    models = [
        SimpleNamespace(pair=("de", "zh-hans")),
        SimpleNamespace(pair=("ja", "zh-hant")),
        SimpleNamespace(pair=("fr", "en")),
    ]
    served = cast("list[Model]", models)
    assert (await source_of(None, "zh-hant", served, [TEXTS["de"]])).language == "ja"
    assert (await source_of(None, "en-us", served, [TEXTS["de"]])).language == "fr"
    with pytest.raises(InvalidInputError, match="served to zh: none"):
        await source_of(None, "zh", served, [TEXTS["de"]])


async def test_texts_without_a_word_are_in_any() -> None:
    """All languages are then equally likely; that is not an error."""
    assert [each.confidence for each in await detect(["123", ""], {"de", "ja"})] == [0.5, 0.5]


async def test_long_texts_are_judged_by_their_beginning() -> None:
    """Text beyond the beginning is not read."""
    texts = [TEXTS["fr"], TEXTS["fr"] * 200, TEXTS["de"] * 100_000]
    assert (await detect(texts, TEXTS.keys()))[0].language == "fr"
