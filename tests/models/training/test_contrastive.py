"""A contrastive item is won by the right translation alone, outright, and with the context that was asked for."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from models.config import ContextWindow
from models.data.documents import Sentence, Window
from models.data.replacement import Replacement
from models.errors import DataError
from models.training.contrastive import ContrastiveItem, contrast, read_contrastive


@dataclass
class Judge:
    """A scorer by a rule on the target text, which remembers what it was given."""

    rule: Callable[[str], float]
    seen: list[tuple[Window, str]] = field(default_factory=list)

    def score(self, windows: Sequence[Window], targets: Sequence[str]) -> list[float]:
        """Score each target by the rule."""
        self.seen = list(zip(windows, targets, strict=True))
        return [self.rule(target) for target in targets]


def line(**changes: Any) -> dict[str, Any]:
    """Make an item as the pronoun sets have it."""
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


def item(label: str, document: str = "D1", wrong: int = 2) -> ContrastiveItem:
    """Make an item whose right translation is `right LABEL`, with two sentences of context."""
    context = tuple(Sentence(f"{document} source {i}", f"{document} target {i}") for i in range(2))
    variants = tuple(f"wrong {label} {i}" for i in range(wrong))
    return ContrastiveItem(document, 2, label, Window(Sentence(f"{document} now"), context), f"right {label}", variants)


def scores_of(right: float, *wrong: float) -> float:
    """Give the accuracy on one item with these scores."""
    table = {"right she": right} | {f"wrong she {i}": score for i, score in enumerate(wrong)}
    return contrast(Judge(table.__getitem__), [item("she", wrong=len(wrong))], ContextWindow(size=1)).accuracy


def test_items_are_read_as_they_are_written(tmp_path: Path) -> None:
    """A line gives document, position, class, context on both sides, and the variants."""
    assert read_contrastive(write(tmp_path, line())) == [
        ContrastiveItem(
            document="D1",
            position=3,
            label="she",
            window=Window(
                Sentence("寝た。"), (Sentence("一。", "One."), Sentence("二。", "Two."), Sentence("三。", "Three."))
            ),
            right="She slept.",
            wrong=("He slept.", "It slept."),
        )
    ]


def test_unicode_line_separators_and_empty_lines_do_not_divide_items(tmp_path: Path) -> None:
    """Only a line feed ends an item, and an empty line is none."""
    items = read_contrastive(write(tmp_path, line(source="a\u2028b"), "", line()))
    assert [each.window.current.source for each in items] == ["a\u2028b", "寝た。"]


def test_duplicates_among_the_variants_are_dropped(tmp_path: Path) -> None:
    """A wrong variant equal to the right one could only tie; equal wrong ones count once."""
    wrong = ["She slept.", "He slept.", "It slept.", "He slept."]
    assert read_contrastive(write(tmp_path, line(contrastive=wrong)))[0].wrong == ("He slept.", "It slept.")


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
    ],
)
def test_a_malformed_item_is_refused(tmp_path: Path, bad: dict[str, Any] | str, reason: str) -> None:
    """The error names file, line and what is wrong with it."""
    path = write(tmp_path, line(), bad)
    with pytest.raises(DataError, match=reason) as caught:
        read_contrastive(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_a_set_that_is_not_utf8_missing_or_empty_is_refused(tmp_path: Path) -> None:
    """Each has an error of its own, none an empty result."""
    with pytest.raises(DataError, match="no such file"):
        read_contrastive(tmp_path / "missing.jsonl")
    path = write(tmp_path, "")
    with pytest.raises(DataError, match="has no item"):
        read_contrastive(path)
    path.write_bytes(b'{"document": "\xff"}\n')
    with pytest.raises(DataError, match=r"set\.jsonl:1: is not a contrastive item"):
        read_contrastive(path)


@pytest.mark.parametrize(
    ("scores", "accuracy"),
    [
        ((-1.0, -2.0, -3.0), 1),
        ((-2.0, -1.0, -3.0), 0),
        ((-2.0, -3.0, -1.0), 0),
        ((-1.0, -1.0, -3.0), 0),
        ((nan, -1.0, -2.0), 0),
        ((-1.0, nan, -2.0), 0),
        ((nan, nan, nan), 0),
        ((-inf, -inf), 0),
        ((-1.0, -inf), 1),
    ],
)
def test_only_a_strict_win_over_every_variant_counts(scores: tuple[float, ...], accuracy: float) -> None:
    """A tie is lost, NaN on either side is lost, and beating one variant of two is not enough."""
    assert scores_of(*scores) == accuracy


def test_a_scorer_that_always_ties_is_never_right() -> None:
    """A model that cannot tell the variants apart gets nought, not chance."""
    result = contrast(Judge(lambda _: -1.0), [item("she"), item("he")], ContextWindow(size=1))
    assert (result.accuracy, result.macro, result.by_class) == (0, 0, {"he": 0, "she": 0})


def test_macro_is_the_mean_of_the_classes() -> None:
    """Three of three `he` and none of one `she` are 75 % of the items, and 50 % of the classes."""
    judge = Judge(lambda text: 1.0 if text == "right he" else 0.0)
    result = contrast(judge, [item("he"), item("she"), item("he"), item("he")], ContextWindow(size=1))
    assert (result.accuracy, result.macro, result.items) == (0.75, 0.5, 4)
    assert result.by_class == {"he": 1.0, "she": 0.0}


@pytest.mark.parametrize(("size", "expected"), [(0, []), (1, ["D1 source 1"]), (2, ["D1 source 0", "D1 source 1"])])
def test_context_is_what_stands_just_before(size: int, expected: list[str]) -> None:
    """The window is the end of the context, source and translation, oldest first."""
    judge = Judge(len)
    contrast(judge, [item("she")], ContextWindow(size=size))
    for window, _ in judge.seen:
        assert [sentence.source for sentence in window.preceding] == expected
        assert [sentence.target for sentence in window.preceding] == [s.replace("source", "target") for s in expected]


@pytest.mark.parametrize("size", [3, 10])
def test_a_window_longer_than_the_context_takes_all_of_it(size: int) -> None:
    """More sentences asked for than are there: all that are there are given."""
    judge = Judge(len)
    contrast(judge, [item("she")], ContextWindow(size=size))
    assert [len(window.preceding) for window, _ in judge.seen] == [2, 2, 2]


def test_every_variant_is_scored_in_the_same_window() -> None:
    """All variants of an item are judged with the same context, and the right one is not told."""
    judge = Judge(len)
    contrast(judge, [item("she", "D1"), item("he", "D2", wrong=1)], ContextWindow(size=2))
    assert [text for _, text in judge.seen] == ["right she", "wrong she 0", "wrong she 1", "right he", "wrong he 0"]
    assert [window.current for window, _ in judge.seen] == [Sentence("D1 now")] * 3 + [Sentence("D2 now")] * 2
    assert len({window for window, _ in judge.seen}) == 2


def test_replaced_context_reaches_the_scorer() -> None:
    """With shuffled context no item sees its own document, and its variants still share a window."""
    judge = Judge(len)
    items = [item("she", "D1"), *(item(label, "D2") for label in ("he", "it", "they"))]
    contrast(judge, items, ContextWindow(size=2), replacement=Replacement("shuffled"))
    for window, _ in judge.seen:
        own = window.current.source[:2]
        assert [sentence.source[:2] != own for sentence in window.preceding] == [True, True]
    for start in range(0, len(judge.seen), 3):
        assert len({window for window, _ in judge.seen[start : start + 3]}) == 1


def test_a_scorer_that_leaves_out_a_score_does_not_pass() -> None:
    """Scores that cannot be assigned to their variants are an error, not a shift."""

    class Dropping(Judge):
        def score(self, windows: Sequence[Window], targets: Sequence[str]) -> list[float]:
            return super().score(windows, targets)[:-1]

    with pytest.raises(ValueError, match="2 scores of 3 translations"):
        contrast(Dropping(len), [item("she")], ContextWindow(size=1))


@pytest.mark.skipif("ANTECEDENT_DATA" not in os.environ, reason="needs the corpora that ANTECEDENT_DATA names")
def test_the_pronoun_set_is_read_whole() -> None:
    """The development set has the items that its description counts."""
    path = Path(os.environ["ANTECEDENT_DATA"]) / "kyoto-ja-en/pronouns.dev.contrastive.jsonl"
    labels = [each.label for each in read_contrastive(path)]
    assert {label: labels.count(label) for label in set(labels)} == {"he": 134, "she": 93, "it": 50}
