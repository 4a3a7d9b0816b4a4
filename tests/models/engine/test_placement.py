"""Marks of a sentence are placed in its translation where the shipped models say that they belong."""

import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.config import TokenizerConfig
from models.data.batches import Example
from models.data.tokenizer import train_tokenizer
from models.engine.placement import Placement
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.spans import Pieces, Room, Span
from models.engine.strategies import TokenizedRequest
from models.text.characters import Nearest
from models.text.glossary import Term
from models.text.markup import split_unmarked
from models.text.verbatim import Spelling
from tests.support.servers import ROOT

PRETRAINED = ROOT / "models" / "pretrained"
MARKED = [
    "彼女は<b>源氏物語</b>を書いた。",
    '<p>次に<a href="https://example.org/">二条城</a>へ行く。</p>',
    "<i>金閣寺</i>と<i>銀閣寺</i>は<b>京都</b>にある。",
    "**清水寺**は[公式サイト](https://example.org/)を参照。😀",
    "詳しくは `御所 <https://example.com/>`_ を見る。",
]


@pytest.fixture(scope="module")
def japanese() -> Runtime:
    """The shipped Japanese-English bundle."""
    return Runtime.load(PRETRAINED / "ja-en")


@pytest.fixture(scope="module")
def english() -> Runtime:
    """The shipped English-Japanese bundle."""
    return Runtime.load(PRETRAINED / "en-ja")


def translated(runtime: Runtime, *texts: str, **options: Any) -> list[str]:
    """The translations of sentences without context."""
    found = runtime.translate([TranslationRequest(text) for text in texts], Options(**options))
    return [one.text for one in found]


def test_marks_are_around_the_same_words(japanese: Runtime, english: Runtime) -> None:
    """This holds in both directions, even if words change places; without marks, translations are the same."""
    assert translated(english, "I live in <b>Osaka</b> and work in <i>Kyoto</i>.") == [
        "<b>大阪</b>に住み、<i>京都</i>で働く。"
    ]
    assert translated(english, "I live in `Osaka <https://example.org>`_ and work in :ref:`Kyoto <here>`.") == [
        "`大阪 <https://example.org>`_ に住み、:ref:`京都 <here>` で働く。"
    ]
    text, linked, both, *_ = translated(japanese, *MARKED)
    assert text.count("<b>") == text.count("</b>") == 1
    assert "Genji</b>" in text
    assert linked.startswith("<p>")
    assert linked.endswith(".</p>")
    assert '<a href="https://example.org/">Nijo' in linked
    assert both == "<i>Kinkaku-ji Temple</i> and <i>Ginkaku-ji Temple</i> are located in <b>Kyoto</b>."
    (plain,) = translated(japanese, "金閣寺と銀閣寺は京都にある。")
    assert both.replace("<i>", "").replace("</i>", "").replace("<b>", "").replace("</b>", "") == plain


@pytest.mark.parametrize("strategy", ["direct", "sentence", "rerank", "verify"])
def test_no_mark_is_lost_or_changed(japanese: Runtime, strategy: Any) -> None:
    """All marks are in every translation with each strategy, including alternatives."""
    beam, n_best = (1, 1) if strategy == "verify" else (4, 3)
    requests = [TranslationRequest(text) for text in MARKED]
    found = japanese.translate(requests, Options(strategy, beam, n_best))
    marks = ["<b>", "</b>", "<i>", "</i>", "<p>", "</p>", '<a href="https://example.org/">', "</a>"]
    marks += ["**", "](https://example.org/)", "😀", " <https://example.com/>`_"]
    for source, translation in zip(MARKED, found, strict=True):
        for text in [translation.text, *(other.text for other in translation.alternatives)]:
            assert [text.count(mark) for mark in marks] == [source.count(mark) for mark in marks]


@pytest.mark.parametrize(
    ("source", "begins", "ends"),
    [
        ("<b>彼は京都に住んでいる。</b>", "<b>", ".</b>"),
        ("<b>彼は京都に住んでいる</b>。", "<b>", "</b>."),
        ("<p>彼は京都に住んでいる。", "<p>", "."),
        ("彼は京都に住んでいる。</p>", "", ".</p>"),
        ('<i class="x"></i>彼は京都に住んでいる。', '<i class="x"></i>', "."),
    ],
)
def test_marks_around_a_whole_sentence_stay_around_it(japanese: Runtime, source: str, begins: str, ends: str) -> None:
    """With or without the full stop, and if the partner is in another sentence."""
    (plain, text) = translated(japanese, "彼は京都に住んでいる。", source)
    assert text == begins + plain.removesuffix(".") + ends


