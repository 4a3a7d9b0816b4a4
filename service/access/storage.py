"""Where keys are kept: what a file and Redis have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from service.access.keys import KeyRecord


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All keys by id, as of one moment; a different `version` means different keys."""

    version: str
    records: Mapping[str, KeyRecord]


class KeyStorage(Protocol):
    """Keeps records of keys.

    Every operation raises KeyStorageError if what is stored cannot be read or written, and StoreUnavailableError
    while Redis is away.
    """

    async def read(self, seen: str | None = None) -> Snapshot | None:
        """Return all keys, or None if their version is still `seen`."""

    async def add(self, record: KeyRecord) -> None:
        """Keep one more record."""

    async def remove(self, key_id: str) -> bool:
        """Forget a record; return whether it was there."""
