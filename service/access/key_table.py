"""Keys in Redis, shared by all replicas: one hash, each key's record under its id, and a version."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pydantic import ValidationError
from redis.exceptions import RedisError

from service.access.keys import KeyRecord
from service.access.storage import Snapshot
from service.errors import KeyStorageError
from service.store.commands import Commands, read_script
from service.telemetry.logs import get_logger

_NAME: Final = "antecedent:keys"
_VERSION: Final = "version"
"""The one field that is not a key: each change sets it to a new random value, so that no two states share one."""

_log = get_logger(__name__)


class KeyTable:
    """Keys in Redis; each operation is atomic."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._revoke = read_script("service.access", "revoke_key")

    async def read(self, seen: str | None = None) -> Snapshot | None:
        """See `KeyStorage.read`; costs one short reply while nothing changes."""
        with _explained():
            version = await self._commands.run(
                "read_keys_version", lambda redis: redis.hget(_NAME, _VERSION), key=_NAME
            )
            if (version or "") == seen:
                return None
            if seen and version is None:  # no removal deletes it: better keep the keys read last than refuse everyone
                raise KeyStorageError("Redis has lost the keys: their table no longer exists")
            fields: dict[Any, Any] = await self._commands.run(
                "read_keys", lambda redis: redis.hgetall(_NAME), key=_NAME
            )
        version = fields.pop(_VERSION, "")
        records = map(_record, fields.values())
        return Snapshot(version, {record.id: record for record in records if record is not None})

    async def add(self, record: KeyRecord) -> None:
        """See `KeyStorage.add`."""
        fields: dict[Any, Any] = {record.id: record.model_dump_json(exclude_none=True), _VERSION: _new_version()}
        with _explained():
            await self._commands.run("add_key", lambda redis: redis.hset(_NAME, mapping=fields), key=_NAME)

    async def remove(self, key_id: str) -> bool:
        """See `KeyStorage.remove`."""
        with _explained():
            return bool(await self._commands.evaluate(self._revoke, [_NAME], [key_id, _new_version()]))


def _record(text: str) -> KeyRecord | None:
    """Parse a record; if it is damaged or of a later release, only its own key is unknown."""
    try:
        return KeyRecord.model_validate_json(text)
    except ValidationError:
        _log.error("key_record_unreadable")
        return None


def _new_version() -> str:
    return secrets.token_hex(8)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except RedisError as error:  # not an outage: those are StoreUnavailableError
        raise KeyStorageError(f"Redis refuses to read or write the keys: {error}") from error
