"""Keys for tests, made as the command makes them."""

from datetime import UTC, datetime, timedelta

from service.access.caller import KeyLimits, Scope
from service.access.keys import Key, KeyRecord

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def made(
    tenant: str, *scopes: Scope, expires_in: timedelta | None = None, limits: KeyLimits | None = None
) -> tuple[str, KeyRecord]:
    """A key, as its client has it, and its record; made at NOW, with the scope `translate` unless others are named."""
    key = Key.new()
    record = KeyRecord(
        id=key.id,
        tenant=tenant,
        scopes=scopes or ("translate",),
        hash=key.hash,
        created=NOW,
        expires=None if expires_in is None else NOW + expires_in,
        limits=limits or KeyLimits(),
    )
    return key.reveal(), record
