"""A contrastive item is won only if the right translation scores strictly best, in the context that was asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any, get_args

import pytest

from models.config import ContextWindow
from models.data.documents import Sentence, Window
from models.data.replacement import Replacement
from models.errors import DataError
from models.evaluation.contrastive import ContrastiveScores, Rule, accuracies, outcomes_of, with_own_translations
from models.evaluation.contrastive_sets import ContrastiveItem


def contrast(*arguments: Any, **options: Any) -> ContrastiveScores:
    """The accuracies of a scorer; takes the arguments of `outcomes_of`."""
    return accuracies(outcomes_of(*arguments, **options))


@dataclass
class Judge:
    """A scorer that applies a rule to the target text, and records what it was given."""

    rule: Callable[[str], float]
    seen: list[tuple[Window, str]] = field(default_factory=list)

    def score(self, windows: Sequence[Window], targets: Sequence[str]) -> list[float]:
        """Score each target by the rule."""
        self.seen = list(zip(windows, targets, strict=True))
        return [self.rule(target) for target in targets]


def item(label: str, document: str = "D1", wrong: int = 2) -> ContrastiveItem:
    """Make an item whose right translation is `right LABEL`, with two sentences of context."""
    sources, before = (tuple(f"{document} {side} {i}" for i in range(2)) for side in ("source", "target"))
    variants = tuple((*before, f"wrong {label} {i}") for i in range(wrong))
    return ContrastiveItem(document, label, (*sources, f"{document} now"), (*before, f"right {label}"), variants)


def scores_of(right: float, *wrong: float) -> float:
    """Return the accuracy on one item with these scores."""
    table = {"right she": right} | {f"wrong she {i}": score for i, score in enumerate(wrong)}
    return contrast(Judge(table.__getitem__), [item("she", wrong=len(wrong))], ContextWindow(size=1)).accuracy


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
    """A model that cannot distinguish the variants gets 0, not chance level."""
    result = contrast(Judge(lambda _: -1.0), [item("she"), item("he")], ContextWindow(size=1))
    assert (result.accuracy, result.macro, result.by_class) == (0, 0, {"he": 0, "she": 0})


def test_macro_is_the_mean_of_the_classes() -> None:
    """With all three `he` right and the one `she` wrong, 75 % of the items are right, but 50 % by class."""
    judge = Judge(lambda text: 1.0 if text == "right he" else 0.0)
    result = contrast(judge, [item("he"), item("she"), item("he"), item("he")], ContextWindow(size=1))
    assert (result.accuracy, result.macro, result.items) == (0.75, 0.5, 4)
    assert result.by_class == {"he": 1.0, "she": 0.0}


@pytest.mark.parametrize(("size", "expected"), [(0, []), (1, ["D1 source 1"]), (2, ["D1 source 0", "D1 source 1"])])
def test_context_is_what_stands_just_before(size: int, expected: list[str]) -> None:
    """The window is the end of the context, in source and translation, oldest first."""
    judge = Judge(len)
    contrast(judge, [item("she")], ContextWindow(size=size))
    for window, _ in judge.seen:
        assert [sentence.source for sentence in window.preceding] == expected
        assert [sentence.target for sentence in window.preceding] == [s.replace("source", "target") for s in expected]


@pytest.mark.parametrize("size", [3, 10])
def test_a_window_longer_than_the_context_takes_all_of_it(size: int) -> None:
    """If there are fewer sentences than asked for, all of them are given."""
    judge = Judge(len)
    contrast(judge, [item("she")], ContextWindow(size=size))
    assert [len(window.preceding) for window, _ in judge.seen] == [2, 2, 2]


def test_every_variant_is_scored_in_the_same_window() -> None:
    """All variants of an item are judged with the same context, which does not reveal the right one."""
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
    """Scores that cannot be assigned to their variants are an error, rather than shifted."""

    class Dropping(Judge):
        def score(self, windows: Sequence[Window], targets: Sequence[str]) -> list[float]:
            return super().score(windows, targets)[:-1]

    with pytest.raises(ValueError, match="2 scores of 3 translations"):
        contrast(Dropping(len), [item("she")], ContextWindow(size=1))


def passage(*variants: tuple[str, ...], distance: str | None = None) -> ContrastiveItem:
    """An item of three source sentences; the first variant is right."""
    return ContrastiveItem("D", "set", ("one", "two", "three"), variants[0], variants[1:], distance)


def test_a_variant_is_the_context_of_its_own_sentences() -> None:
    """Variants that differ in an earlier sentence are judged on the last one, each after its own earlier ones."""
    judge = Judge(len)
    contrast(judge, [passage(("a", "b", "c"), ("a", "x", "c"))], ContextWindow(size=1))
    assert [window.preceding for window, _ in judge.seen] == [(Sentence("two", "b"),), (Sentence("two", "x"),)]
    assert [target for _, target in judge.seen] == ["c", "c"]


@dataclass
class Said:
    """A translation."""

    text: str
    tokens: int = 1


@dataclass
class Repeater:
    """A translator that repeats the preceding translations, and then the source sentence."""

    reads_target: bool

    def translate(self, windows: Sequence[Window]) -> list[Said]:
        """Join the translations before each sentence with the sentence."""
        return [Said(" ".join([*(s.target or "" for s in one.preceding), one.current.source])) for one in windows]


def test_own_translations_precede_the_sentence_in_question() -> None:
    """A model that reads translations is judged after its own, each made in turn, and never after references."""
    items = [passage(("a", "b", "c"), ("a", "x", "d")), passage(("e", "f", "g"), ("e", "f", "h"))]
    first, second = with_own_translations(Repeater(reads_target=True), items, ContextWindow(size=1))
    assert (first.right, first.wrong) == (("one", "one two", "c"), (("one", "one two", "d"),))
    assert (second.right[-1], second.wrong[0][-1]) == ("g", "h")
    assert with_own_translations(Repeater(reads_target=False), items, ContextWindow(size=1)) == items


def test_what_differs_earlier_alone_is_refused_before_anything_is_translated() -> None:
    """Earlier sentences are replaced by own translations, so nothing would distinguish such variants."""

    class Unused(Repeater):
        def translate(self, windows: Sequence[Window]) -> list[Said]:
            raise AssertionError(windows)

    items = [passage(("a", "b", "c"), ("a", "b", "d")), passage(("a", "b", "c"), ("a", "x", "c"))]
    with pytest.raises(DataError, match="do not differ in its last sentence"):
        with_own_translations(Unused(reads_target=True), items, ContextWindow(size=1))


def test_group_counts_all_sentences_but_the_first_by_their_tokens() -> None:
    """(s2 + s3) / tokens, including ends of sentence: the longer variant wins by its mean, not by its sum."""
    scores = {"b": -4.0, "c": -4.0, "b b b": -5.0, "c c c": -5.0}
    judge = Judge(lambda text: scores[text])
    items = [passage(("a", "b b b", "c c c"), ("a", "b", "c"))]

    def accuracy(rule: Rule) -> float:
        count = lambda sentence: len((sentence.target or "").split())  # noqa: E731
        return contrast(judge, items, ContextWindow(size=2), rule=rule, count_tokens=count).accuracy

    assert accuracy("group") == 1  # -10 / 8 against -8 / 4
    assert accuracy("last") == 0  # -5 against -4
    scores |= {"b b b": -10.0, "c c c": -10.0}
    assert accuracy("group") == 0  # -20 / 8 against -8 / 4; without ends, -20 / 6 against -8 / 2


def test_replaced_contexts_of_a_group_are_of_their_own_sentences() -> None:
    """Each translation is scored with its own source."""
    judge = Judge(len)
    items = [passage(("a", "b", "c"), ("a", "b", "d"))]
    contrast(judge, items, ContextWindow(size=2), rule="group", replacement=Replacement("empty"))
    assert [(window.current.source, target) for window, target in judge.seen] == [
        ("two", "b"),
        ("three", "c"),
        ("three", "d"),
    ]


def test_what_variants_share_is_scored_once() -> None:
    """The second sentence, which is the same in both variants and in the same context, is scored only once."""
    judge = Judge(len)
    contrast(judge, [passage(("a", "b", "c"), ("a", "b", "d"))], ContextWindow(size=2), rule="group")
    assert [target for _, target in judge.seen] == ["b", "c", "d"]


def test_accuracy_by_distance() -> None:
    """Items are counted by the distance to what decides them; a set without distances has no such figures."""
    judge = Judge(lambda text: 1.0 if text == "right" else 0.0)
    near = passage(("a", "b", "right"), ("a", "b", "x"), distance="1")
    far = passage(("a", "b", "x"), ("a", "b", "right"), distance="3")
    assert contrast(judge, [near, far, near], ContextWindow(size=2)).by_distance == {"1": 1.0, "3": 0.0}
    assert contrast(judge, [item("she")], ContextWindow(size=2)).by_distance == {}


@pytest.mark.parametrize(
    ("length", "size", "expected"),
    [(4, 0, []), (4, 1, ["2"]), (4, 2, ["1", "2"]), (5, 3, ["1", "2", "3"]), (4, 19, ["0", "1", "2"])],
)
def test_a_block_ends_with_the_sentence_in_question(length: int, size: int, expected: list[str]) -> None:
    """With both rules, it has as much context as a block allows, however long the passage is."""
    judge = Judge(len)
    sources = tuple(map(str, range(length)))
    long = ContrastiveItem("D", "set", sources, ("a",) * length, (("b",) * length,))
    block = ContextWindow(kind="block", size=size, following=size)
    for rule in get_args(Rule):
        contrast(judge, [long], block, rule=rule)
        read = {tuple(s.source for s in w.preceding) for w, _ in judge.seen if w.current.source == sources[-1]}
        assert read == {tuple(expected)}


def test_sentences_of_a_passage_share_their_block() -> None:
    """With the rule `group` and blocks of two, counted from the end, no sentence reads beyond its block."""
    judge = Judge(len)
    five = ContrastiveItem("D", "set", ("0", "1", "2", "3", "4"), ("a",) * 5, (("b",) * 5,))
    contrast(judge, [five], ContextWindow(kind="block", size=1, following=1), rule="group")
    read = {w.current.source: [[s.source for s in side] for side in (w.preceding, w.following)] for w, _ in judge.seen}
    assert read == {"1": [[], ["2"]], "2": [["1"], []], "3": [[], ["4"]], "4": [["3"], []]}


def test_sentences_after_the_one_in_question_are_read_without_their_translations() -> None:
    """An architecture that reads following sentences sees their sources, but not the variant."""
    judge = Judge(len)
    contrast(judge, [passage(("a", "b", "c"), ("a", "x", "c"))], ContextWindow(size=1, following=1), rule="group")
    assert judge.seen[0][0].following == (Sentence("three"),)
