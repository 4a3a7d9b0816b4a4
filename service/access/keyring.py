"""Who may come in: the keys as last read, kept in memory so that no request waits for a file or for Redis."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Literal, Protocol

from models.errors import AntecedentError
from service.access.caller import ANYBODY, Caller
from service.access.keys import Key, KeyRecord, find
from service.access.storage import KeyStorage, Snapshot
from service.background import in_background
from service.errors import (
    KeysUnavailableError,
    ServiceError,
    StoreUnavailableError,
    UnauthenticatedError,
)
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics

Reason = Literal["missing", "malformed", "unknown", "expired", "unavailable"]

_LONGEST_READ_SECONDS = 30.0
"""How long a due read of the keys may neither fail nor end before it counts as failed."""

_log = get_logger(__name__)


class Access(Protocol):
    """Identifies callers by the keys that they present."""

    @property
    def ready(self) -> bool:
        """Whether callers can be identified yet."""

    def identify(self, key: str | None) -> Caller:
        """Return the caller whose key this is; None stands for no key.

        Raises:
            UnauthenticatedError: there is no such key, or no longer.
            KeysUnavailableError: the key is not known, and the keys cannot be read at the moment.
        """

    def readmit(self, caller: Caller) -> Caller:
        """Let a caller that stays connected go on, with the scopes and limits that its key has now.

        Raises:
            UnauthenticatedError: its key has been revoked, has expired, or now belongs to another tenant.
            KeysUnavailableError: the keys cannot be read at the moment.
        """


class OpenAccess:
    """A service without keys: everyone is the same caller."""

    ready = True

    def identify(self, key: str | None) -> Caller:
        """See `Access.identify`."""
        del key
        return ANYBODY

    def readmit(self, caller: Caller) -> Caller:
        """See `Access.readmit`."""
        return caller


class Keyring:
    """Identifies callers by the keys in a storage, which are read again and again.

    Those read last are valid for `outage_seconds` after the first read that fails, measured by `clock`, in seconds.
    `now` gives the date and time, for the expiry of keys.
    """

    def __init__(
        self,
        storage: KeyStorage,
        *,
        outage_seconds: float,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        metrics: Metrics,
    ) -> None:
        self._storage = storage
        self._outage_seconds = outage_seconds
        self._clock = clock
        self._now = now
        self._metrics = metrics
        self._snapshot: Snapshot | None = None
        self._read_at = clock()
        self._seconds_between = 0.0  # two reads of the keys
        self._failing_since: float | None = self._read_at

    @property
    def ready(self) -> bool:
        """See `Access.ready`."""
        return self._snapshot is not None

    def identify(self, key: str | None) -> Caller:
        """See `Access.identify`."""
        if key is None:
            raise self._refusal("missing", UnauthenticatedError())
        presented = Key.parse(key)
        if presented is None:
            raise self._refusal("malformed", UnauthenticatedError())
        return self._valid(find(presented, self._held())).caller()

    def readmit(self, caller: Caller) -> Caller:
        """See `Access.readmit`."""
        now = self._valid(self._held().get(caller.key_id)).caller()
        if now.tenant != caller.tenant:
            raise self._refusal("unknown", UnauthenticatedError())
        return now

    async def refresh(self) -> None:
        """Read the keys, if they have changed.

        Raises:
            KeyStorageError: what is stored cannot be read.
            StoreUnavailableError: Redis is away.
        """
        try:
            found = await self._storage.read(None if self._snapshot is None else self._snapshot.version)
        except Exception:
            if self._failing_since is None:
                self._failing_since = self._clock()
            raise
        self._snapshot = found or self._snapshot
        self._read_at = self._clock()
        self._failing_since = None

    @asynccontextmanager
    async def kept_fresh(self, every_seconds: float) -> AsyncIterator[None]:
        """Read the keys now, and again and again until the block ends.

        Raises:
            KeyStorageError: what is stored cannot be read. If Redis is away, nothing is raised: it may come back.
        """
        self._seconds_between = every_seconds
        try:
            await self.refresh()
        except StoreUnavailableError as error:
            self._tell(error)
        async with in_background(self._keep_fresh(every_seconds)):
            yield

    @staticmethod
    def _tell(error: Exception) -> None:
        detail = str(error) if isinstance(error, AntecedentError) else None
        _log.error("keys_not_read", error=type(error).__name__, detail=detail)

    async def _keep_fresh(self, every_seconds: float) -> None:
        while True:
            await asyncio.sleep(every_seconds)
            failed_before = self._failing_since is not None
            try:
                await self.refresh()
            except Exception as error:  # noqa: BLE001 - whatever it is, later revocations must not be missed
                self._metrics.key_read_failures.inc()
                if not failed_before:
                    self._tell(error)
            else:
                if failed_before:
                    _log.info("keys_read_again")

    def _valid(self, record: KeyRecord | None) -> KeyRecord:
        if record is None and (self._failing_since is not None or self._outdated()):
            raise self._refusal("unavailable", KeysUnavailableError())
        if record is None:
            raise self._refusal("unknown", UnauthenticatedError())
        if record.expired(self._now()):
            raise self._refusal("expired", UnauthenticatedError())
        return record

    def _held(self) -> Mapping[str, KeyRecord]:
        return {} if self._snapshot is None or self._outdated() else self._snapshot.records

    def _outdated(self) -> bool:
        if self._failing_since is not None:
            return self._clock() - self._failing_since > self._outage_seconds
        return self._clock() - self._read_at > self._seconds_between + _LONGEST_READ_SECONDS + self._outage_seconds

    def _refusal(self, reason: Reason, error: ServiceError) -> ServiceError:
        self._metrics.authentication_failures.labels(reason).inc()
        return error
