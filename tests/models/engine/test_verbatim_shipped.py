"""Addresses, placeholders and emoji with the shipped model: none is lost or changed."""

import re
from typing import Any

import pytest

from models.data.documents import Sentence
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.text.glossary import Term
from tests.support.servers import ROOT

ADDRESS = "https://example.org/a_(b)?id=12"
SENTENCES = [
    f"詳細は{ADDRESS}を参照。",
    f"この寺は1950年に建てられた（{ADDRESS}）。",
    "{name}さんは%sに住んでいる。",
    "今日は京都😀に行きました。",
    "、".join([f"彼は{ADDRESS}を見た"] * 9) + "😀。",
]
KEPT = [(ADDRESS,), (ADDRESS,), ("{name}", "%s"), ("😀",), (ADDRESS, "😀")]


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    """The shipped Japanese-English bundle."""
    return Runtime.load(ROOT / "models" / "pretrained" / "ja-en")


@pytest.mark.parametrize("strategy", ["direct", "sentence", "rerank", "verify"])
def test_each_is_in_every_translation_as_often_as_in_its_source(runtime: Runtime, strategy: Any) -> None:
    """This holds for a sentence that is divided, too, and for all alternatives."""
    beam, n_best = (1, 1) if strategy == "verify" else (4, 3)
    found = runtime.translate([TranslationRequest(text) for text in SENTENCES], Options(strategy, beam, n_best))
    for source, kept, translation in zip(SENTENCES, KEPT, found, strict=True):
        for text in [translation.text, *(other.text for other in translation.alternatives)]:
            assert [text.count(each) for each in kept] == [source.count(each) for each in kept]


def test_an_address_stands_where_the_model_says_what_it_reads_for_it(runtime: Runtime) -> None:
    """It is in the sentence, not appended to it, and has spaces only beside words."""
    (one, two, *_) = runtime.translate([TranslationRequest(text) for text in SENTENCES], Options())
    assert ADDRESS in one.text
    assert two.text.endswith(f"({ADDRESS}).")


@pytest.mark.parametrize("strategy", ["direct", "sentence", "rerank", "verify"])
def test_words_in_latin_letters_stay_in_a_translation_from_japanese(runtime: Runtime, strategy: Any) -> None:
    """The model itself would turn them into `Micros Word`, `salmon As` and `I.........`."""
    asked = {
        "Microsoft Wordを開いて、Save Asをクリックしてください。": ("Microsoft Word", "Save As"),
        "彼は「I have a dream」と言った。": ("I have a dream",),
        "件名は「Re: Budget for 2026」です。": ("Re: Budget for 2026",),
        "Excelとnumpyを使う。": ("Excel", "numpy"),
    }
    options = Options(strategy, 1 if strategy == "verify" else 4)
    found = runtime.translate([TranslationRequest(source) for source in asked], options)
    for words, translation in zip(asked.values(), found, strict=True):
        assert [each for each in words if each.lower() not in translation.text.lower()] == []


def test_a_quotation_at_the_beginning_is_opened(runtime: Runtime) -> None:
    """The model has learnt from references that lack the mark there, and closes it alone."""
    texts = ["「二条」：久我雅忠の娘。", "<b>「二条」</b>：久我雅忠の娘。"]
    plain, marked = runtime.translate([TranslationRequest(text) for text in texts], Options())
    assert plain.text.startswith("'Nijo': ")
    assert marked.text.startswith("'<b>Nijo</b>': ")


def test_a_sentence_in_another_script_is_not_translated(runtime: Runtime) -> None:
    """It stays as it is, with a score of 0, unless a glossary has a word in it."""
    texts = ["Best regards,", "The meeting is at 3 pm on Friday。", "Увидимся", "<b>OK!</b>"]
    found = runtime.translate([TranslationRequest(text) for text in texts], Options())
    assert [each.text for each in found] == [
        "Best regards,",
        "The meeting is at 3 pm on Friday.",
        "Увидимся",
        "<b>OK!</b>",
    ]
    assert {each.score for each in found} == {0.0}
    (named,) = runtime.translate([TranslationRequest("NHK", terms=(Term("NHK", "the broadcaster"),))], Options())
    assert "broadcaster" in named.text.lower()


@pytest.mark.parametrize("strategy", ["direct", "sentence", "rerank"])
def test_no_alternative_loses_what_the_best_has(runtime: Runtime, strategy: Any) -> None:
    """Hypotheses that lack words to be copied, or have another name than the glossary's, are no alternatives."""
    asked = [
        TranslationRequest("**紫式部**は https://example.com を見た。"),
        TranslationRequest("<b>紫式部</b>は{name}を書いた。"),
        TranslationRequest("中宮彰子に仕え、源氏物語を書いた。", terms=(Term("源氏物語", "The Story of Genji"),)),
    ]
    kept = ("https://example.com", "{name}", "the story of genji")
    for translation, words in zip(runtime.translate(asked, Options(strategy, 8, 8)), kept, strict=True):
        texts = [translation.text, *(other.text for other in translation.alternatives)]
        assert [text for text in texts if words not in text.lower() or "ABA" in text] == []
        assert [
            text for text in texts if re.search(r"[.] (https|{)", text)
        ] == []  # that is, appended because the sentence has lost it


