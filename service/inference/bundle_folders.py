"""Where bundles are on this machine: those that the settings name, and any other under the bundle root."""

import os
from collections.abc import Sequence
from pathlib import Path

from models.bundle.manifest import MANIFEST, Manifest
from models.errors import BundleError
from service.disk import DiskReader
from service.errors import BundleNotFoundError


class BundleFolders:
    """Finds bundles by what they are called: a name under the root, or a path, which the settings must name.

    A name in the settings is one under the root, where there is one; else the settings hold paths only.
    """

    def __init__(self, named: Sequence[Path], root: Path | None) -> None:
        if root is not None and not (os.access(root, os.X_OK) and root.is_dir()):
            raise BundleError(f"the bundle root, {root}, is not a folder, or may not be entered")
        self._root = None if root is None else root.resolve()
        self._named = dict(map(self._entry, named))
        self._disk: DiskReader[tuple[Path, Manifest]] = DiskReader()

    @property
    def named(self) -> tuple[str, ...]:
        """What the bundles of the settings are called, in their order."""
        return tuple(self._named)

    def find(self, bundle: str) -> Path:
        """The folder of a bundle, symbolic links followed.

        Raises:
            BundleNotFoundError: there is none, or it is not in the root.
            BundleError: it cannot be looked at.
        """
        if bundle in self._named:
            return _resolved(self._named[bundle])
        try:
            folder = self._under_root(bundle)
        except OSError as error:
            raise BundleError(f"the bundle {bundle} cannot be read: {error.strerror}") from None
        if folder is None:
            raise BundleNotFoundError(f"there is no bundle {bundle} in the bundle root")
        return folder

    async def read(self, bundle: str) -> tuple[Path, Manifest]:
        """The folder of a bundle, and what it holds; a disk that does not answer holds up nobody else.

        Raises:
            BundleNotFoundError: there is none, or it is not in the root.
            BundleError: it cannot be read, or not in time.
        """
        try:
            return await self._disk.read(lambda: self._read(bundle))
        except TimeoutError as error:
            raise BundleError(f"the bundle {bundle} cannot be read: {error}") from None

    def _read(self, bundle: str) -> tuple[Path, Manifest]:
        folder = self.find(bundle)
        return folder, Manifest.load(folder)

    def _under_root(self, bundle: str) -> Path | None:
        if self._root is None:
            return None
        folder = _resolved(self._root / bundle)
        return folder if self._root in folder.parents and (folder / MANIFEST).is_file() else None

    def _entry(self, path: Path) -> tuple[str, Path]:
        if self._root is None:
            return str(path), path
        if len(path.parts) == 1 or _resolved(path.parent) == self._root:
            return path.name, self._root / path.name
        return str(path), path


def _resolved(path: Path) -> Path:
    """Symbolic links followed; those that lead to each other stay, where `Path.resolve` raises what is no OSError."""
    return Path(os.path.realpath(path))
