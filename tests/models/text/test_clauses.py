import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.clauses import attach, join_translations, pack, split_clauses, split_within
from models.text.words import has_words

TEXTS = st.text(alphabet="あい、。「」,.!? 1aé\n；", max_size=60)


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("京都は、古い都である。", ["京都は、", "古い都である。"]),
        ("「行く。」と言い、去った", ["「行く。」", "と言い、", "去った"]),
        ("It costs 3,000.50, at 12:30; no more.", ["It costs 3,000.50,", " at 12:30;", " no more."]),
        ("１，２３４人、１２：３０に、1：ア", ["１，２３４人、", "１２：３０に、", "1：", "ア"]),
        ('He said "no." Then he left', ['He said "no."', " Then he left"]),
        ("长句子；继续：结束！", ["长句子；", "继续：", "结束！"]),
        ('See <a title="b, c">d</a>, <i>e,</i> f', ['See <a title="b, c">d</a>,', " <i>e,</i>", " f"]),
        (
            "Call `f(a, b)`, {n, plural, one {# x, y} other {# z}}, c",
            ["Call `f(a, b)`,", " {n, plural, one {# x, y} other {# z}},", " c"],
        ),
        ("{% if a, b %}見よ、{{ 名、前 }}を", ["{% if a, b %}見よ、", "{{ 名、前 }}を"]),
        ("نعم، ہاں۔ ទៅ។ មក៕", ["نعم،", " ہاں۔", " ទៅ។", " មក៕"]),
        ("no boundary", ["no boundary"]),
        ("", []),
    ],
)
def test_clauses_end_with_their_marks(text: str, clauses: list[str]) -> None:
    """A clause ends after its mark and any closing quotes; commas and points inside numbers or times end none."""
    assert split_clauses(text) == clauses


@given(TEXTS)
def test_no_character_is_lost(text: str) -> None:
    """The clauses of any text, joined, are the text."""
    assert "".join(split_clauses(text)) == text


@given(TEXTS, st.integers(1, 20))
def test_parts_are_within_the_limit_and_as_few_as_possible(text: str, limit: int) -> None:
    """Parts join to the text; only a lone clause may exceed the limit; no part has room for the clause after it."""
    clauses = split_clauses(text)
    parts = pack(clauses, len, limit)
    assert "".join(parts) == text
    assert all(len(part) <= limit or part in clauses for part in parts)
    first_clauses = [split_clauses(part)[0] for part in parts[1:]]
    assert all(len(part + after) > limit for part, after in zip(parts, first_clauses, strict=False))


def test_a_placeholder_is_no_words_to_divide_a_text_between() -> None:
    """Spaces in it do not divide it, unless it exceeds the limit by itself."""
    assert split_within("one two {{ a b c }} three", len, 12) == ["one two ", "{{ a b c }} ", "three"]
    assert "".join(parts := split_within("{{ a b c d e }}", len, 8)) == "{{ a b c d e }}"
    assert max(map(len, parts)) <= 8


@given(TEXTS, st.integers(1, 20))
def test_parts_without_words_go_with_others(text: str, limit: int) -> None:
    """They are attached as far as there is room; nothing is lost."""
    parts = pack(split_clauses(text), len, limit)
    attached = attach(parts, len, 1000)
    assert "".join(attached) == text
    assert all(map(has_words, attached)) or len(attached) == 1 or not has_words(text)
    assert all(len(part) <= limit or part in parts for part in attach(parts, len, limit))


@pytest.mark.parametrize(
    ("language", "joined"),
    [("en", "a b"), ("ja", "ab"), ("zh-Hans", "ab"), ("zh_TW", "ab"), ("th", "a b"), ("ko", "a b")],
)
def test_translations_of_parts_are_joined_as_the_language_is_written(language: str, joined: str) -> None:
    """Languages with spaces have one between the translations of two parts; an empty translation adds none."""
    assert join_translations(["a", "", "b"], language) == joined
