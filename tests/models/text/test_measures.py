"""Numbers whose units are words, and temperatures."""

import pytest

from models.text.glossary import Term
from models.text.measures import UNITS, Unit
from models.text.numbers import Numbers


def terms(source: str, target: str, text: str) -> list[Term]:
    """The numbers of a text."""
    numbers = Numbers.of(source, target)
    assert numbers is not None
    return list(numbers.terms(text))


@pytest.mark.parametrize(
    ("text", "source", "target", "right", "wrong"),
    [
        ("He is 6 feet tall.", "6 feet", "6フィート", ("六フィート", "6 ft"), ("6足", "16フィート", "6")),
        ("A 27-inch display", "27-inch", "27インチ", ("27 インチ",), ("27名", "27センチ")),
        ("16 gigabytes of it", "16 gigabytes", "16ギガバイト", ("16GB", "16 GB"), ("16g", "16バイト", "6GB")),
        ("It is 10 lbs.", "10 lbs", "10ポンド", ("10lb",), ("10本",)),
        ("1,200 kilowatts", "1,200 kilowatts", "1,200キロワット", ("1200キロワット", "1200kW"), ("1,200ワット",)),
        ("60 mph", "60 mph", "60マイル", ("時速60マイル",), ("60",)),
        ("He was 6 foot tall.", "6 foot", "6フィート", (), ("6",)),
        ("500 square feet", "500 square feet", "500平方フィート", (), ("500フィート", "500平方メートル")),
        ("4 light-years away", "4 light-years", "4光年", ("四光年",), ("4年",)),
        ("20 yuan", "20 yuan", "20人民元", ("20元",), ("20代",)),
        ("2 million miles", "2 million miles", "200万マイル", ("2,000,000マイル",), ("200万", "2マイル")),
        ("At 72°F.", "72°F", "華氏72度", ("72℉", "72 °F"), ("72°C", "72度", "華氏2度")),
        ("-4 degrees Fahrenheit", "-4 degrees Fahrenheit", "華氏-4度", ("-4°F",), ("4°F",)),
    ],
)
def test_japanese_says_the_unit(
    text: str, source: str, target: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    """In a word, or by its symbol; of temperatures, the scale."""
    says(terms("en", "ja", text), source, target, right, wrong)


@pytest.mark.parametrize(
    ("text", "source", "target", "right", "wrong"),
    [
        ("約6フィートの", "6フィート", "6 feet", ("six feet", "6-foot"), ("6 legs", "16 feet", "6")),
        ("27インチ型の", "27インチ", "27 inches", ("27-inch",), ("27 ink sticks",)),
        ("16ギガバイトで", "16ギガバイト", "16 gigabytes", ("16-gigabyte", "16GB", "16 GB"), ("16 bytes",)),
        ("50ヘルツの", "50ヘルツ", "50 hertz", ("50 Hz",), ("50 hectares",)),
        ("1マイル毎に", "1マイル", "1 mile", ("a mile", "per mile"), ("1 meter",)),
        ("3万ボルトの", "3万ボルト", "30,000 volts", ("30 thousand volts", "30000 V"), ("3 volts", "30,000 bolts")),
        ("4光年先の", "4光年", "4 light years", ("four light-years", "4-light-year"), ("four years",)),
        ("20立方メートル", "20立方メートル", "20 cubic meters", (), ("20 square meters", "20 meters")),
        ("華氏98.6度", "華氏98.6度", "98.6 degrees Fahrenheit", ("98.6°F",), ("98.6°C", "98.6 degrees")),
        ("72℉", "72℉", "72 degrees Fahrenheit", ("72 °F",), ("72 degrees Celsius",)),
        ("摂氏マイナス5度", "摂氏マイナス5度", "-5 degrees Celsius", ("-5 degrees", "-5°C"), ("-5 °F", "5 degrees")),
    ],
)
def test_english_says_the_unit(
    text: str, source: str, target: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    """In the singular or the plural, or by its symbol, with a small number in words, too; Celsius may be left out."""
    says(terms("ja", "en", text), source, target, right, wrong)


def says(found: list[Term], source: str, target: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    """There is one term, which such translations contain, and such do not."""
    (term,) = found
    assert (term.source, term.target) == (source, target)
    assert all(term.is_said(f"[{said}]") for said in (target, *right))
    assert not any(term.is_said(f"[{said}]") for said in wrong)


@pytest.mark.parametrize(
    "text",
    ["16 foot soldiers", "5 in the box", "5 kilometers", "25°C", "v1.5 miles", "6 feetwarmers", "10 acrely", "A5 feet"],
)
def test_english_without_such_a_measure(text: str) -> None:
    """Units that models know are theirs, and so is what only looks like one."""
    assert not terms("en", "ja", text)


@pytest.mark.parametrize(
    "text", ["5キロメートル", "25℃", "二十五度", "10インチング", "華氏と摂氏", "第5マイルストーン"]
)
def test_japanese_without_such_a_measure(text: str) -> None:
    """A longer word in katakana is another one."""
    assert not terms("ja", "en", text)


@pytest.mark.parametrize("unit", UNITS)
def test_each_unit_is_found_in_both_languages(unit: Unit) -> None:
    """With a hyphen or a space between its words."""
    for said in (unit.english, unit.plural, unit.plural.replace(" ", "-")):
        if said != "foot":
            assert [term.source for term in terms("en", "ja", f"It is 7 {said}.")] == [f"7 {said}"]
        assert [term.target for term in terms("en", "ja", f"a 7-{said}")] == [f"7{unit.japanese}"]
    assert [term.target for term in terms("ja", "en", f"7{unit.japanese}である")] == [f"7 {unit.plural}"]


def test_a_range_has_its_unit_behind() -> None:
    """Its first number is the model's to say."""
    assert [term.target for term in terms("en", "ja", "5-10 miles away")] == ["10マイル"]
    assert [term.target for term in terms("ja", "en", "5〜10マイル離れた")] == ["10 miles"]


@pytest.mark.parametrize(("source", "target"), [("en", "ja"), ("ja", "en")])
@pytest.mark.parametrize("piece", ["1", "1 ", "1-", "1 foot ", "1フィート", "1 square ", "華氏", "1°", "-1 degrees "])
def test_long_texts_take_a_time_that_is_linear_in_their_length(source: str, target: str, piece: str) -> None:
    """With a time that is quadratic, this would not end."""
    terms(source, target, f"{piece * (300_000 // len(piece))}a")
