"""Training curves, from the TensorBoard files that a run leaves in `curves/`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from models.errors import PictureError

FOLDER: Final = "curves"
FIGURES: Final = ("train/loss", "dev/loss", "dev/bleu", "dev/contrastive")
"""The figures that are drawn, by their names in TensorBoard."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One figure of one run over its updates."""

    run: str
    figure: str
    """One of `FIGURES`."""
    updates: list[int]
    values: list[float]


def is_run(folder: Path) -> bool:
    """Return whether training has left curves there."""
    return (folder / FOLDER).is_dir()


def read_curves(runs: Sequence[Path]) -> list[Curve]:
    """Read the curves of all runs, in their order; updates that a resumed run repeated count as last done.

    Raises:
        PictureError: a run has no points yet.
    """
    return [curve for run, name in zip(runs, _names(runs), strict=True) for curve in _curves(run, name)]


def _curves(run: Path, name: str) -> list[Curve]:
    events = EventAccumulator(str(run / FOLDER), size_guidance={"scalars": 0})
    events.Reload()
    found = []
    for figure in (figure for figure in FIGURES if figure in events.Tags()["scalars"]):
        points = {
            event.step: event.value for event in sorted(events.Scalars(figure), key=lambda event: event.wall_time)
        }
        updates = sorted(points)
        found.append(Curve(name, figure, updates, [points[update] for update in updates]))
    if not found:
        raise PictureError(f"{run}: has no points in {FOLDER}/ yet")
    return found


def _names(runs: Sequence[Path]) -> list[str]:
    """Return the folders' own names if they differ, else their paths."""
    names = [run.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run) for run in runs]
