"""Measures whose units are words, and temperatures."""

from collections.abc import Callable, Iterator

import pytest

from models.text.glossary import Term
from models.text.measures import english_measures, japanese_measures
from models.text.numbers import Numbers
from models.text.temperatures import english_temperatures, japanese_temperatures


@pytest.mark.parametrize(
    ("text", "source", "target", "right", "wrong"),
    [
        ("He is 6 feet tall.", "6 feet", "6フィート", ("六フィート", "6 ft"), ("6足", "16フィート", "6")),
        ("A 27-inch display", "27-inch", "27インチ", ("27 インチ",), ("27名", "27センチ")),
        ("16 gigabytes of it", "16 gigabytes", "16ギガバイト", ("16GB", "16 GB"), ("16g", "16バイト", "6GB")),
        ("It is 10 lbs.", "10 lbs", "10ポンド", ("10lb",), ("10本",)),
        ("5-10 miles away", "5-10 miles", "5-10マイル", ("5～10マイル", "5〜10マイル"), ("5マイル", "10マイル")),
        ("1,200 kilowatts", "1,200 kilowatts", "1,200キロワット", ("1200キロワット", "1200kW"), ("1,200ワット",)),
        ("60 mph", "60 mph", "60マイル", ("時速60マイル",), ("60",)),
        ("He was 6 foot tall.", "6 foot", "6フィート", (), ("6",)),
    ],
)
def test_japanese_says_the_unit(
    text: str, source: str, target: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    """In a word, or by its symbol."""
    says(english_measures(text), source, target, right, wrong)


@pytest.mark.parametrize(
    ("text", "source", "target", "right", "wrong"),
    [
        ("約6フィートの", "6フィート", "6 feet", ("six feet", "6-foot"), ("6 legs", "16 feet", "6")),
        ("27インチ型の", "27インチ", "27 inches", ("27-inch",), ("27 ink sticks",)),
        ("16ギガバイトで", "16ギガバイト", "16 gigabytes", ("16-gigabyte", "16GB", "16 GB"), ("16 bytes",)),
        ("50ヘルツの", "50ヘルツ", "50 hertz", ("50 Hz",), ("50 hectares",)),
        ("1マイル毎に", "1マイル", "1 mile", ("a mile", "per mile"), ("1 meter",)),
        ("1,200キロワット", "1,200キロワット", "1,200 kilowatts", ("1200 kW",), ("1,200 watts",)),
        ("5〜10マイル離れた", "5〜10マイル", "5〜10 miles", ("5-10 miles", "5–10-mile"), ("5 miles",)),
    ],
)
def test_english_says_the_unit(
    text: str, source: str, target: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    """In the singular or the plural, or by its symbol, with a small number in words, too."""
    says(japanese_measures(text), source, target, right, wrong)


@pytest.mark.parametrize(
    ("terms", "text", "source", "target", "right", "wrong"),
    [
        (english_temperatures, "At 72°F.", "72°F", "華氏72度", ("72℉", "72 °F"), ("72°C", "72度", "華氏2度")),
        (english_temperatures, "-4 degrees Fahrenheit", "-4 degrees Fahrenheit", "華氏-4度", ("-4°F",), ("4°F",)),
        (
            japanese_temperatures,
            "華氏98.6度",
            "華氏98.6度",
            "98.6 degrees Fahrenheit",
            ("98.6°F",),
            ("98.6°C", "98.6 degrees"),
        ),
        (japanese_temperatures, "72℉", "72℉", "72 degrees Fahrenheit", ("72 °F",), ("72 degrees Celsius",)),
        (
            *(japanese_temperatures, "摂氏マイナス5度", "摂氏マイナス5度", "-5 degrees Celsius"),
            *(("-5 degrees", "-5°C", "-5 degree Celsius"), ("-15 degrees", "-5 °F", "5 degrees")),
        ),
    ],
)
def test_temperatures_keep_their_scale(
    terms: Callable[[str], Iterator[Term]],
    text: str,
    source: str,
    target: str,
    right: tuple[str, ...],
    wrong: tuple[str, ...],
) -> None:
    """A translation may leave Celsius out, but not Fahrenheit."""
    says(terms(text), source, target, right, wrong)


def says(terms: Iterator[Term], source: str, target: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    """There is one term, which such translations contain, and such do not."""
    (term,) = terms
    assert (term.source, term.target) == (source, target)
    assert all(term.is_said(f"[{said}]") for said in (target, *right))
    assert not any(term.is_said(f"[{said}]") for said in wrong)


@pytest.mark.parametrize(
    "text",
    [
        "16 foot soldiers",
        "5 in the box",
        "5 kilometers",
        "25°C",
        "$5 million",
        "v1.5 miles",
        "6 feetwarmers",
        "10 acrely",
    ],
)
def test_english_without_such_a_measure(text: str) -> None:
    """Units that models know are theirs, and so is what only looks like one."""
    assert not [*english_measures(text), *english_temperatures(text)]


@pytest.mark.parametrize(
    "text", ["3万ボルト", "5キロメートル", "25℃", "二十五度", "10インチング", "1200万画素", "華氏と摂氏"]
)
def test_japanese_without_such_a_measure(text: str) -> None:
    """A number in myriads is another term."""
    assert not [*japanese_measures(text), *japanese_temperatures(text)]


@pytest.mark.parametrize("pair", [("en", "ja"), ("ja", "en")])
@pytest.mark.parametrize("piece", ["1", "1 ", "1-", "1,111", "1 foot ", "1フィート", "華氏", "1°", "-1 degrees "])
def test_long_texts_take_a_time_that_is_linear_in_their_length(pair: tuple[str, str], piece: str) -> None:
    """With a time that is quadratic, this would not end."""
    numbers = Numbers.of(*pair)
    assert numbers is not None
    for terms in numbers.in_words:
        list(terms(f"{piece * (300_000 // len(piece))}a"))
