"""Contrastive sets are read completely and as they are meant, or refused with the file and the reason."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from models.errors import DataError
from models.evaluation.contrastive_sets import ContrastiveItem, read_contrastive


def line(**changes: Any) -> dict[str, Any]:
    """Make an item in the format of the pronoun sets."""
    return {
        "document": "D1",
        "position": 3,
        "pronoun": "she",
        "context_source": ["一。", "二。", "三。"],
        "context_target": ["One.", "Two.", "Three."],
        "source": "寝た。",
        "target": "She slept.",
        "contrastive": ["He slept.", "It slept."],
    } | changes


def write(folder: Path, *lines: dict[str, Any] | str) -> Path:
    """Write a set of items, or of lines as they are."""
    path = folder / "set.jsonl"
    texts = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def test_items_are_read_as_they_are_written(tmp_path: Path) -> None:
    """A line has the document, the class, the context in both languages, and the variants."""
    assert read_contrastive(write(tmp_path, line())) == [
        ContrastiveItem(
            document="D1",
            label="she",
            sources=("一。", "二。", "三。", "寝た。"),
            right=("One.", "Two.", "Three.", "She slept."),
            wrong=(("One.", "Two.", "Three.", "He slept."), ("One.", "Two.", "Three.", "It slept.")),
        )
    ]


def test_unicode_line_separators_and_empty_lines_do_not_divide_items(tmp_path: Path) -> None:
    """Only a line feed ends an item, and an empty line is no item."""
    items = read_contrastive(write(tmp_path, line(source="a\u2028b"), "", line()))
    assert [each.sources[-1] for each in items] == ["a\u2028b", "寝た。"]


def test_duplicates_among_the_variants_are_dropped(tmp_path: Path) -> None:
    """A wrong variant equal to the right one could only tie; equal wrong ones count once."""
    wrong = ["She slept.", "He slept.", "It slept.", "He slept."]
    (found,) = read_contrastive(write(tmp_path, line(contrastive=wrong)))
    assert [variant[-1] for variant in found.wrong] == ["He slept.", "It slept."]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "is not a contrastive item"),
        ('"text"', "is not a contrastive item"),
        (line(source=None), "source: Input should be a valid string"),
        ({key: value for key, value in line().items() if key != "pronoun"}, "pronoun: Field required"),
        (line(context_target=["One.", 2, "Three."]), "context_target: 1: Input should be"),
        (line(context_target=["One."]), "contexts of different lengths"),
        (line(contrastive=["She slept."]), "no wrong variant"),
        (line(source=" "), "has an empty source"),
        (line(target=""), "has an empty translation"),
        (line(contrastive=["He slept.", "\u3000"]), "has an empty translation"),
    ],
)
def test_a_malformed_item_is_refused(tmp_path: Path, bad: dict[str, Any] | str, reason: str) -> None:
    """The error names the file, the line and what is wrong with it."""
    path = write(tmp_path, line(), bad)
    with pytest.raises(DataError, match=reason) as caught:
        read_contrastive(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_a_set_that_is_not_utf8_missing_or_empty_is_refused(tmp_path: Path) -> None:
    """Each has its own error; none gives an empty result."""
    with pytest.raises(DataError, match="no such file"):
        read_contrastive(tmp_path / "missing.jsonl")
    path = write(tmp_path, "")
    with pytest.raises(DataError, match="has no item"):
        read_contrastive(path)
    path.write_bytes(b'{"document": "\xff"}\n')
    with pytest.raises(DataError, match=r"set\.jsonl:1: is not a contrastive item"):
        read_contrastive(path)


def passage(**changes: Any) -> dict[str, Any]:
    """Make an item in the format of Voita's sets."""
    return {
        "src": "One . _eos Two . _eos You ?",
        "dst": ["a . _eos b . _eos du ?", "a . _eos b . _eos ihr ?", "a . _eos b . _eos er ?"],
        "true_ind": 1,
        "ctx_dist": 2,
    } | changes


def write_passages(folder: Path, *passages: Any, name: str = "deixis_dev.json") -> Path:
    """Write a set of passages."""
    path = folder / name
    text = json.dumps(passages).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("name", ["deixis_dev.json", "deixis_dev.json.gz"])
def test_passages_are_read_as_they_are_meant(tmp_path: Path, name: str) -> None:
    """A passage has sentences, variants, of which `true_ind` is right, a distance, and the set's name as class."""
    (found,) = read_contrastive(write_passages(tmp_path, passage(), name=name))
    assert (found.label, found.distance) == ("deixis_dev", "2")
    assert found.sources == ("One .", "Two .", "You ?")
    assert found.right == ("a .", "b .", "ihr ?")
    assert [variant[-1] for variant in found.wrong] == ["du ?", "er ?"]


