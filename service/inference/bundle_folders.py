"""Where bundles are on this machine: those named in the settings, and all others under the bundle root."""

import os
from collections.abc import Sequence
from pathlib import Path

from models.bundle.manifest import MANIFEST, Manifest
from models.errors import BundleError
from service.disk import DiskReader
from service.errors import BundleNotFoundError


class BundleFolders:
    """Finds a bundle by its name under the root, or by its path, which must then be in the settings.

    With a bundle root, a bare name in the settings is a name under the root; without one, the settings hold paths only.
    """

    def __init__(self, named: Sequence[Path], root: Path | None) -> None:
        if root is not None and not (os.access(root, os.X_OK) and root.is_dir()):
            raise BundleError(f"the bundle root, {root}, is not a folder, or may not be entered")
        self._root = None if root is None else root.resolve()
        self._named = dict(map(self._entry, named))
        self._disk: DiskReader[tuple[Path, Manifest]] = DiskReader()

    @property
    def named(self) -> tuple[str, ...]:
        """The names or paths by which the bundles of the settings are found, in the order of the settings."""
        return tuple(self._named)

    def find(self, bundle: str) -> Path:
        """Return the folder of a bundle, with symbolic links resolved.

        Raises:
            BundleNotFoundError: there is none, or it is not in the root.
            BundleError: the file system does not let it be looked up.
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
        """Return the folder of a bundle and its manifest; a disk that does not answer holds up no other request.

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
    """Follow symbolic links, but leave loops as they are: for those, `Path.resolve` raises what is no OSError."""
    return Path(os.path.realpath(path))
