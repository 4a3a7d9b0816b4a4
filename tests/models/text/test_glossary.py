"""Which terms occur in a text, and whether a translation says one."""

from dataclasses import replace
from pathlib import Path

import pytest

from models.data.tokenizer import Tokenizer
from models.errors import DataError
from models.text.characters import Nearest
from models.text.glossary import Glossary, Term, read_terms
from models.text.spelt import Spelt
from models.text.verbatim import Spelling
from models.text.word_edges import places_of
from tests.support.servers import ROOT


def terms(*sources: str) -> Glossary:
    """Terms that are translated as themselves in angle brackets."""
    return Glossary(Term(source, f"<{source}>") for source in sources)


@pytest.mark.parametrize(
    ("text", "sources", "found"),
    [
        ("紫式部は源氏物語を書いた。", ["源氏物語", "紫式部", "枕草子"], ["紫式部", "源氏物語"]),
        ("東京都と京都に行った。", ["京都", "東京都"], ["東京都", "京都"]),  # the longest at each place
        ("アイスランドのアイスを食べた。", ["アイス"], ["アイス"]),
        ("アイスランドに行った。", ["アイス"], []),
        ("ラーメンやそばを食べた。", ["ラー", "そば"], ["そば"]),
        ("The temples of a temple in Templeton.", ["temple"], ["temple"]),
        ("Temple of heaven", ["temple"], ["temple"]),  # at the beginning of a sentence
        ("It was a fast of one day.", ["FAST"], []),
        ("FAST it was, and Fast", ["FAST"], ["FAST"]),
        ("A tea ceremony, tea.", ["tea", "tea ceremony"], ["tea ceremony", "tea"]),
        ("C++ and C", ["C", "C++"], ["C++", "C"]),
        ("JRの駅", ["JR", "駅"], ["JR", "駅"]),
        ("naïve", ["na", "nai"], []),
        ("हिन्दी", ["ह", "हिन"], []),  # vowel signs belong to the word
        ("İstanbul", ["istanbul"], []),  # İ in lower case is two characters
        ("xx aİb", ["ai̇b"], []),
        ("か\u3099く", ["か", "く"], ["く"]),  # a combining sign makes it another kana
        ("a aa aaa", ["a", "aa", "aaaa"], ["a", "aa"]),
        ("ああい", ["あ", "あああい", "ああ"], ["ああ"]),
        ("葛\U000e0100城", ["葛", "城"], ["城"]),  # and so does a variation selector
        ("서울에서", ["서울"], ["서울"]),
        ("", ["x"], []),
    ],
)
def test_words_are_found_and_no_parts_of_them(text: str, sources: list[str], found: list[str]) -> None:
    """Terms come in the order of the text, each once."""
    assert [term.source for term in terms(*sources).of(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<b>紫</b>式部", ["紫式部"]),
        ("R&amp;D部門", ["R&D"]),
        ("{name}さん、https://example.org/temple", ["name", "temple"]),  # left to whatever reads the text
        ("Vincent&nbsp;van&#160;Gogh", ["Vincent van Gogh"]),
        ("https://x.org/temple 儀式を", ["temple 儀式", "temple", "儀式"]),  # one of them reaches into an address
        ("x&region", ["region"]),  # no entity
        ("紫😀式部", ["紫式部"]),
        ("part", []),
    ],
)
def test_all_that_may_be_found_once_a_text_is_read(text: str, found: list[str]) -> None:
    """Terms are looked for without marks and emoji, and with the characters that entities stand for."""
    sources = ("紫式部", "R&D", "name", "temple", "temple 儀式", "儀式", "Vincent van Gogh", "region", "art")
    assert {term.source for term in terms(*sources).may_be_in(text)} == set(found)


@pytest.mark.parametrize(
    ("words", "text", "places"),
    [
        ("山", "和歌山の山", [(4, 5)]),  # not in 和歌山: among Chinese characters, it may be part of a word
        ("the shrine", "The shrine, the shrines", [(0, 10)]),
        ("さくら", "さくらは", [(0, 3)]),
        ("中国", "中国で", [(0, 2)]),
        ("キング", "バイキング", []),
        ("500 yen", "1,500 yen, 500 yen, 0.500 yen", [(11, 18)]),
        ("1万", "1万2000の1万", [(7, 9)]),
        ("10", "9,10,11", [(2, 4)]),  # in a list
    ],
)
def test_words_are_looked_for_as_words(words: str, text: str, places: list[tuple[int, int]]) -> None:
    """Whole words are found, whatever their capitals; a place that may be part of another word does not count."""
    assert places_of(words, text) == places


