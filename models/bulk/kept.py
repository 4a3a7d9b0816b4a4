"""Translations of parts, kept beside the output until it is whole: what a job that ended early need not do again.

A file appears whole or not at all, under the key of its part, so it can only ever stand for that part. Imports neither
torch nor Ray.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from models.bulk.parts import Part
from models.data.whole import PARTIAL, write_whole

_KEPT = ".part"


class KeptTranslations:
    """The folder `<out>.parts`, which is there as long as the output is not."""

    def __init__(self, out: Path) -> None:
        """Look at what there is.

        Args:
            out: the file that the parts are joined to.
        """
        self._out = out
        self._folder = out.with_name(f"{out.name}.parts")

    def __contains__(self, part: Part) -> bool:
        return self._file(part.key).is_file()

    def keep(self, key: str, text: str) -> None:
        """Keep the translation of a part, even through a loss of power."""
        self._folder.mkdir(exist_ok=True)
        write_whole(self._file(key), [text.encode()])

    def join(self, parts: Iterable[Part]) -> None:
        """Write the output, the parts in this order, and remove what was kept."""
        self._folder.mkdir(exist_ok=True)
        write_whole(self._out, (self._file(part.key).read_bytes() for part in parts), self._folder)
        for kept in [*self._folder.glob(f"*{_KEPT}"), *self._folder.glob(f"*{PARTIAL}")]:
            kept.unlink(missing_ok=True)  # another command may be removing it, too
        with suppress(OSError):  # there was nothing to keep, or somebody has put a file of their own into it
            self._folder.rmdir()

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}{_KEPT}"
