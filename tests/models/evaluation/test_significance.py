"""Differences by chance are told from real ones; items of one document are not independent of each other."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.errors import DataError
from models.evaluation.contrastive import Outcome
from models.evaluation.significance import compare_outcomes, read_outcomes, write_outcomes


def outcomes(rights: dict[str, list[bool]], label: str = "he") -> list[Outcome]:
    """Items of one class, by document."""
    return [Outcome(document, label, right) for document, each in rights.items() for right in each]


def test_a_system_that_is_right_more_often_everywhere_is_better() -> None:
    """In each of forty documents, the system gets one item more right, and in a few of them two."""
    baseline = outcomes({f"d{i}": [True, False, False] for i in range(40)})
    system = outcomes({f"d{i}": [True, True, i % 10 == 0] for i in range(40)})
    found = compare_outcomes(baseline, system)["accuracy"]
    assert (found.baseline, found.system) == (pytest.approx(1 / 3), pytest.approx(0.7))
    assert found.p_value < 0.01


def test_a_difference_by_chance_is_called_so() -> None:
    """Two systems that toss a coin for each item differ, but not significantly."""
    coin = random.Random(3)
    thrown = [outcomes({f"d{i}": [coin.random() < 0.5 for _ in range(3)] for i in range(40)}) for _ in range(2)]
    found = compare_outcomes(*thrown)["accuracy"]
    assert found.baseline != found.system
    assert found.p_value > 0.05


def test_a_difference_in_either_direction_counts() -> None:
    """60 documents better and 40 worse differ by two standard errors, which chance exceeds once in 24 times."""
    better = [outcomes({f"d{i}": [(i < 60) == right] for i in range(100)}) for right in (False, True)]
    for pair in (better, better[::-1]):
        assert compare_outcomes(*pair)["accuracy"].p_value == pytest.approx(0.041, abs=0.012)


def test_items_of_one_document_are_one_piece_of_evidence() -> None:
    """Thirty items gained are significant if spread over many documents, but not if all are in one of two."""
    spread = [{f"d{i}": [i % 2 == 0 or better] for i in range(60)} for better in (False, True)]
    assert compare_outcomes(*map(outcomes, spread))["accuracy"].p_value < 0.01
    lumped = [{"a": [True] * 30, "b": [better] * 30} for better in (False, True)]
    assert compare_outcomes(*map(outcomes, lumped))["accuracy"].p_value > 0.2


@pytest.mark.parametrize(("documents", "smallest"), [(2, 0.5), (5, 0.0625), (9, 0.0039), (12, 0.001)])
def test_few_documents_are_little_evidence(documents: int, smallest: float) -> None:
    """However many items each gains, five documents would all change in the same direction 1 in 16 times by chance."""
    better = [outcomes({f"d{i}": [right] * 9 for i in range(documents)}) for right in (False, True)]
    assert compare_outcomes(*better)["accuracy"].p_value == pytest.approx(smallest, abs=1e-4)


def test_one_document_is_no_evidence() -> None:
    """All samples of it are the same, and say nothing about other documents."""
    better = [outcomes({"a": [True] * 5 + [right] * 5}) for right in (False, True)]
    found = compare_outcomes(*better)
    assert found["accuracy"].p_value == found["macro"].p_value == 1.0


def test_macro_counts_each_class_alike() -> None:
    """A rare class changes the mean of the classes a lot, and the accuracy hardly."""
    common = {f"d{i}": [True] * 9 for i in range(20)}
    rare = [{f"d{i}": [better] for i in range(20)} for better in (False, True)]
    baseline, system = (outcomes(common) + outcomes(each, "she") for each in rare)
    found = compare_outcomes(baseline, system)
    assert (found["macro"].baseline, found["macro"].system) == (0.5, 1.0)
    assert (found["accuracy"].baseline, found["accuracy"].system) == (0.9, 1.0)


def test_no_difference_is_chance() -> None:
    """A system is not better than itself, whichever documents are sampled."""
    same = outcomes({f"d{i}": [i % 3 == 0] for i in range(12)})
    found = compare_outcomes(same, same)
    assert found["accuracy"].p_value == found["macro"].p_value == 1.0


def test_a_class_that_a_sample_lacks_is_no_error() -> None:
    """Many samples lack a class that has only one item."""
    both = [*outcomes({f"d{i}": [True] for i in range(20)}), Outcome("d0", "it", False)]
    assert compare_outcomes(both, both)["macro"].system == 0.5


def test_a_class_that_a_sample_lacks_does_not_count_in_it() -> None:
    """All 40 documents are better, except in a class that only one has; the 1 in 3 samples without it are far off."""
    worse, better = (outcomes({f"d{i}": [True, right, False] for i in range(40)}) for right in (False, True))
    found = compare_outcomes([*worse, Outcome("d0", "it", True)], [*better, Outcome("d0", "it", False)])["macro"]
    assert (found.baseline, found.system) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert found.p_value == pytest.approx((39 / 40) ** 40, abs=0.05)


def test_other_items_are_refused() -> None:
    """Different items, more of them, or none at all cannot be compared."""
    one, other = outcomes({"a": [True]}), outcomes({"b": [True]})
    for baseline, system in ((one, other), (one, one + one), ([], [])):
        with pytest.raises(DataError, match="same items"):
            compare_outcomes(baseline, system)


def test_outcomes_are_read_as_they_were_written(tmp_path: Path) -> None:
    """The error names a line that is no outcome."""
    written = [Outcome("文書", "she", True, "2"), Outcome("e", "he", False)]
    write_outcomes(written, tmp_path / "outcomes")
    assert read_outcomes(tmp_path / "outcomes") == written
    (tmp_path / "outcomes").write_text('{"document": "d"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=":1: is not an outcome"):
        read_outcomes(tmp_path / "outcomes")


def test_outcomes_are_whole_or_what_they_were(tmp_path: Path) -> None:
    """If writing is interrupted, the earlier file stays, so no systems are compared on half a file."""
    file = tmp_path / "outcomes"
    write_outcomes(before := outcomes({"d": [True]}), file)

    def broken() -> Iterator[Outcome]:
        yield before[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_outcomes(broken(), file)
    assert read_outcomes(file) == before