@pytest.mark.parametrize(
    ("source", "target", "text", "found"),
    [
        ("shrine", "お宮", "Shrines and a shrine", ["shrines", "shrine"]),
        ("tea party", "茶会", "tea parties", ["tea parties"]),
        ("bay", "湾", "bays, baies", ["bays"]),
        ("box", "箱", "boxes of boxs", ["boxes"]),
        ("wish", "ウィッシュ", "wishes", ["wishes"]),
        ("glass", "ガラス", "glasses, glasss", ["glasses"]),
        ("shrine", "Schrein", "shrines", []),  # this target has another plural
        ("shrine", "(Schrein)", "shrines", []),
        ("神社", "お宮", "神社s", ["神社"]),
    ],
)
def test_english_terms_are_found_in_the_plural(source: str, target: str, text: str, found: list[str]) -> None:
    """English plurals count if the other language has none."""
    terms = Glossary([Term(source, target)]).of(text)
    assert [term.source for term in terms] == found
    assert {term.target for term in terms} <= {target}


def test_what_is_said_for_both_is_replaced_for_both(japanese: Spelling) -> None:
    """Both a term and its plural are replaced, each at its own place."""
    terms = tuple(Term(source, "お宮") for source in ("shrines", "shrine"))
    spelt = replace(japanese.of("Shrines and a shrine"), terms=terms, worded=tuple(("神社", term) for term in terms))
    assert spelt.in_terms("神社と神社") == "お宮とお宮"


@pytest.mark.parametrize("written", ["ガラス", "カ\u3099ラス"])
@pytest.mark.parametrize("term", ["ガラス", "カ\u3099ラス"])
def test_terms_are_found_whatever_their_characters_are_composed_of(japanese: Spelling, term: str, written: str) -> None:
    """Texts from the names of files on a Mac, or from a PDF, have が as か and a mark."""
    glossary = terms(term)
    assert [each.source for each in glossary.may_be_in(f"{written}の皿")] == [term]
    assert [each.term.source for each in glossary.found(japanese.of(f"{written}の皿").plain)] == [term]


def test_of_two_terms_for_the_same_the_first_counts() -> None:
    """Two terms with the same source are like two entries of a list: the first one is found."""
    assert Glossary([Term("寺", "temple"), Term("寺", "tera")]).of("寺") == (Term("寺", "temple"),)


def test_no_terms_are_found_by_none() -> None:
    """A glossary without terms finds nothing."""
    assert Glossary(()).of("紫式部") == ()


def test_terms_of_a_file(tmp_path: Path) -> None:
    """One term a line, with a tab; a byte order mark and Windows line ends, as spreadsheets write, do no harm."""
    file = tmp_path / "terms.tsv"
    file.write_bytes("\ufeff寺\ttemple\r\n\r\n 神 社 \t shrine \r\n".encode())
    assert read_terms(file) == (Term("寺", "temple"), Term("神 社", "shrine"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("寺\ttemple\n寺 temple\n", "terms.tsv:2: is not a source and a target separated by a tab"),
        ("\ttemple\n", "terms.tsv:1: is not a source and a target"),
        ("寺\t \n", "terms.tsv:1: is not a source and a target"),
        ("寺\ttemple\ttera\n", "terms.tsv:1: is not a source and a target"),
        ("寺\ttemple\n\n寺\ttera\n", "terms.tsv:3: has the same source as an earlier line"),
    ],
)
def test_a_line_that_is_no_term_is_named(tmp_path: Path, text: str, said: str) -> None:
    """The error has the number of the line."""
    file = tmp_path / "terms.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_terms(file)


@pytest.mark.parametrize(
    ("target", "translation", "said"),
    [
        ("Lady Murasaki", "It was Lady Murasaki.", True),
        ("Lady Murasaki", "It was lady Murasaki.", False),
        ("shrine", "Shrines stood there.", True),
        ("shrine", "It was enshrined.", False),
        ("tea", "A team of teachers", True),  # any ending of up to two letters counts
        ("church", "All churches", True),
        ("church", "The churchyard", False),
        ("tea", "A teapot of teachers", False),
        ("ABC", "(ABC)", True),
        ("LINE", "They have LINEs.", True),
        ("LINE", "They have LINEE.", False),
        ("tea", "THEY SELL TEAS.", True),
        ("神社", "大神社である。", True),
        ("アイス", "アイスランドである。", False),
        ("アイス", "アイスである。", True),
        ("パン", "パンダ", False),  # not an ending
        ("Windows 8", "Windows 8.1", False),
        ("Windows 8", "Windows 8.", True),
        ("Windows 8", "Windows 8は", True),
    ],
)
def test_a_translation_says_a_term_as_a_word(target: str, translation: str, said: bool) -> None:
    """An English term may have an ending, such as that of the plural."""
    assert Term("x", target).is_said(translation) is said


