"""Numbers that a translation has to say."""

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.glossary import NO_TERMS, Glossary, Term
from models.text.numbers import Numbers
from models.text.scripts import Script, with_terms
from models.text.verbatim import Spelling
from tests.support.servers import ROOT


def terms(source: str, target: str, text: str) -> list[Term]:
    """Of a text in a language pair that has any."""
    numbers = Numbers.of(source, target)
    assert numbers is not None
    return list(numbers.terms(text))


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("亀山22000石と１２３４５円と、1,200円", ["22000", "12345 yen", "1,200 yen"]),
        (
            "2万2,000石、３万１千人、100万円、1.5億、5千万",
            ["22,000", "31,000", "1,000,000 yen", "150,000,000", "50,000,000"],
        ),
        ("37兆1,542億9,800万円", ["37,154,298,000,000 yen"]),
        ("1,234百万円、2百万人、3十億、1万5百", ["1,234,000,000 yen", "2,000,000", "3,000,000,000", "10,500"]),
        (
            "電話：03-1234-5678、2023/10/01の15:30、3:2、3.11.4",
            ["03-1234-5678", "2023/10/01", "15:30", "3:2", "3.11.4"],
        ),
        ("1998-2001年の827.83", ["1998", "2001", "827.83"]),
        ("31.7cm×879.9cm、500ml", ["31.7 cm", "879.9 cm", "500 ml"]),
        ("-5℃から−12.5度、△5.4％、▲1,234百万円", ["-5", "-12.5", "-5.4%", "-1,234,000,000 yen"]),
        ("5-8%、5 -8%、▲7六歩、？-867年、市内-300円、10%-50%", ["867", "300 yen"]),
        ("12人、A-502、5km、802.11ax、.304、数十万、一〇〇人、12h30m、4x4", []),
        ("2024-05-31T10:00:00Zと2024-05-31T19:00+09:00", ["2024-05-31T10:00:00Z", "2024-05-31T19:00+09:00"]),
        ("コミット9f86d081884cで、1920x1080の", ["9f86d081884c", "1920x1080"]),
        ("10ms、16 GB、5V、4Kの2.4GHz、10µs、100MB/s", ["10 ms", "16 GB", "5V", "4K", "2.4 GHz", "10 μs", "100 MB/s"]),
    ],
)
def test_numbers_of_japanese(text: str, targets: list[str]) -> None:
    """Long ones, and those with signs; what a word says of them is in digits in English."""
    assert [term.target for term in terms("ja", "en", text)] == targets


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("3 billion yen, 1.23 Trillion, 125 million people", ["30億円", "1兆2300億", "1億2500万"]),
        ("3.14 of 1,200", ["3.14", "1,200"]),
        ("US$1.5 million, ¥13.2 trillion and £2 million", ["150万ドル", "13兆2000億円", "200万ポンド"]),
        ("10,000 people at 22:45, 149.50 yen, 12,345, 133,000", ["1万", "22:45", "149.50円", "12,345", "13万3000"]),
        ("ISBN 4473032450, 1-3-28.", ["4473032450", "1-3-28"]),
        ("At 2024-05-31T10:00:00.5Z, as of commit 9f86d08.", ["2024-05-31T10:00:00.5Z", "9f86d08"]),
        ("-5 °C, −0.5 percent, -3,456 yen", ["-5", "-0.5", "-3,456円"]),
        ("5 -8%, (?-867), A-5%, 1%-2%, -37 minutes, non-5%", []),
        ("0 million, $0.0 billion", []),
        ("10 ms, 16GB, 5 V at 2.4 GHz, 1,500 rpm", ["10ms", "16GB", "5V", "2.4GHz", "1,500rpm"]),
        ("class 5 A, 12 m, 3 km, 20 kg, 10 mst, 10MBs", []),
        ("the 1990s, the 100th, 12 of 99, May 11, 1869", []),  # of the year, Japanese makes 明治2年 or 1869年
    ],
)
def test_numbers_of_english(text: str, targets: list[str]) -> None:
    """Japanese counts in ten thousands."""
    assert [term.target for term in terms("en", "ja", text)] == targets


@pytest.mark.parametrize(
    ("languages", "text", "targets"),
    [
        ("ko en", "예산은 3000억 원, 2,500만 명, 15만 3000명, 5천 명, 2024년", ["2024"]),
        ("zh en", "预算3000亿元，1.5亿人，15萬3000人，2024年", ["2024"]),
        ("en zh", "1.5 million people, 2,500 billion won, 3,456 men", ["3,456"]),
        ("en ko", "1.5 million people, 2,500 billion won, 3,456 men", ["3,456"]),
    ],
)
def test_what_counts_in_other_words_elsewhere_is_no_term(languages: str, text: str, targets: list[str]) -> None:
    """Of 3000억, 300 billion is right, and has no 3000."""
    source, target = languages.split()
    assert [term.target for term in terms(source, target, text)] == targets


