"""Which results of earlier comparisons `compare` leaves in its folder."""

import json
from pathlib import Path

from models.commands.comparison import _KINDS, _kept

RESULTS = ("scores.json", "txt", "accuracies.json", "outcomes")


def test_no_results_of_another_model_of_the_name_are_left(tmp_path: Path) -> None:
    """Their outcomes, which `significance` reads, go too, as do results with contexts that are not measured this time.

    Results of this model and of models of other names stay, and so do files that `compare` has not written.
    """
    for name, model in (("a.real", "new"), ("a.empty", "old"), ("a.shuffled", "old"), ("b.real", "old")):
        for result in RESULTS:
            (tmp_path / f"{name}.{result}").write_text(json.dumps({"identity": model}), encoding="utf-8")
    (tmp_path / "a.random.outcomes").touch()
    for kind in _KINDS:
        for kept in _kept(tmp_path / f"a.{kind}", "new", "", ""):
            kept.forget(others_too=False)
    left = {f"{name}.{result}" for name in ("a.real", "b.real") for result in RESULTS} | {"a.random.outcomes"}
    assert {file.name for file in tmp_path.iterdir()} == left


def test_results_of_other_files_are_left_only_until_they_are_measured_anew(tmp_path: Path) -> None:
    """Results that will not be measured again are removed: `table` would put them beside results on these files."""
    (scores, _), (other, _) = (_kept(tmp_path / "a.real", "model", corpus, "") for corpus in ("these", "others"))
    other.behind.touch()
    other.write({})
    scores.forget(others_too=False)
    assert other.stand()
    other.forget(others_too=True)
    assert other.stand()
    scores.forget(others_too=True)
    assert list(tmp_path.iterdir()) == []
