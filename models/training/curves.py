"""Display of a run's progress: a progress bar, and TensorBoard curves in its folder."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Never

from tensorboard.summary.writer.event_file_writer import _AsyncWriterThread
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm


class Curves:
    """Figures by update; does nothing without a folder, as in every process but the leading one.

    If curves cannot be written, for instance on a full disk, the run goes on without them.
    """

    def __init__(self, folder: Path | None) -> None:
        """Write the curves into `folder`."""
        self._folder = folder
        self._writer: SummaryWriter | None = None
        self._bar: tqdm[Never] | None = None
        self._tokens = 0

    @contextmanager
    def progress(self, total: int, done: int) -> Iterator[None]:
        """Show the bar and keep the curves open during a run of `total` updates, of which `done` are made already.

        Points after `done` come from a process that was killed, and are dropped.
        """
        if self._folder is None:
            yield
            return
        with _silent_writers(), tqdm(total=total, initial=done, unit="update") as self._bar:
            with self._given_up_if_not_written():
                self._writer = SummaryWriter(str(self._folder), purge_step=done + 1)
            try:
                yield
            finally:
                with self._given_up_if_not_written():
                    if self._writer is not None:
                        self._writer.close()
        self._writer = self._bar = None

    def advance(self, tokens: int) -> None:
        """Count an update with so many target tokens."""
        if self._bar is None:
            return
        self._bar.update()
        self._tokens += tokens
        self._bar.set_postfix(tokens_per_s=f"{self._tokens / max(self._bar.format_dict['elapsed'], 1e-9):.0f}")

    def add(self, figures: dict[str, float], group: str, update: int) -> None:
        """Add a point to the curve of each figure; those of the dev set are printed too."""
        if self._bar is None:
            return
        with self._given_up_if_not_written():
            for name, value in figures.items():
                if self._writer is not None:
                    self._writer.add_scalar(f"{group}/{name}", value, update)
        if group == "dev" and figures:
            self._bar.write(f"update {update}: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()))

    @contextmanager
    def _given_up_if_not_written(self) -> Iterator[None]:
        """Stop the curves on an error, and report it once."""
        try:
            yield
        except OSError as error:
            self._writer = None
            tqdm.write(f"{self._folder}: the curves cannot be written, and end here: {error}", file=sys.stderr)


@contextmanager
def _silent_writers() -> Iterator[None]:
    """Suppress tracebacks of TensorBoard's threads, whose errors are also raised where points are added."""
    shown = threading.excepthook

    def show(given: threading.ExceptHookArgs) -> None:
        if not isinstance(given.thread, _AsyncWriterThread):
            shown(given)

    threading.excepthook = show
    try:
        yield
    finally:
        threading.excepthook = shown
