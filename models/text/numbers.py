"""Numbers of a text, which its translation has to say as well.

A model reads a long number a few digits at a time, and now and then leaves some out, or says one twice: 20000 becomes
2000. So such numbers are terms: they are looked for in the translation, and if one is missing, the sentence is read
with a word in its place, which the model copies.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Final

from models.text.clock_times import english_clock_times, japanese_clock_times
from models.text.glossary import Term
from models.text.measures import NAMED, with_unit_in_words
from models.text.spacing import gap_of, primary
from models.text.temperatures import english_temperatures, japanese_temperatures
from models.text.units import RARE, SMALL, USUAL, has_names, names_of, said_with_unit, with_unit
from models.text.weekdays import UNREAD, english_weekdays, japanese_weekdays
from models.text.words import MYRIADS

_ALIKE: Final = frozenset({"en", "ja", "ko", "yue", "zh"})
"""Languages that write digits, decimals and thousands alike; others have 3,14 for 3.14."""
_DIGIT: Final = "[0-9０-９]"
_AMOUNT: Final = rf"{_DIGIT}++ (?: [,，] {_DIGIT}{{3}} (?!{_DIGIT}) )*+ (?: [.．] {_DIGIT}++ )?+"
_LARGE: Final = {
    "ja": rf"(?: {_AMOUNT} [十百千]?+ [万億兆] )++ (?: {_AMOUNT} [十百千]?+ )?+",
    "en": rf"(?: (?P<currency> (?:US)?+ \$ | [¥€£] ) [ ]?+ )?+ {_AMOUNT} [ -] (?i:thousand|million|billion|trillion)\b",
}
"""Numbers that other languages have other words for."""
_YEN: Final = {"ja": "円", "en": r"[ ]yen \b"}
"""Part of the number, as models leave it out beside a word that stands for one."""
_OF_DAY: Final = r"(?: T [0-9]{2}:[0-9]{2} (?: :[0-9]{2} (?:[.][0-9]++)?+ )?+ (?: Z | [+-][0-9]{2}:[0-9]{2} )?+ )?+"
"""The time in 2024-05-31T10:00:00Z, as programs write it."""
_MINUS: Final = rf"""
    (?: (?<! [A-Za-z\])}}）」』℃°%％年?？・～〜ァ-ヺー々\u3400-\u9fff-] ) (?<! {_DIGIT} ) (?<! {_DIGIT}[ ] ) [-−－]
      | [▲△] )
    (?= [0-9０-９.,．，]++ [ ]?+ (?: [%％℃°度円点十百千万億兆] | (?i:degrees|percent|points|yen|million|billion)\b ) )
"""
"""That of a range or a name is none, nor a triangle that is a move of shogi; accounts have it before such words."""
_CURRENCIES: Final = {"$": "ドル", "¥": "円", "€": "ユーロ", "£": "ポンド"}
_TENS: Final = {"十": 1, "百": 2, "千": 3}
_POWERS: Final = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "万": 4, "億": 8, "兆": 12}
_THOUSANDS: Final = {1000 * digit: f"{kanji}千" for digit, kanji in enumerate(["", *"二三四五六七八九"], start=1)}
_IN_WORDS: Final = {
    ("en", "ja"): (english_clock_times, english_weekdays, english_temperatures),
    UNREAD: (japanese_clock_times, japanese_weekdays, japanese_temperatures),
}
_NONE: Final = "(?!)"
_BELOW_ZERO: Final = {"en": ("minus ", "negative "), "ja": ("マイナス", "氷点下")}
_MOST_DIGITS: Final = 2
_MOST_DIGITS_OF_ENGLISH: Final = 4
"""How many digits a number without any sign may have that is no term: models are reliable with these.

