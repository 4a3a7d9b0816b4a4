"""Training curves from TensorBoard files."""

from pathlib import Path

import pytest

from models.errors import PictureError
from models.plotting.curves import Curve, is_run, read_curves
from models.training.curves import Curves


def train(folder: Path, points: dict[int, float], total: int = 10) -> Path:
    """Write what a run writes: training and dev figures at some updates."""
    curves = Curves(folder / "curves")
    with curves.progress(total, 0):
        for update, value in points.items():
            curves.add({"loss": value}, "train", update)
            curves.add({"loss": value / 2, "bleu": 1.0}, "dev", update)
    return folder


def test_curves_are_what_training_wrote(tmp_path: Path) -> None:
    """There is a curve over updates for every figure of every run, named after the run's folder."""
    runs = [train(tmp_path / "a", {1: 4.0, 2: 3.0}), train(tmp_path / "b", {5: 2.0})]
    assert all(map(is_run, runs))
    assert read_curves(runs) == [
        Curve("a", "train/loss", [1, 2], [4.0, 3.0]),
        Curve("a", "dev/loss", [1, 2], [2.0, 1.5]),
        Curve("a", "dev/bleu", [1, 2], [1.0, 1.0]),
        Curve("b", "train/loss", [5], [2.0]),
        Curve("b", "dev/loss", [5], [1.0]),
        Curve("b", "dev/bleu", [5], [1.0]),
    ]


def test_resumed_run_counts_once(tmp_path: Path) -> None:
    """Points that a resumed run repeats replace those from before it was killed."""
    train(tmp_path / "run", {1: 4.0, 2: 3.5, 3: 3.25})
    train(tmp_path / "run", {2: 3.0, 4: 2.0})
    found = {curve.figure: curve for curve in read_curves([tmp_path / "run"])}["train/loss"]
    assert dict(zip(found.updates, found.values, strict=True))[2] == 3.0
    assert found.updates[-1] == 4


def test_runs_of_the_same_name_have_their_paths(tmp_path: Path) -> None:
    """They are told apart by their paths."""
    runs = [train(tmp_path / parent / "run", {1: 1.0}) for parent in ("x", "y")]
    assert {curve.run for curve in read_curves(runs)} == set(map(str, runs))


def test_run_without_points(tmp_path: Path) -> None:
    """A run that has just started is named in the error."""
    (tmp_path / "run" / "curves").mkdir(parents=True)
    with pytest.raises(PictureError, match="run: has no points"):
        read_curves([tmp_path / "run"])
