"""What translations say again and again."""

import pytest

from models.text.repetitions import Repetitions

ENGLISH, JAPANESE, FRENCH = Repetitions("ja", "en"), Repetitions("en", "ja"), Repetitions("en", "fr")


@pytest.mark.parametrize(
    "text",
    [
        "A cook cook cook cooks steaks.",
        "It was Advanced Advanced Advanced.",
        "He made him his own own private territory.",
        "He had the son of the son of the territory.",
        "The vice-chief of the Supreme Court of the Supreme Court of Japan.",
        "Between the Imagawa clan, the Imagawa clan, the Imagawa clan, and others.",
        "Suzaki, Chiba, Chiba, Chiba, and others.",
        "Boars, raccoon dogs, raccoon dogs and rabbits.",
        "Mibunami (Miburo, Miburo)",
        "Kozamurairozuirozuirozuirozui",
    ],
)
def test_english_that_repeats_itself(text: str) -> None:
    """Translations of the shipped model, abridged."""
    assert ENGLISH.in_translation(text)


@pytest.mark.parametrize(
    "text",
    [
        "Villages which had had the tradition; he said that that was so.",
        "The Great Empress Dowager, Empress Dowager, and Empress.",
        "The fourth lord of the domain, the domain school.",
        "Asuka, Asuka Village; at age 76, 77, or 83.",
        "Call 075 075 or 1 1 1 1.",
        "It got better and better.",
        "Wait ... ... ... --- --- ---",
        "Mississippi, banana, Kokoro and Honolulu",
        "No one knows Kan Kannon.",
    ],
)
def test_english_that_does_not(text: str) -> None:
    """What good translations say."""
    assert not ENGLISH.in_translation(text)


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("寺院の寺院の所有権を認め", True),
        ("研究者の間では研究者の間では同様である。", True),
        ("北周の仏像、北周の仏像、北周の仏像、水野", True),
        ("巻物の再現・再現・再現による", True),
        ("境内には広大な広大な広域があり", True),
        ("葉の葉の葉の穂", True),
        ("焼酎、みりん、ビール、ビール、酒類", True),
        ("恭仁京（くにのみや、くにのみや）は", True),
        ("京阪、京阪バス・京阪・市バス", False),
        ("ひとりひとり、いろいろと、しばしば、ますます", False),
        ("もともと人々は、時々、それぞれの村々へ", False),
        ("ウウウと鳴く", False),
        ("1000000円、2000年2000人", False),
    ],
)
def test_japanese(text: str, repeats: bool) -> None:
    """Short words of kana may be doubled."""
    assert JAPANESE.in_translation(text) == repeats


def test_other_languages_double_words() -> None:
    """Three in a row are too many in these, too."""
    assert not FRENCH.in_translation("Nous nous sommes promenés.")
    assert FRENCH.in_translation("Nous nous nous sommes promenés.")


@pytest.mark.parametrize(
    ("reader", "text", "repeats"),
    [
        (ENGLISH, "「小袖小袖の身分差」を参照。", True),
        (ENGLISH, "いやいや、千葉、千葉から。", True),
        (ENGLISH, "料理人が鉄板で調理した。", False),
        (JAPANESE, "No, no, no, it is not.", True),
        (JAPANESE, "Ha ha! Aaah!", True),
        (JAPANESE, "It is a song of the north.", False),
    ],
)
def test_sources(reader: Repetitions, text: str, repeats: bool) -> None:
    """What the source repeats, its translation may repeat."""
    assert reader.in_source(text) == repeats


@pytest.mark.parametrize("piece", ["a", "a ", "a-", "ab ", "ab, ", "あ", "漢字", "漢", "a b c d e f g ", "1"])
def test_long_texts_take_a_time_that_is_linear_in_their_length(piece: str) -> None:
    """A third of a million characters, of which each piece nearly repeats the one before, are looked through."""
    text = "".join(f"{piece}{number}" for number in range(300_000 // (len(piece) + 6)))
    for reader in (ENGLISH, JAPANESE, FRENCH):
        assert not reader.in_translation(text)
        reader.in_source(text)
