"""Where keys are kept: what a file and Redis have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from service.access.keys import KeyRecord


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All keys by id, as they were at once; another `version` means other keys."""

    version: str
    records: Mapping[str, KeyRecord]


class KeyStorage(Protocol):
    """Keeps records of keys.

    Every operation raises KeyStorageError where what is stored cannot be read or written, and StoreUnavailableError
    while Redis is away.
    """

    async def read(self, seen: str | None = None) -> Snapshot | None:
        """All keys, or None where the version is still the one that has been `seen`."""

    async def add(self, record: KeyRecord) -> None:
        """Keep one more."""

    async def remove(self, key_id: str) -> bool:
        """Forget one; gives whether it was there."""
