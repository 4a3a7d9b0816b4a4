"""Translations of parts outlive the job that made them, until the output is complete."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from models.bulk.kept import KeptTranslations
from models.bulk.parts import Part


def part(key: str) -> Part:
    """A part of which only the key matters."""
    return Part(key, 0, 0, 1, 1)


def test_parts_are_joined_in_order(tmp_path: Path) -> None:
    """The output has the parts as the corpus does, in order and repeated, and nothing is left beside it."""
    kept = KeptTranslations(tmp_path / "out")
    kept.keep("b", "bi\n")
    kept.keep("a", "ai\n\n")
    kept.join([part("a"), part("b"), part("a")])
    assert (tmp_path / "out").read_text() == "ai\n\nbi\nai\n\n"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    """A later job finds what an earlier one kept, but nothing that was half written when it ended."""
    KeptTranslations(tmp_path / "out").keep("a", "ai\n")
    (tmp_path / "out.parts" / "b.part.partial").write_text("b")
    kept = KeptTranslations(tmp_path / "out")
    assert part("a") in kept
    assert part("b") not in kept
    kept.join([part("a")])
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_outputs_beside_each_other_keep_their_own(tmp_path: Path) -> None:
    """This holds even if their names differ only in the suffix."""
    KeptTranslations(tmp_path / "out.en").keep("a", "ai\n")
    assert part("a") not in KeptTranslations(tmp_path / "out.de")


def test_two_commands_may_keep_the_same_parts(tmp_path: Path) -> None:
    """They do not disturb each other, and the part is whole at any time."""
    text = "ai\n" * 10_000

    def keep(_: int) -> None:
        KeptTranslations(tmp_path / "out").keep("a", text)
        assert (tmp_path / "out.parts" / "a.part").read_text() == text

    with ThreadPoolExecutor(8) as commands:
        list(commands.map(keep, range(64)))
    assert [file.name for file in (tmp_path / "out.parts").iterdir()] == ["a.part"]


def test_output_is_whole_or_absent(tmp_path: Path) -> None:
    """If a part cannot be read, the earlier output stays as it was, and nothing that was kept is lost."""
    (tmp_path / "out").write_text("before")
    kept = KeptTranslations(tmp_path / "out")
    kept.keep("a", "ai\n")
    with pytest.raises(FileNotFoundError):
        kept.join([part("a"), part("b")])
    assert (tmp_path / "out").read_text() == "before"
    assert part("a") in kept


def test_files_of_others_stay(tmp_path: Path) -> None:
    """Only files that a job has put there are removed."""
    kept = KeptTranslations(tmp_path / "out")
    kept.keep("a", "ai\n")
    (tmp_path / "out.parts" / "notes").write_text("mine")
    kept.join([part("a")])
    assert [file.name for file in (tmp_path / "out.parts").iterdir()] == ["notes"]