def test_wrong_passages_that_repeat_the_right_one_are_dropped(tmp_path: Path) -> None:
    """The published ellipsis sets have such variants."""
    same = passage()["dst"][1]
    (found,) = read_contrastive(write_passages(tmp_path, passage(dst=[*passage()["dst"], same])))
    assert len(found.wrong) == 2


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"src": 1}, "src: Input should be a valid string"),
        (passage(true_ind=3), "has 3 variants, but no variant 3"),
        (passage(dst=["a . _eos du ?", "a . _eos ihr ?"]), "whose number of sentences differs"),
        (passage(src="One . _eos Two . _eos "), r"deixis_dev\.json:2: has an empty source"),
        (passage(dst=["a . _eos b . _eos ", passage()["dst"][1]]), r"deixis_dev\.json:2: has an empty translation"),
    ],
)
def test_a_malformed_passage_is_refused(tmp_path: Path, bad: dict[str, Any], reason: str) -> None:
    """The error names the file and what is wrong."""
    with pytest.raises(DataError, match=reason):
        read_contrastive(write_passages(tmp_path, passage(), bad))
    for text in ("[{", "[" * 100_000):
        (tmp_path / "broken.json").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="is not JSON"):
            read_contrastive(tmp_path / "broken.json")


CONTRAPRO = {
    "x.text.en": ["It is here.", "It is here.", "It is here.", "It came.", "It came."],
    "x.text.de": ["Sie ist da.", "Er ist da.", "Es ist da.", "Es kam.", "Er kam."],
    "x.context.en": ["The cat.", "The cat.", "The cat.", "", ""],
    "x.context.de": ["Die Katze.", "Die Katze.", "Die Katze.", "", ""],
    "sentence_groups.txt": ["0", "3", "5"],
}
"""As in the published set, the groups end with the number after the last line."""


@pytest.fixture
def contrapro(tmp_path: Path) -> Path:
    """A folder in the format of ContraPro."""
    folder = tmp_path / "contrapro-en-de"
    folder.mkdir()
    for name, lines in CONTRAPRO.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def test_contrapro_is_read_by_groups(contrapro: Path) -> None:
    """The first line of a group is right, and its pronoun is the class; a group may have no context."""
    first, second = read_contrastive(contrapro)
    assert (first.label, first.sources) == ("sie", ("The cat.", "It is here."))
    assert first.right == ("Die Katze.", "Sie ist da.")
    assert [variant[-1] for variant in first.wrong] == ["Er ist da.", "Es ist da."]
    assert (second.label, second.sources, second.right) == ("es", ("It came.",), ("Es kam.",))


def test_contrapro_that_does_not_fit_together_is_refused(contrapro: Path) -> None:
    """Files of different lengths, missing files, groups beyond the text, and malformed numbers each have an error."""
    (contrapro / "sentence_groups.txt").write_text("0\n6\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"names line 6 \(from 0\), but the text has only 5"):
        read_contrastive(contrapro)
    (contrapro / "x.text.de").write_text("Sie ist da.\n", encoding="utf-8")
    with pytest.raises(DataError, match="different numbers of lines"):
        read_contrastive(contrapro)
    (contrapro / "x.text.de").unlink()
    with pytest.raises(DataError, match=r"\*\.text\.L for"):
        read_contrastive(contrapro)
    for text in ("zero\n", "²\n"):
        (contrapro / "sentence_groups.txt").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="a line number on each line"):
            read_contrastive(contrapro)


@pytest.mark.parametrize(("side", "what"), [("en", "source"), ("de", "translation")])
def test_contrapro_without_the_sentence_in_question_is_refused(contrapro: Path, side: str, what: str) -> None:
    """The context is not taken for it; the error names the line of its group."""
    lines = CONTRAPRO[f"x.text.{side}"]
    (contrapro / f"x.text.{side}").write_text("\n".join(["", *lines[1:3], " ", *lines[4:]]) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"contrapro-en-de:1: has an empty {what}"):
        read_contrastive(contrapro)


@pytest.mark.skipif("ANTECEDENT_DATA" not in os.environ, reason="needs the corpora that ANTECEDENT_DATA names")
def test_published_sets_are_read_whole() -> None:
    """They have as many items and classes as their descriptions say."""
    folder = Path(os.environ["ANTECEDENT_DATA"])
    labels = [item.label for item in read_contrastive(folder / "kyoto-ja-en/pronouns.dev.contrastive.jsonl")]
    assert Counter(labels) == {"he": 134, "she": 93, "it": 50}
    for name in ("deixis_dev", "lex_cohesion_dev"):
        items = read_contrastive(folder / f"contrastive/voita-en-ru/{name}.json.gz")
        assert len(items) == 500
        assert {item.distance for item in items} == {"1", "2", "3"}
    contrapro = read_contrastive(folder / "contrastive/contrapro-en-de")
    assert Counter(item.label for item in contrapro) == {"es": 4000, "sie": 4000, "er": 4000}
    assert sum(1 + len(item.wrong) for item in contrapro) <= 36_031
