"""The curves of a run, written for TensorBoard into its folder."""

from pathlib import Path
from types import TracebackType
from typing import Self

from torch.utils.tensorboard import SummaryWriter


class Curves:
    """Figures over updates; silent without a folder, as in every process but the leading one."""

    def __init__(self, folder: Path | None) -> None:
        self._writer = None if folder is None else SummaryWriter(str(folder))  # type: ignore[no-untyped-call]

    def add(self, figures: dict[str, float], group: str, update: int) -> None:
        """Add a point to the curve of each figure."""
        if self._writer is not None:
            for name, value in figures.items():
                self._writer.add_scalar(f"{group}/{name}", value, update)  # type: ignore[no-untyped-call]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._writer is not None:
            self._writer.close()  # type: ignore[no-untyped-call]