TRIED = "{name} sent you %d messages."
"""The model loses one of the first two stand-ins, but not of those tried next."""


@pytest.fixture(scope="module")
def english() -> Runtime:
    """The shipped English-Japanese bundle."""
    return Runtime.load(ROOT / "models" / "pretrained" / "en-ja")


@pytest.mark.parametrize("strategy", ["direct", "sentence"])
def test_where_a_word_does_not_come_back_another_one_is_tried(english: Runtime, strategy: Any) -> None:
    """A flow gives the same as a call, also for sentences beside it that need no second try."""
    (tried,) = english.translate([TranslationRequest(TRIED)], Options(strategy))
    assert tried.text.index("{name}") < tried.text.index("%d") < len(tried.text) - 4
    assert "ジェイアール" not in tried.text
    asked = dict(enumerate([TRIED, "He is a monk.", TRIED.replace("%d", "")]))
    expected = english.translate([TranslationRequest(text) for text in asked.values()], Options(strategy))
    assert expected[0].text == tried.text
    flow = english.flow(Options(strategy))
    flow.add({key: TranslationRequest(text) for key, text in asked.items()})
    found: dict[int, str] = {}
    while flow.running:
        found |= {key: one.text for key, one in flow.step()}
    assert found == {key: one.text for key, one in enumerate(expected)}


def test_what_is_tried_again_can_be_dropped(english: Runtime) -> None:
    """It can be dropped after any number of steps, and so between two tries."""
    steps, flow = 0, english.flow(Options("direct", 1))
    flow.add({0: TranslationRequest(TRIED)})
    while flow.running:
        flow.step()
        steps += 1
    for before in range(0, steps, 3):
        flow = english.flow(Options("direct", 1))
        flow.add({0: TranslationRequest(TRIED)})
        for _ in range(before):
            flow.step()
        flow.drop([0])
        assert not flow.running


def test_a_draft_with_what_was_tried_is_kept(english: Runtime) -> None:
    """The draft is read with the stand-ins of the try that it came from."""
    (direct,) = english.translate([TranslationRequest(TRIED)], Options("direct", 1))
    (verified,) = english.translate([TranslationRequest(TRIED, draft=direct.text)], Options("verify"))
    assert (verified.text, verified.kept) == (direct.text, direct.tokens)


def test_what_a_caller_sends_as_one_sentence_keeps_each_with_its_own(runtime: Runtime) -> None:
    """Two sentences may have the same stand-ins, but each gets its own text back."""
    parts = ("詳細は%sを参照。", "彼は{name}に行った。")
    (together,) = runtime.translate([TranslationRequest("".join(parts), parts=parts)], Options("sentence"))
    alone = runtime.translate([TranslationRequest(text) for text in parts], Options("sentence"))
    assert together.text == " ".join(one.text for one in alone)


def test_as_context_it_is_read_as_it_is_translated(runtime: Runtime) -> None:
    """Whatever verbatim text is in the context, the next sentence is translated in the same way."""
    followed = [
        TranslationRequest("彼女はそこに住んでいる。", (Sentence(f"{kept}は京都の寺である。"),))
        for kept in (ADDRESS, "www.example.com", "{temple}", "ABC")
    ]
    assert len({found.text for found in runtime.translate(followed, Options())}) == 1
    assert len({found.score for found in runtime.translate(followed, Options())}) == 1


def test_a_draft_with_it_is_kept(runtime: Runtime) -> None:
    """A document that comes back with its own translations is not translated again."""
    sources = SENTENCES[:3]
    direct = runtime.translate([TranslationRequest(text) for text in sources], Options("direct", 1))
    drafted = [TranslationRequest(text, draft=one.text) for text, one in zip(sources, direct, strict=True)]
    verified = runtime.translate(drafted, Options("verify"))
    assert [one.text for one in verified] == [one.text for one in direct]
    assert [one.kept for one in verified] == [one.tokens for one in verified]


def test_a_translation_with_it_is_scored_as_it_was_found(runtime: Runtime) -> None:
    """It is scored with the stand-ins that its source is read with."""
    requests = [TranslationRequest(text) for text in SENTENCES[:3]]
    found = runtime.translate(requests, Options("direct", 1))
    scores = runtime.score(requests, [one.text for one in found])
    assert scores == pytest.approx([one.score * (one.tokens + 1) for one in found], abs=1e-3)