@pytest.mark.parametrize(
    ("source", "tag"),
    [
        ("京都には<br/>清水寺があり、多くの観光客が訪れる。", "<br/>"),
        ('清水寺<img src="a.png">は有名な寺である。', '<img src="a.png">'),
        ("彼は<b>京都で生まれた。", "<b>"),
        ("それは東京</b>ではない。", "</b>"),
    ],
)
def test_a_tag_without_a_partner_is_between_words(japanese: Runtime, source: str, tag: str) -> None:
    """It is never inside a word, and the words are translated as they are without it."""
    (plain, text) = translated(japanese, source.replace(tag, ""), source)
    assert text.replace(tag, "") == plain
    before, after = text.split(tag)
    assert not (before[-1:].isalnum() and after[:1].isalnum())


@pytest.mark.parametrize("rest", ["https://example.org", "2024", "{name}"])
def test_what_no_word_is_beside_marks_stays_beside_them(japanese: Runtime, rest: str) -> None:
    """An address, a number or a placeholder after a name in bold does not move the marks."""
    (text,) = translated(japanese, f"**清水寺**：{rest}")
    assert text.startswith("**Kiyomizu-dera")
    assert "**" in text.partition(rest)[0].removeprefix("**")


@pytest.mark.parametrize("mark", ["[^1]", "<sup>1</sup>", '<img src="a.png">', "<x></x>"])
def test_what_follows_the_last_word_follows_the_last_word(japanese: Runtime, mark: str) -> None:
    """It is before the full stop, as in the source."""
    (plain, text) = translated(japanese, "本堂は国宝である。", f"本堂は国宝である{mark}。")
    assert text == f"{plain.removesuffix('.')}{mark}."
    (bold,) = translated(japanese, f"本堂は<b>国宝である{mark}。</b>")
    assert bold.replace(".", "").endswith(f"{mark}</b>".replace(".", ""))


def test_a_tag_that_is_a_word_is_in_its_place(english: Runtime) -> None:
    """It is translated as the subject or object that it stands for, with the right particle."""
    assert translated(english, "He moved to <city> in 1867 and built <building> there.")[0].endswith(
        "<building>を建設した。"
    )
    assert translated(english, 'You have <x id="1"/> from <name>.') == ['<name>の<x id="1"/>がある。']


def test_what_is_copied_has_its_marks(japanese: Runtime) -> None:
    """Numbers, placeholders and names in Latin letters keep their marks, around themselves alone."""
    first, second = translated(
        japanese, "<b>{name}</b>さんが<i>%d</i>件の文を送った。", "<b>JR</b>の<i>京都駅</i>は<u>1877</u>年に開業した。"
    )
    assert first.startswith("<b>{name}</b>-san ")
    assert "<i>%d</i>" in first
    assert second == "<b>JR</b> <i>Kyoto Station</i> opened in <u>1877</u>."
    (twice,) = translated(japanese, "<b>JR</b>とJRは同じである。")
    assert twice.count("<b>JR</b>") == 1


def test_more_pairs_than_are_looked_for_are_all_there(japanese: Runtime) -> None:
    """Beyond a few, pairs are placed by proportion; they never cross."""
    source = "、".join(f"<b>{name}</b>" for name in ("京都", "奈良", "大阪", "東京", "神戸") * 3) + "に行った。"
    (text,) = translated(japanese, source)
    assert text.count("<b>") == text.count("</b>") == 15
    depth = 0
    for part in text.replace("</b>", "\0-").replace("<b>", "\0+").split("\0")[1:]:
        depth += 1 if part.startswith("+") else -1
        assert 0 <= depth <= 1


@pytest.mark.parametrize("source", ["<b>彼は来た。</b>" * 20, "**彼**は" * 60, "<b>彼</b>は" * 40 + "来た。"])
def test_a_sentence_of_nothing_but_marks_loses_none(japanese: Runtime, source: str) -> None:
    """All marks are kept, however many there are; pairs for which there is no room are around nothing."""
    (text,) = translated(japanese, source)
    for mark in ("<b>", "</b>", "**"):
        assert text.count(mark) == source.count(mark)