In English such a number may be a year, of which Japanese makes 1869年 or 明治2年, but of a word in its place only 1869.
"""
_MOST_SAID: Final = 25
"""How many characters a number may have for other ways to say it."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """How numbers of one language are said in another one."""

    target: str
    pattern: re.Pattern[str]
    most_digits: int
    in_words: Sequence[Callable[[str], Iterator[Term]]]
    """What finds times, days of the week and temperatures that are no plain numbers."""

    @classmethod
    def of(cls, source: str, target: str) -> "Numbers | None":
        """Return the numbers of a language pair; None if the languages write numbers in different ways."""
        source, target = primary(source), primary(target)
        if source not in _ALIKE or target not in _ALIKE:
            return None
        known = source in _LARGE and target in _LARGE
        large, yen, named = (_LARGE[source], _YEN[source], NAMED[source]) if known else (_NONE, _NONE, _NONE)
        return cls(
            target,
            re.compile(
                rf"""
                (?<! [0-9０-９A-Za-z.．千천{MYRIADS}] ) (?<! [0-9０-９][,:/，：／] ) (?<! [A-Za-z]- ) (?<! [만억조][ ] )
                (?: (?<! {_DIGIT}- )
                      (?P<code> {_DIGIT}++ (?P<sign>[-/:：.．]) {_DIGIT}++ (?: (?P=sign) {_DIGIT}++ )++   # 2024-05-31
                          {_OF_DAY}
                        | (?= [0-9A-Za-z]{{7}} ) [0-9]++ [A-Za-z]++ [0-9] [0-9A-Za-z]*+ )              # 9f86d08
                  | (?P<time> {_DIGIT}{{1,3}} [:：] {_DIGIT}{{1,3}} )                                  # 12:30, and 3:2
                  | (?P<minus> {_MINUS} )?+ (?: (?P<large> {large} ) | (?P<amount> {_AMOUNT} ) )
                      (?: (?P<yen> {yen} ) | (?P<unit> {USUAL} ) | (?P<rare> {RARE} ) | (?P<named> {named} ) )?+ )
                (?! [,，.．]?+ {_DIGIT} | [A-Za-z千천{MYRIADS}] | [ -] (?i:thousand|million|billion|trillion)\b )
                """,
                re.VERBOSE | re.ASCII,
            ),
            _MOST_DIGITS_OF_ENGLISH if source == "en" else _MOST_DIGITS,
            _IN_WORDS.get((source, target), ()),
        )

    def terms(self, text: str) -> Iterator[Term]:
        """Yield the numbers of a text that a model may get wrong, as terms."""
        in_words = [term for terms in self.in_words for term in terms(text)]
        yield from in_words
        text = reduce(lambda rest, term: rest.replace(term.source, "\n"), in_words, text)
        for found in self.pattern.finditer(text):
            number = _normalized(found[0])
            if found["code"]:
                yield Term(found[0], number)
            elif found["time"]:
                yield Term(found[0], number, tuple(self._times(number)))
            elif found["large"]:
                if len(number) <= _MOST_SAID and (value := _value(number)):
                    said = self._said(value)
                    yield self._term(found, said[0], said[1:])
            elif found["minus"] or found["rare"] or found["named"] or self._may_be_wrong(_normalized(found["amount"])):
                yield self._of_amount(found, _normalized(found["amount"]))

    def _may_be_wrong(self, amount: str) -> bool:
        return len(amount) > (self.most_digits if amount.isdigit() else _MOST_DIGITS)

    def _of_amount(self, found: re.Match[str], amount: str) -> Term:
        digits = amount.replace(",", "")
        is_whole = digits.isdigit() and not digits.startswith("0") and len(digits) <= _MOST_SAID
        others = self._said(int(digits)) if is_whole else ()
        is_round = self.target == "ja" and is_whole and amount.endswith(",000") and len(digits) > len("9000")
        return self._term(found, others[0] if is_round else amount, others)

    def _term(self, found: re.Match[str], number: str, others: tuple[str, ...]) -> Term:
        """Return a number with its unit."""
        number, others = self._with_unit(found, number, others)
        if not found["minus"]:
            return Term(found[0], number, others)
        signs = ("-", "- ", "−", *_BELOW_ZERO.get(self.target, ()))
        negative = [f"{sign}{each}" for each in (number, *others) for sign in signs]
        return Term(found[0], negative[0], tuple(negative[1:]))

    def _with_unit(self, found: re.Match[str], number: str, others: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """Return a number with its unit, and what else is right; of some units, any other word is."""
        if rare := _normalized(found["rare"] or "").strip():
            forms = dict.fromkeys((number, *others, *(SMALL.get(number, ()) if self.target == "en" else ())))
            said = (
                *said_with_unit(forms, (rare, *names_of(rare, self.target)), self.target),
                *(() if has_names(self.target) else forms),
            )
            return with_unit(number, rare, gap_of(self.target)), said
        if found["named"]:
            return with_unit_in_words(number, others, found["named"], self.target)
        unit = _normalized(found["unit"] or "")
        unit = f"{gap_of(self.target)}{unit}" if unit.isalpha() else unit
        if found["yen"]:
            unit = {"ja": "円", "en": " yen"}[self.target]
        elif currency := found.groupdict().get("currency"):  # only English has it before the number
            unit = _CURRENCIES[currency[-1]]
        return (f"{number}{unit}", (*others, number)) if unit else (number, others)

    def _said(self, value: int) -> tuple[str, ...]:
        """Return how a language may write a whole number."""
        said = [f"{value:,}", f"{value}"]
        if self.target == "en":
            names = ("thousand", "million", "billion", "trillion")
            counted = [(each, name) for name in names if (each := _in(value, name))]
            said += [
                f"{word} {name}"
                for each, name in counted
                for word in (each, f"{Decimal(each):,}", *SMALL.get(each, ()))
            ]
        elif self.target == "ja":
            said = [*(_in_myriads(value, form) for form in ("", ",", "千")), *said, _THOUSANDS.get(value, "")]
        return tuple(dict.fromkeys(filter(None, said)))

    def _times(self, number: str) -> Iterator[str]:
        """Yield how a language may say a time, on a clock of 12 or 24 hours, or a ratio."""
        hours, minutes = map(int, number.split(":"))
        for hour in (hours, hours - 12 if hours > 12 else hours + 12):
            if self.target == "ja":
                said = {0: f"{hour}時", 30: f"{hour}時半"}
                yield from filter(None, (f"{hour}時{minutes}分", f"{hour}時{minutes:02}分", said.get(minutes)))
            else:
                yield f"{hour}:{minutes:02}"
        yield number.replace(":", "対" if self.target == "ja" else " to ")


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _value(number: str) -> int | None:
    """Return the value of a large number in words and digits; None if it is no whole number."""
    value, part = Decimal(), Decimal()
    for digits, word in re.findall(r"([0-9.,]*)[ -]?(thousand|[mbtr]+illion|[十百千万億兆])?", number.lower()):
        part += Decimal(digits.replace(",", "") or 0)
        if word in _TENS:
            part = part.scaleb(_TENS[word])
        elif word:
            value, part = value + part.scaleb(_POWERS[word]), Decimal()
    value += part
    return int(value) if value == int(value) else None


def _in(value: int, name: str) -> str:
    """Return a number in millions, or other units; nothing if it is less than one, or has many digits then."""
    said = f"{Decimal(value).scaleb(-_POWERS[name]).normalize():f}"
    return said if len(said) <= len("123.45") and not said.startswith("0") else ""


def _in_myriads(value: int, form: str) -> str:
    """Return a number as Japanese writes it: 1億2500万; with commas, 1億2,500万; with 千, 5千万."""
    said = ""
    for power, name in ((12, "兆"), (8, "億"), (4, "万"), (0, "")):
        part, value = divmod(value, 10**power)
        if part and part % 1000 == 0 and form == "千":
            said += f"{part // 1000}千{name}"
        elif part:
            said += f"{part:{form.strip('千')}}{name}"
    return said
