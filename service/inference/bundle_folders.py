"""Where bundles are on this machine: those that the settings name, and any other under the bundle root."""

from collections.abc import Sequence
from pathlib import Path

from models.bundle.manifest import MANIFEST
from service.errors import BundleNotFoundError


class BundleFolders:
    """Finds bundles by what they are called: a name under the root, or a path, which the settings must name.

    A name in the settings is one under the root, where there is one; else the settings hold paths only.
    """

    def __init__(self, named: Sequence[Path], root: Path | None) -> None:
        self._root = None if root is None else root.resolve()
        self._named = dict(map(self._entry, named))

    @property
    def named(self) -> tuple[str, ...]:
        """What the bundles of the settings are called, in their order."""
        return tuple(self._named)

    def find(self, bundle: str) -> Path:
        """The folder of a bundle, symbolic links followed.

        Raises:
            BundleNotFoundError: there is none, or it is not in the root.
        """
        if bundle in self._named:
            return self._named[bundle].resolve()
        folder = self._under_root(bundle)
        if folder is None:
            raise BundleNotFoundError(f"there is no bundle {bundle} under the bundle root")
        return folder

    def _under_root(self, bundle: str) -> Path | None:
        if self._root is None:
            return None
        try:
            folder = (self._root / bundle).resolve()
        except RuntimeError:  # links that lead to each other
            return None
        return folder if self._root in folder.parents and (folder / MANIFEST).is_file() else None

    def _entry(self, path: Path) -> tuple[str, Path]:
        if self._root is None:
            return str(path), path
        if len(path.parts) == 1 or path.parent.resolve() == self._root:
            return path.name, self._root / path.name
        return str(path), path