def test_words_with_characters_that_are_not_pieces_are_whole(english: Runtime) -> None:
    """Even if the pieces do not make up the translation exactly, marks are placed around whole words."""
    placement = Placement(None, english.tokenizer, *[Spelling(Nearest(english.tokenizer.target))] * 2, "en", 100)
    spelt = Spelling(Nearest(english.tokenizer.source)).of("x <b>y</b> z")
    (request,) = [TokenizedRequest(Example([1]), 10)]
    assert spelt.restored(placement.place(request, spelt, "The café of 龘")) in {
        f"The <b>{word}</b> of 龘" if word == "café" else f"The café <b>{word}</b> 龘" for word in ("café", "of")
    }


def test_vowels_that_normalisation_takes_apart_are_in_one_piece(tmp_path: Path) -> None:
    """The pieces of a Thai translation make it up exactly, so that marks can be placed where the model says."""
    texts = [
        "".join(words) for words in product(("ครู", "หมอ", "แมว"), ("ทำ", "จำ", "นำ", "ดื่ม"), ("น้ำ", "ถ้ำ", "คำ", "งาน"))
    ]
    config = TokenizerConfig(path=tmp_path, kind="bpe", vocabulary=40, byte_fallback=False, character_coverage=1.0)
    tokenizer = train_tokenizer(config, texts, texts)
    spelling = Spelling(Nearest(tokenizer.target))
    placement = Placement(None, tokenizer, spelling, spelling, "th", 100)
    assert placement._pieces("ครูทำน้ำ").tokens == tokenizer.encode_target("ครูทำน้ำ")


@pytest.mark.parametrize(
    ("source", "said", "expected"),
    [
        ("x y <b>tale</b>", "Story of old", "<b>Story</b> of old"),
        ("x y <b>Tale</b>", "Stories of old", "Stories <b>of old</b>"),  # no form of "story": placed in proportion
        ("<b>tale</b> x y", "Of old tale and tales", "Of old <b>tale</b> and tales"),  # the model's own word for it
        ("<b>tale</b> x tale", "Old tale, story", "<b>Old</b> tale, story"),  # which of the two?
    ],
)
def test_marks_around_a_term_are_around_what_is_said_for_it(
    english: Runtime, source: str, said: str, expected: str
) -> None:
    """The marks go around the term's target, or around the model's word for it, if that occurs only once."""
    spelling, term = Spelling(Nearest(english.tokenizer.target)), Term("tale", "story")
    placement = Placement(None, english.tokenizer, spelling, spelling, "en", 100)
    spelt = replace(spelling.of(source), terms=(term,), worded=(("tale", term),))
    (request,) = [TokenizedRequest(Example([1]), 10)]
    assert spelt.restored(placement.place(request, spelt, said)) == expected


class Anywhere(Placement):
    """Puts a pair at a random remaining place, in place of a model that says where it belongs."""

    def _if_memory_does(self, request: Any, asked: Any, pieces: Pieces, room: Room) -> Span | None:
        spans = room.spans(room.begins(pieces.begins), room.ends(pieces.ends))
        return random.choice(spans) if spans and random.random() < 0.9 else None


def element(depth: int) -> st.SearchStrategy[str]:
    """Well-formed XML of words and elements, including empty ones."""
    words = st.sampled_from(["old ", "temples ", "of Kyoto ", "and ", "<br/>", "gardens. "])
    inner = words if depth == 0 else st.one_of(words, element(depth - 1).map(lambda text: f"<b>{text}</b>"))
    return st.lists(inner, min_size=1, max_size=5).map("".join)


@given(element(2), st.data())
def test_marks_never_cross_wherever_the_model_wants_them(english: Runtime, text: str, data: st.DataObject) -> None:
    """If XML text is divided anywhere into two sentences, their translations make up XML with the same tags."""
    tokenizer, spelling = english.tokenizer, Spelling(Nearest(english.tokenizer.source))
    placement = Anywhere(None, tokenizer, spelling, Spelling(Nearest(tokenizer.target)), "ja", 100)
    random.seed(data.draw(st.integers(0, 1000)))
    at = data.draw(st.integers(0, 30))
    translated = []
    for sentence in split_unmarked(text, lambda bare: [piece for piece in (bare[:at], bare[at:]) if piece]):
        spelt = spelling.of(sentence)
        said = data.draw(st.sampled_from(["京都の古い庭園と寺院に行った。", "庭", "寺、寺、寺。"]))
        translated.append(spelt.restored(placement.place(TokenizedRequest(Example([1]), 10), spelt, said)))
    parsed = "".join(translated)
    assert ET.fromstring(f"<d>{parsed}</d>") is not None
    for tag in ("<b>", "</b>", "<br/>"):
        assert parsed.count(tag) == text.count(tag)