@pytest.fixture(scope="module")
def japanese() -> Spelling:
    """How the shipped Japanese-English model reads."""
    return Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source))


LADY, TALE = Term("紫式部", "Lady Murasaki"), Term("源氏物語", "Genji's Story")


def read(spelling: Spelling, text: str, *asked: Term) -> Spelt:
    """A text that is read with stand-ins for all of these terms."""
    return spelling.with_terms(replace(spelling.of(text), terms=asked), asked)


def test_a_stand_in_is_read_for_a_term_and_the_term_is_said_for_it(japanese: Spelling) -> None:
    """Stand-ins of terms and of placeholders are used side by side, and set apart from letters beside them."""
    spelt = read(japanese, "紫式部源氏物語と{name}と紫式部X", LADY, TALE)
    assert spelt.text == "JR NHKとABCとDVD X"
    assert (
        spelt.restored("JR wrote NHK, ABC and DVDs.") == "Lady Murasaki wrote Genji's Story, {name} and Lady Murasaki."
    )
    assert spelt.as_read("Lady Murasaki wrote Genji's Story, {name}.") == "JR wrote NHK, ABC."


def test_what_is_missing_is_told(japanese: Spelling) -> None:
    """A term whose stand-in is dropped counts as a greater loss than one said in other words: nothing of it is left."""
    own = Spelt("紫式部", "紫式部", terms=(LADY,))
    assert (own.lost("Murasaki Shikibu"), own.missing("Murasaki Shikibu")) == (1, [LADY])
    assert (own.lost("Lady Murasaki"), own.missing("Lady Murasaki")) == (0, [])
    spelt = read(japanese, "紫式部", LADY)
    assert (spelt.lost("ABC"), spelt.lost("She")) == (0, 3)
    assert spelt.restored("She") == "She"  # a lost address would be appended, but a term is not


@pytest.mark.parametrize(
    ("translation", "in_terms"),
    [
        ("The Tale of Genji by Murasaki", "Genji's Story by Murasaki"),
        ("In the tale of genji", "In Genji's Story"),
        ("The tale of Genjis", "The tale of Genjis"),  # another word
        ("The Tale of Genji and the Tale of Genji", None),  # which of the two is the term?
        ("\U000f0000The Tale\U000f0001 of Genji", "\U000f0000Genji's Story\U000f0001"),  # with places for marks
        ("A\U000f0000 of the Tale\U000f0001 of Genji", "A\U000f0000 of Genji's Story\U000f0001"),
        ("Genji's Story is the Tale of Genji", None),  # there already
    ],
)
def test_what_the_model_says_for_a_term_makes_way_for_it(translation: str, in_terms: str | None) -> None:
    """The model's words are replaced if they occur as often as the term does in the text."""
    spelt = Spelt("源氏物語。", "源氏物語。", terms=(TALE,), worded=(("The Tale of Genji", TALE),))
    assert spelt.in_terms(translation) == (in_terms or translation)


def test_a_term_with_a_full_stop_ends_a_sentence_with_one(japanese: Spelling) -> None:
    """There are never two full stops; an ellipsis keeps its three dots."""
    spelt = read(japanese, "米国へ行った。", Term("米国", "the U.S."))
    assert spelt.restored("He went to ABC.") == "He went to the U.S."
    assert spelt.restored("ABC, too") == "the U.S., too"
    assert spelt.restored("He went to ABC...") == "He went to the U.S...."


def test_of_terms_that_overlap_the_longest_is_meant_whichever_is_missing(japanese: Spelling) -> None:
    """This holds even if the longest one has already been said."""
    city, old = Term("東京都", "Tokyo"), Term("京都", "Kioto")
    spelt = replace(japanese.of("東京都と京都"), terms=(city, old))
    assert japanese.with_terms(spelt, [old]).text == "東京都とABC"
    worded = replace(spelt, worded=(("Kyoto", old),))
    assert worded.in_terms("Tokyo and Kyoto") == "Tokyo and Kioto"
    assert worded.in_terms("Kyoto and Kyoto") == "Kyoto and Kyoto"


