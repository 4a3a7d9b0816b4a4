"""Which language texts are in, where a client does not say it."""

import pytest

from service.texts.detection import detect

TEXTS = {
    "de": "Der Hund läuft durch den Garten.",
    "en": "The dog runs through the garden.",
    "fr": "Le chien court dans le jardin.",
    "ja": "紫式部は平安時代中期の女流歌人である。",
    "nb": "Hunden løper gjennom hagen og bjeffer på katten.",
    "zh-hant": "紫式部是平安時代的女作家。",
}


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
async def test_sentence_is_enough(language: str, text: str) -> None:
    """Among the languages that are served, under the names that they have there; probabilities sum to 1."""
    found = await detect([text], TEXTS.keys())
    assert found[0].language == language
    assert found[0].confidence > 0.9
    assert sum(each.confidence for each in found) == pytest.approx(1)
    assert [each.confidence for each in found] == sorted((each.confidence for each in found), reverse=True)


async def test_only_languages_that_are_served_are_likely() -> None:
    """English is none, where nobody translates it; nor is one that the identifier does not know."""
    assert {each.language for each in await detect([TEXTS["en"]], {"ja", "de", "tlh"})} == {"ja", "de"}
    assert await detect([TEXTS["en"]], {"tlh"}) == []
    assert await detect([], {"ja", "de"}) == []


async def test_tags_are_in_no_language() -> None:
    """However many there are, and however English they look."""
    text = f"<div class='the garden of the dog'>{TEXTS['de']}</div>" + "<span title='with the words'></span>" * 50
    assert (await detect([text], TEXTS.keys()))[0].language == "de"


async def test_texts_without_a_word_are_in_any() -> None:
    """There is no choice among equals, and no error."""
    assert [each.confidence for each in await detect(["123", ""], {"de", "ja"})] == [0.5, 0.5]


async def test_long_texts_are_judged_by_their_beginning() -> None:
    """What comes after that is not read."""
    texts = [TEXTS["fr"], TEXTS["fr"] * 200, TEXTS["de"] * 100_000]
    assert (await detect(texts, TEXTS.keys()))[0].language == "fr"