class AroundAll(Placement):
    """Puts every pair around the whole translation, in place of a model that says where it belongs."""

    def _if_memory_does(self, request: Any, asked: Any, pieces: Pieces, room: Room) -> Span | None:
        return room.begin, room.end


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("It was <b>built by <u>the emperor</u> of old.", {"<b><u>皇帝が建てた</u>", "<u>皇帝が建てた</u><b>"}),
        ("It was <u>built</u></b> by the emperor.", {"</b><u>皇帝が建てた</u>", "<u>皇帝が建てた</u></b>"}),
        ("It was <u>bu<br/>ilt</u> by him.", {"<u>皇帝が<br/>建てた</u>"}),
    ],
)
def test_what_has_its_partner_elsewhere_is_not_within_a_pair(english: Runtime, source: str, expected: set[str]) -> None:
    """It stays outside or inside of other pairs as in the source: whatever the translation, tags do not cross."""
    placement = AroundAll(None, english.tokenizer, *[Spelling(Nearest(english.tokenizer.source))] * 2, "ja", 100)
    spelt = placement.spelling.of(source)
    assert spelt.restored(placement.place(TokenizedRequest(Example([1]), 10), spelt, "皇帝が建てた")) in expected


@given(st.integers(0, 1000))
def test_no_mark_is_within_a_word_in_latin_letters(english: Runtime, seed: int) -> None:
    """In Japanese such a word is several pieces, but no mark splits it, so placeholders are found again."""
    random.seed(seed)
    placement = Anywhere(None, english.tokenizer, *[Spelling(Nearest(english.tokenizer.source))] * 2, "ja", 100)
    spelt = placement.spelling.of(
        "<b>I</b> <i>saw</i> {place} <u>with</u> <s>%d</s> of <q>his</q> <b>wives</b> and <i>sons</i>."
    )
    text = spelt.restored(placement.place(TokenizedRequest(Example([1]), 10), spelt, "ABCでJRと龘をDVDで見た"))
    assert "{place}" in re.sub("<[^<>]*>", "", text.split(" ")[0])
    assert re.search("{place}", text)
    assert re.search("%d", text)
    assert re.search("DVD", text)


def test_what_is_within_a_pair_stays_there(english: Runtime) -> None:
    """This holds even if the translation of the marked words has no room between two words."""
    (text,) = translated(english, "It is <b>old<br/>and</b> big.")
    assert re.search("<b>[^<]*<br/>[^<]*</b>", text)


def test_what_is_not_read_is_not_lost_where_a_caller_divides(japanese: Runtime) -> None:
    """A caller may send emoji and marks without words as parts of their own."""
    parts = ("彼は犬だ。", "😀", "<b></b>")
    (found,) = japanese.translate([TranslationRequest("".join(parts), parts=parts)], Options())
    assert found.text.endswith(". 😀 <b></b>")
    (nothing,) = japanese.translate([TranslationRequest("彼は犬だ。", parts=("😀", "🎉"))], Options())
    assert nothing.text == "彼は犬だ。"


def test_a_draft_with_marks_is_kept(japanese: Runtime) -> None:
    """A document that comes back with its own translations is not translated again."""
    direct = japanese.translate([TranslationRequest(text) for text in MARKED], Options("direct", 1))
    drafted = [TranslationRequest(text, draft=one.text) for text, one in zip(MARKED, direct, strict=True)]
    verified = japanese.translate(drafted, Options("verify"))
    assert [one.text for one in verified] == [one.text for one in direct]
    assert [one.kept for one in verified] == [one.tokens for one in verified]


def test_marks_are_placed_one_sentence_a_step(japanese: Runtime) -> None:
    """So other requests wait for one sentence at most, and nothing is placed in a sentence that has been dropped."""
    asked = dict(enumerate([*MARKED[:4], "彼は京都に住んでいる。"]))
    flow = japanese.flow(Options("sentence"))
    flow.add({key: TranslationRequest(text) for key, text in asked.items()})
    first = dict(flow.step())
    assert list(first) == [4, 0]
    flow.drop([1])
    rest = []
    while flow.running:
        rest.append(dict(flow.step()))
    assert [list(each) for each in rest] == [[2], [3]]
    expected = translated(japanese, *asked.values(), strategy="sentence")
    found = first | rest[0] | rest[1]
    assert {key: one.text for key, one in found.items()} == {key: expected[key] for key in (0, 2, 3, 4)}