def test_a_stand_in_is_no_word_of_the_text(japanese: Spelling) -> None:
    """A word of the text is no stand-in, even if it is in small letters: a term might be found in it."""
    spelt = read(japanese, "{name}とabc", Term("abc", "いろは"))
    assert spelt.text == "JRとNHK"
    assert spelt.restored("JR NHK") == "{name} いろは"


def test_what_is_left_of_a_stand_in_is_a_loss(japanese: Spelling) -> None:
    """A stand-in that is repeated or joined to another counts as a loss, as none may remain in a translation."""
    spelt = read(japanese, "紫式部と源氏物語", LADY, TALE)
    assert [spelt.lost(said) for said in ("ABC JR", "ABC JR JR", "ABCJR", "ABC JR JRA")] == [0, 1, 8, 1]


def test_what_is_read_for_a_placeholder_says_no_term(japanese: Spelling) -> None:
    """A name in a placeholder does not count as a term, nor does a stand-in that looks like one."""
    name, letters = Term("名字", "surname"), Term("字", "ABC")
    spelt = replace(japanese.of("名字は{surname}"), terms=(name, letters))
    assert spelt.missing("His name was ABC.") == [name, letters]
    assert spelt.missing("His surname was ABC.") == [letters]


def test_of_two_wordings_at_one_place_the_longer_is_meant(japanese: Spelling) -> None:
    """The longer wording is that of the longer term, which replaces it."""
    tale = Term("物語", "story")
    spelt = replace(japanese.of("源氏物語と物語"), terms=(TALE, tale), worded=(("Tale", tale), ("Tale of Genji", TALE)))
    assert spelt.in_terms("A Tale of Genji") == "A Genji's Story"


def test_signs_of_terms_are_written_as_those_of_the_text(japanese: Spelling) -> None:
    """A term gets entities like its text, whether it comes from a stand-in or replaces words; addresses get none."""
    term = Term("部門", "R&D")
    spelt = read(japanese, "A&amp;Bの部門とhttps://x.org/?a&b", term)
    assert spelt.restored("JR of A&B, ABC") == "R&amp;D of A&amp;B, https://x.org/?a&b"
    worded = replace(spelt, told=(), worded=(("Department", term),), plain="A&Bの部門とABC")
    assert worded.restored(worded.in_terms("Department of A&B, ABC")) == "R&amp;D of A&amp;B, https://x.org/?a&b"


def test_stand_ins_are_no_words_of_terms(japanese: Spelling) -> None:
    """No stand-in is used that occurs in the target of a term."""
    spelt = read(japanese, "紫式部と源氏物語", Term("紫式部", "Lady Abc"), Term("源氏物語", "NHK Drama"))
    assert spelt.text == "JRとDVD"


def test_a_term_may_say_what_a_placeholder_does(japanese: Spelling) -> None:
    """If only one stand-in is dropped, a lost placeholder is appended, but a lost term is not."""
    spelt = read(japanese, "公と{name}", Term("公", "{name}"))
    assert spelt.restored("JR") == "{name} {name}"
    assert spelt.restored("ABC") == "{name}"


def test_a_term_in_small_letters_may_begin_a_sentence(japanese: Spelling) -> None:
    """It gets a capital then, whether it replaces the model's words or a stand-in."""
    term = Term("寺", "sacred place")
    own = Spelt("寺", "寺", terms=(term,), worded=(("Temple", term),))
    assert own.in_terms('"Temple" of it') == '"Sacred place" of it'
    assert own.in_terms("Its temple") == "Its sacred place"
    spelt = read(japanese, "寺と{npm}", term)
    assert spelt.restored("JR and ABC") == "Sacred place and {npm}"
    assert Term("x", "https://example.org").at("", 0) == "https://example.org"
    assert Term("x", "ßa").at("", 0) == "ßa"
    assert Term("npm", "npm").at("はよい", 0) == "npm"


def test_there_are_only_so_many_stand_ins(japanese: Spelling) -> None:
    """Occurrences beyond those are read as they are."""
    spelt = read(japanese, "紫式部、源氏物語、紫式部、源氏物語、紫式部", LADY, TALE)
    assert spelt.text == "ABC、JR、NHK、DVD、紫式部"


def test_with_marks_elsewhere_a_text_is_read_the_same(japanese: Spelling) -> None:
    """A text that differs only in marks, as when the model is asked where they belong, has the same stand-ins."""
    spelt = read(japanese, "紫式部は%sに源氏物語を書いた。", TALE)
    assert spelt.text == "紫式部はABCにJRを書いた。"
    assert japanese.like("“紫式部”は%sに“源氏物語”を書いた。", spelt).text == "“紫式部”はABCに“JR”を書いた。"
