"""What a run shows as it goes: a progress bar, and curves for TensorBoard in its folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Never

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm


class Curves:
    """Figures over updates; silent without a folder, as in every process but the leading one."""

    def __init__(self, folder: Path | None) -> None:
        """Write the curves into `folder`."""
        self._folder = folder
        self._writer: SummaryWriter | None = None
        self._bar: tqdm[Never] | None = None
        self._tokens = 0

    @contextmanager
    def progress(self, total: int, done: int) -> Iterator[None]:
        """Show the bar and keep the curves open over the loop of a run of `total` updates, `done` of them before."""
        if self._folder is None:
            yield
            return
        with SummaryWriter(str(self._folder)) as writer, tqdm(total=total, initial=done, unit="update") as bar:
            self._writer, self._bar = writer, bar
            yield
        self._writer = self._bar = None

    def advance(self, tokens: int) -> None:
        """Count an update on so many target tokens."""
        if self._bar is None:
            return
        self._bar.update()
        self._tokens += tokens
        self._bar.set_postfix(tokens_per_s=f"{self._tokens / max(self._bar.format_dict['elapsed'], 1e-9):.0f}")

    def add(self, figures: dict[str, float], group: str, update: int) -> None:
        """Add a point to the curve of each figure; those of the dev set are printed too."""
        if self._writer is None or self._bar is None:
            return
        for name, value in figures.items():
            self._writer.add_scalar(f"{group}/{name}", value, update)
        if group == "dev":
            self._bar.write(f"update {update}: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()))
