"""Keys in a JSON file: written by `service.keys`, and read by every replica that has the file or a copy."""

import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from service.access.keys import KeyRecord
from service.access.storage import Snapshot
from service.disk import DiskReader
from service.errors import KeyStorageError

_PRIVATE = 0o600


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    keys: tuple[KeyRecord, ...] = ()

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        if len({record.id for record in self.keys}) < len(self.keys):
            raise ValueError("two keys have the same id")
        return self


class KeyFile:
    """Keys in a file that is always replaced as a whole, so that nobody ever reads half of one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._disk: DiskReader[bytes] = DiskReader()

    async def read(self, seen: str | None = None) -> Snapshot | None:
        """See `KeyStorage.read`; the version is a hash of the content, so that no kind of replacement goes unnoticed.

        A disk that does not answer holds up nobody: a read that takes too long fails.
        """
        try:
            data = await self._disk.read(self._bytes)
        except TimeoutError as error:
            raise KeyStorageError(f"{self._path}: {error}") from None
        version = hashlib.sha256(data).hexdigest()
        if version == seen:
            return None
        return Snapshot(version, {record.id: record for record in self._parse(data).keys})

    async def add(self, record: KeyRecord) -> None:
        """See `KeyStorage.add`; creates the file if there is none, readable by its owner only."""
        with self._locked():
            self._write([*self._present(), record])

    async def remove(self, key_id: str) -> bool:
        """See `KeyStorage.remove`."""
        with self._locked():
            present = self._present()
            left = [record for record in present if record.id != key_id]
            if len(left) < len(present):
                self._write(left)
        return len(left) < len(present)

    @property
    def _target(self) -> Path:
        """The file behind symbolic links, which are kept; on a loop of links, `Path.resolve` would raise no OSError."""
        return Path(os.path.realpath(self._path))

    def _bytes(self) -> bytes:
        try:
            if stat.S_ISCHR(self._path.stat().st_mode):  # it may have no end
                raise KeyStorageError(f"{self._path}: is a device, not a file")
            return self._path.read_bytes()
        except OSError as error:
            raise KeyStorageError(f"{self._path}: {error.strerror}") from error

    def _parse(self, data: bytes) -> _Content:
        try:
            return _Content.model_validate_json(data)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise KeyStorageError(f"{self._path}: {where}{': ' if where else ''}{first['msg']}") from None

    def _present(self) -> Sequence[KeyRecord]:
        try:
            return self._parse(self._bytes()).keys
        except KeyStorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return ()
            raise

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other writers out between reading and writing, so that none undoes another's change."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(f"{self._target}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, _PRIVATE)
        except OSError as error:
            raise KeyStorageError(f"{self._path}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, records: Sequence[KeyRecord]) -> None:
        text = _Content(keys=tuple(records)).model_dump_json(indent=2, exclude_none=True) + "\n"
        target = self._target
        try:
            with tempfile.NamedTemporaryFile("w", dir=target.parent, prefix=f".{target.name}.", delete=False) as new:
                try:
                    new.write(text)
                    new.flush()
                    os.fsync(new.fileno())
                    _take_after(new.fileno(), target)
                    Path(new.name).replace(target)
                except BaseException:
                    Path(new.name).unlink()
                    raise
        except OSError as error:
            raise KeyStorageError(f"{self._path}: {error.strerror}") from None


def _take_after(descriptor: int, target: Path) -> None:
    """Give a file the mode and owner of the one that it will replace, so that the same users can read it."""
    if target.exists():
        old = target.stat()
        with suppress(PermissionError):  # only root may change the owner
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, old.st_mode & 0o777)