@pytest.mark.parametrize(
    ("languages", "text", "translation", "said"),
    [
        ("ja en", "20000人", "20,000 people", True),
        ("ja en", "20000人", "2000 people", False),
        ("ja en", "2000人", "20001 people", False),
        ("ja en", "1990年", "in the 1990s", True),
        ("ja en", "22億円", "2.2 billion yen", True),
        ("ja en", "22億円", "22 billion yen", False),
        ("ja en", "31.7cm", "31.7 centimeters", True),
        ("ja en", "15:30", "3:30 p.m.", True),
        ("en ja", "10,000 yen", "1万円", True),
        ("en ja", "3,000 people", "三千人", True),
        ("en ja", "10,000 yen", "1,000円", False),
        ("en ja", "at 9:30", "9時30分", True),
        ("en ja", "at 3:30 p.m.", "15時半", True),
        ("en ja", "at 9:30", "930", False),
        ("en ja", "3 to 1:15", "1対15", True),
        ("en zh", "1,500 people", "1500人", True),
        ("ja en", "2万石", "20 thousand koku", True),
        ("ja en", "100万人", "One million members", True),
        ("ja en", "1万年", "ten thousand years", True),
        ("ja en", "100万部", "ten million copies", False),
        ("en ja", "53,000 koku", "5万3千石", True),
        ("en ja", "120 million people", "1億2千万人", True),
        ("en ja", "587.0 square meters", "587.0m2", True),
        ("en ja", "0.7 billion yen", "0.7億円", False),
        ("en ja", "10,000 people", "1万2000人", False),
        ("en ja", "12,345 bytes", "12345万", False),
        ("en ko", "12,345 bytes", "12345만", False),
        ("en zh", "12,345 bytes", "12345亿", False),
        ("ja en", "100万円", "1,000,000,000 yen", False),
        ("ja en", "1,234百万円", "1,234 million yen", True),
        ("ja en", "980円", "1,980 yen", False),
        ("ja en", "-0.5%", "0.5%", False),
        ("ja en", "-0.5%", "minus 0.5%", True),
        ("en ja", "-12.5 °C", "- 12.5°C", True),
        ("en ja", "-12.5 °C", "氷点下12.5度", True),
        ("en zh", "-0.5%", "-0.5%", True),
        ("ja en", "4,400哩", "4,4400 ri", False),
        ("ja en", "980円", "980, 120 yen.", True),
        ("ja en", "5.12", "3.5.12", False),
    ],
)
def test_other_ways_to_say_one(languages: str, text: str, translation: str, said: bool) -> None:
    """They are no reason to read the sentence again; another number is."""
    source, target = languages.split()
    (term,) = terms(source, target, text)
    assert term.is_said(translation) is said


@pytest.mark.parametrize(("source", "target"), [("ja", "de"), ("fr", "en"), ("xx", "ja")])
def test_languages_that_write_numbers_in_other_ways(source: str, target: str) -> None:
    """3.14 is 3,14 in many of them."""
    assert Numbers.of(source, target) is None


def test_a_number_of_many_digits_is_said_as_it_is() -> None:
    """Python reads no more than 4,300 digits as a number."""
    long = "9" * 5000
    assert terms("ja", "en", f"{long}と{long}億") == [Term(long, long)]


@pytest.mark.parametrize(
    "piece", ["1", "-1", "1-", "1-1:", "1,111,", "1:", "1.", "1万", "1千", "1 ", "$1", "1年", " 1 million"]
)
def test_long_texts_take_a_time_that_is_linear_in_their_length(piece: str) -> None:
    """A third of a million characters are looked through within the limit of a test."""
    for source, target in (("ja", "en"), ("en", "ja"), ("ja", "zh")):
        terms(source, target, f"{piece * (300_000 // len(piece))}a")


def test_what_is_a_term_or_a_word_already_is_no_number() -> None:
    """Nor is what a stand-in is read for."""
    spelling = Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source))
    spelt = spelling.of("{name}の1200円と、ISBN 4473032450と、創業1500年と、¥1,300")
    glossary = Glossary([Term("創業1500年", "since 500")])
    found = with_terms(spelt, glossary, Script.of("ja"), Numbers.of("ja", "en"))
    assert [term.target for term in found.terms] == ["since 500", "ISBN 4473032450", "1200 yen"]
    assert with_terms(spelt, NO_TERMS, None, None) is spelt


@pytest.mark.parametrize(
    ("languages", "text", "right", "wrong"),
    [
        (
            "ja en",
            "10ms",
            ["10 ms", "10ms", "a 10-ms delay", "10 milliseconds", "ten milliseconds"],
            ["10 m", "10 meters", "10"],
        ),
        ("ja en", "500kW", ["500 kW", "500 kilowatts", "500-kilowatt"], ["500 kg", "500 K", "500 kw", "1,500 kW"]),
        ("ja en", "2.4mm", ["2.4 millimetres"], ["2.4 m"]),
        ("en ja", "16 GB", ["16GBの", "16 GB", "16ギガバイト"], ["16B", "16ギガ", "6GB", "16"]),
        ("en ja", "500 kcal", ["500キロカロリー", "500カロリー"], ["500キロ", "500km"]),
        ("en ja", "1,500 rpm", ["1500回転", "1,500rpm"], ["1,500分"]),
        ("en zh", "10 ms", ["10毫秒", "10ms"], ["毫秒"]),
    ],
)
def test_units_that_models_make_others_of_are_told_apart(
    languages: str, text: str, right: list[str], wrong: list[str]
) -> None:
    """What was 10 ms is not said by "10 meters"; a language whose names are not known here may have any word."""
    (term,) = terms(*languages.split(), text)
    assert [each for each in (*right, *wrong) if term.is_said(each)] == right
