"""Translations of parts, kept beside the output until that is complete, so that no job has to redo them.

A file appears complete or not at all, under the key of its part, so it is always that part's. Imports neither torch
nor Ray.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from models.bulk.parts import Part
from models.data.whole import PARTIAL, write_whole

_KEPT = ".part"


class KeptTranslations:
    """The folder `<out>.parts`, which exists until the output does."""

    def __init__(self, out: Path) -> None:
        """Use what the folder already has.

        Args:
            out: the file that joins the parts.
        """
        self._out = out
        self._folder = out.with_name(f"{out.name}.parts")

    def __contains__(self, part: Part) -> bool:
        return self._file(part.key).is_file()

    def keep(self, key: str, text: str) -> None:
        """Keep the translation of a part durably, even through a power failure."""
        self._folder.mkdir(exist_ok=True)
        write_whole(self._file(key), [text.encode()])

    def join(self, parts: Iterable[Part]) -> None:
        """Write the output, with the parts in this order, and remove what was kept."""
        self._folder.mkdir(exist_ok=True)
        write_whole(self._out, (self._file(part.key).read_bytes() for part in parts), self._folder)
        for kept in [*self._folder.glob(f"*{_KEPT}"), *self._folder.glob(f"*{PARTIAL}")]:
            kept.unlink(missing_ok=True)  # another command may be removing it at the same time
        with suppress(OSError):  # already gone, or somebody has put a file of their own into it
            self._folder.rmdir()

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}{_KEPT}"
