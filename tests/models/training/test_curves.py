"""The figures that a run writes as it goes, even if the disk is full."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from models.plotting.curves import read_curves
from models.training.curves import Curves
from tests.support.full_disk import no_file_larger_than


def train(curves: Curves, updates: int) -> None:
    """Run some updates with figures."""
    with curves.progress(updates, 0):
        for update in range(1, updates + 1):
            curves.advance(10)
            curves.add({"loss": 1 / update}, "train", update)
        curves.add({"loss": 0.5}, "dev", updates)


@pytest.mark.parametrize("missing", [1, 1000, None])
def test_full_disk_ends_the_curves_and_not_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: int | None
) -> None:
    """The disk may be full at their end, in the middle or before; one notice says so, and figures are still printed."""
    train(Curves(tmp_path / "whole"), 50)
    (whole,) = (tmp_path / "whole").iterdir()
    with no_file_larger_than(0 if missing is None else whole.stat().st_size - missing):
        train(Curves(tmp_path / "run" / "curves"), 50)
    printed = capsys.readouterr()
    assert printed.out.count("update 50: loss 0.5") == 2
    assert printed.err.count(f"{tmp_path / 'run' / 'curves'}: the curves cannot be written, and end here") == 1
    assert "Traceback" not in printed.err
    if missing is not None:
        curve = read_curves([tmp_path / "run"])[0]
        assert curve.updates == list(range(1, len(curve.updates) + 1))
        assert 20 < len(curve.updates) <= 50


def test_a_resumed_run_takes_back_what_a_killed_process_did_after_its_checkpoint(tmp_path: Path) -> None:
    """Points after the update that the run resumes from are removed, even if they are not made again."""
    curves = Curves(tmp_path)
    for done, updates in ((0, (1, 2, 3, 4)), (2, (3,))):
        with curves.progress(4, done):
            for update in updates:
                curves.add({"loss": 10 * done + update}, "train", update)
    shown = EventAccumulator(str(tmp_path))
    shown.Reload()
    assert [(point.step, point.value) for point in shown.Scalars("train/loss")] == [(1, 1), (2, 2), (3, 23)]


def test_errors_of_the_run_itself_are_its_own(tmp_path: Path) -> None:
    """An error of another file, such as a checkpoint on a full disk, is not taken for one of the curves."""
    curves = Curves(tmp_path)

    def fail(error: Exception) -> Callable[[], None]:
        raise error

    with pytest.raises(OSError, match="another file"), curves.progress(1, 0):
        fail(OSError("another file"))
