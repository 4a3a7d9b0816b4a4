"""The file of candidates holds what was found, and is refused where it is another corpus's."""

from pathlib import Path

import pytest

from models.data.candidates import Candidate, read_candidates, spread, write_candidates
from models.errors import DataError

FOUND = [[[Candidate('a "b" ü\u2028c', 0.25), Candidate("d", 1.0)], []], [[Candidate("e", 0.0)]]]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """One list a line, also of sentences without candidates, and an empty line between documents."""
    write_candidates(file := tmp_path / "candidates", FOUND)
    assert read_candidates(file, 3) == [*FOUND[0], *FOUND[1]]
    assert [bool(line.strip()) for line in file.read_text("utf-8").split("\n")] == [True, True, False, True, False]


@pytest.mark.parametrize("line", ["no JSON", '["a"]', '[["a", 2]]', '[["a", NaN]]', '[["a", -0.1]]', "{}"])
def test_damage_is_named(tmp_path: Path, line: str) -> None:
    """With its line; a gain has to be between 0 and 1."""
    (file := tmp_path / "candidates").write_text(f'[["a", 0.5]]\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match="candidates:2: is no list of translations"):
        read_candidates(file, 2)


def test_candidates_of_another_corpus_are_refused(tmp_path: Path) -> None:
    """They are told apart by their number, as gains are."""
    write_candidates(file := tmp_path / "candidates", FOUND)
    with pytest.raises(DataError, match="has candidates of 3 sentences, but the corpus has 4"):
        read_candidates(file, 4)


def test_fewer_candidates_are_spread_over_the_gains() -> None:
    """The worst and the best are among them, and of equally good ones the first found."""
    found = [Candidate(str(gain), gain / 10) for gain in (3, 9, 1, 5, 7)]
    assert [each.text for each in spread(found, 3)] == ["1", "5", "9"]
    assert [each.text for each in spread(found, 2)] == ["1", "9"]
    assert [each.text for each in spread(found, 8)] == ["1", "3", "5", "7", "9"]
