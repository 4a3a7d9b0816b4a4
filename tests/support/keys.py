"""Keys for tests, made just as `python -m service.keys` makes them."""

from datetime import UTC, datetime, timedelta

from service.access.caller import KeyLimits, Scope
from service.access.keys import Key, KeyRecord

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def made(
    tenant: str, *scopes: Scope, expires_in: timedelta | None = None, limits: KeyLimits | None = None
) -> tuple[str, KeyRecord]:
    """Make a key: the string that its client has, and its record. Created at NOW; the default scope is `translate`."""
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
