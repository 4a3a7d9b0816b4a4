"""Who is admitted, with keys in a file and in a real Redis, and with a clock that tests control."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from service import disk
from service.access.caller import ANYBODY, KeyLimits
from service.access.key_file import KeyFile
from service.access.key_table import KeyTable
from service.access.keyring import Keyring, OpenAccess
from service.access.storage import KeyStorage, Snapshot
from service.errors import (
    KeyStorageError,
    KeysUnavailableError,
    StoreUnavailableError,
    UnauthenticatedError,
)
from service.telemetry.metrics import Metrics
from tests.support.keys import NOW, made
from tests.support.servers import RedisServer

OUTAGE_SECONDS = 600.0


class Watched:
    """A keyring whose clocks move only when the test moves them."""

    def __init__(self, storage: KeyStorage, outage_seconds: float = OUTAGE_SECONDS) -> None:
        self.seconds = 0.0
        self.metrics = Metrics()
        self.keyring = Keyring(
            storage, outage_seconds=outage_seconds, clock=lambda: self.seconds, now=self.now, metrics=self.metrics
        )

    def now(self) -> datetime:
        """The time of day."""
        return NOW + timedelta(seconds=self.seconds)

    @property
    def failed_reads(self) -> float:
        """How many attempts to read the keys have failed."""
        return self.metrics.registry.get_sample_value("antecedent_key_read_failures_total") or 0.0

    def failures(self, reason: str) -> float:
        """How many authentications have failed for that reason."""
        name = "antecedent_authentication_failures_total"
        return self.metrics.registry.get_sample_value(name, {"reason": reason}) or 0.0


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    """A key file, not yet created."""
    return KeyFile(tmp_path / "keys.json")


async def eventually(holds: Callable[[], bool]) -> None:
    """Let other tasks run until a condition holds."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.005)


def admits(keyring: Keyring, key: str) -> bool:
    """Whether a key is accepted."""
    try:
        keyring.identify(key)
    except UnauthenticatedError:
        return False
    return True


async def refused(refresh: Callable[[], Awaitable[None]]) -> None:
    """Check that a refresh fails because the storage cannot be read."""
    with pytest.raises((KeyStorageError, StoreUnavailableError)):
        await refresh()


async def test_key_tells_the_caller(file: KeyFile) -> None:
    """The caller has the tenant, scopes and limits of the key's record."""
    key, record = made("acme", "translate", "admin", limits=KeyLimits(5, 2))
    await file.add(record)
    keyring = Watched(file).keyring
    await keyring.refresh()
    caller = keyring.identify(key)
    assert (caller.tenant, caller.key_id, caller.limits) == ("acme", record.id, KeyLimits(5, 2))
    assert caller.scopes == {"translate", "admin"}


async def test_refusals_cannot_be_told_apart(file: KeyFile) -> None:
    """A missing, malformed, unknown or expired key or a wrong secret: the answer is the same, only metrics differ."""
    valid, record = made("acme")
    expired, old = made("acme", expires_in=timedelta(0))
    for each in (record, old):
        await file.add(each)
    watched = Watched(file)
    await watched.keyring.refresh()
    wrong_secret = valid[:-43] + made("acme")[0][-43:]
    presented = {"missing": [None], "malformed": ["", "ant_", valid + "x"], "expired": [expired]}
    presented["unknown"] = [made("acme")[0], wrong_secret]
    answers = set()
    for reason, keys in presented.items():
        for key in keys:
            with pytest.raises(UnauthenticatedError) as caught:
                watched.keyring.identify(key)
            answers.add((str(caught.value), str(caught.value.headers()), str(caught.value.extras)))
        assert watched.failures(reason) == len(keys)
    assert len(answers) == 1
    assert "WWW-Authenticate" in str(answers)


async def test_expiry_needs_no_reading(file: KeyFile) -> None:
    """A key expires exactly on time without the keys being read again, for callers that stay connected too."""
    key, record = made("acme", expires_in=timedelta(seconds=10))
    await file.add(record)
    watched = Watched(file)
    await watched.keyring.refresh()
    watched.seconds = 9.9
    caller = watched.keyring.identify(key)
    watched.keyring.readmit(caller)
    watched.seconds = 10
    with pytest.raises(UnauthenticatedError):
        watched.keyring.readmit(caller)
    with pytest.raises(UnauthenticatedError):
        watched.keyring.identify(key)


async def test_revoked_and_new_keys(file: KeyFile) -> None:
    """At the next refresh a revoked key is refused, on open connections too, and a new key is admitted."""
    (old_key, old), (new_key, new) = made("acme"), made("acme")
    await file.add(old)
    keyring = Watched(file).keyring
    await keyring.refresh()
    caller = keyring.identify(old_key)
    await file.add(new)
    await keyring.refresh()
    assert keyring.identify(new_key).tenant == keyring.identify(old_key).tenant
    await file.remove(old.id)
    await keyring.refresh()
    with pytest.raises(UnauthenticatedError):
        keyring.readmit(caller)
    with pytest.raises(UnauthenticatedError):
        keyring.identify(old_key)


async def test_key_that_is_another_tenants_by_now(file: KeyFile) -> None:
    """A caller still connected with it is refused, rather than being taken for the other tenant."""
    key, record = made("acme")
    await file.add(record)
    keyring = Watched(file).keyring
    await keyring.refresh()
    caller = keyring.identify(key)
    await file.remove(record.id)
    await file.add(record.model_copy(update={"tenant": "other"}))
    await keyring.refresh()
    with pytest.raises(UnauthenticatedError):
        keyring.readmit(caller)


async def test_damaged_file_leaves_the_last_keys(file: KeyFile, tmp_path: Path) -> None:
    """Known keys still work; an unknown key may exist by now, so its caller should retry; a mended file is read."""
    (key, record), (later_key, later) = made("acme"), made("acme")
    await file.add(record)
    watched = Watched(file)
    keyring = watched.keyring
    await keyring.refresh()
    path = tmp_path / "keys.json"
    good = path.read_bytes()
    path.write_text("{")
    await refused(keyring.refresh)
    assert keyring.identify(key).tenant == "acme"
    with pytest.raises(KeysUnavailableError):
        keyring.identify(later_key)
    with pytest.raises(UnauthenticatedError):
        keyring.identify("no key")
    assert watched.failures("unavailable") == 1
    path.write_bytes(good)
    await file.add(later)
    await keyring.refresh()
    assert keyring.identify(later_key).tenant == "acme"


async def test_redis_away(table: KeyTable, mortal_redis: RedisServer) -> None:
    """Known keys work for the configured time and no longer; after that, and for unknown keys at once, it is a 503."""
    (key, record), (other_key, other) = made("acme"), made("other")
    await table.add(record)
    watched = Watched(table)
    keyring = watched.keyring
    await keyring.refresh()
    caller = keyring.identify(key)
    await table.add(other)
    mortal_redis.kill()
    await refused(keyring.refresh)
    watched.seconds = OUTAGE_SECONDS
    assert keyring.identify(key) == caller
    with pytest.raises(KeysUnavailableError):
        keyring.identify(other_key)
    watched.seconds += 1
    with pytest.raises(KeysUnavailableError):
        keyring.readmit(caller)
    with pytest.raises(KeysUnavailableError):
        keyring.identify(key)
    mortal_redis.start()
    await until_read(keyring)
    assert keyring.identify(key) == caller
    assert keyring.identify(other_key).tenant == "other"


async def test_keys_that_can_be_read_hold_between_two_readings(file: KeyFile) -> None:
    """With an outage time of 0, keys hold while there is no outage; a failed read is one, and so is one that hangs."""
    key, record = made("acme")
    await file.add(record)
    watched = Watched(file, outage_seconds=0)
    await watched.keyring.refresh()
    watched.seconds = 2
    assert admits(watched.keyring, key)
    watched.seconds = 60
    with pytest.raises(KeysUnavailableError):
        watched.keyring.identify(key)
    watched.seconds = 2
    file._path.write_text("no keys")
    await refused(watched.keyring.refresh)
    watched.seconds += 0.001
    with pytest.raises(KeysUnavailableError):
        watched.keyring.identify(key)


async def test_keys_that_are_seldom_read_hold_until_the_next_reading(file: KeyFile) -> None:
    """This is so even if keys outlive only shorter outages; if that read neither fails nor ends, they expire."""
    key, record = made("acme")
    await file.add(record)
    watched = Watched(file, outage_seconds=600)
    async with watched.keyring.kept_fresh(900):
        watched.seconds = 600 + 900 + 29
        assert admits(watched.keyring, key)
        watched.seconds += 2
        with pytest.raises(KeysUnavailableError):
            watched.keyring.identify(key)


async def test_outage_begins_with_the_first_reading_that_fails(table: KeyTable, mortal_redis: RedisServer) -> None:
    """Not with the last good read: where keys are seldom read, a single failure would lock everybody out at once."""
    key, record = made("acme")
    await table.add(record)
    watched = Watched(table, outage_seconds=60)
    await watched.keyring.refresh()
    mortal_redis.kill()
    watched.seconds = 900
    await refused(watched.keyring.refresh)
    watched.seconds = 900 + 60
    await refused(watched.keyring.refresh)
    assert admits(watched.keyring, key)
    watched.seconds += 1
    with pytest.raises(KeysUnavailableError):
        watched.keyring.identify(key)


async def test_disk_that_does_not_answer(file: KeyFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every refresh fails as for an unreadable file, but starts no further read; once the disk answers, all is well."""
    (key, record), (later_key, later) = made("acme"), made("acme")
    await file.add(record)
    path, watched = tmp_path / "keys.json", Watched(file, outage_seconds=float("inf"))
    async with watched.keyring.kept_fresh(0.01):
        monkeypatch.setattr(disk, "READ_SECONDS", 0.1)
        good = path.with_name("good.json")
        path.rename(good)
        os.mkfifo(path)  # reading it blocks until somebody writes
        before = watched.failed_reads  # reads before this may have failed because the disk was slow
        await eventually(lambda: watched.failed_reads >= before + 2)
        assert admits(watched.keyring, key)
        with pytest.raises(KeysUnavailableError):
            watched.keyring.identify(later_key)
        path.write_text("")
        good.replace(path)
        await file.add(later)
        await eventually(lambda: _knows(watched.keyring, later_key))


def _knows(keyring: Keyring, key: str) -> bool:
    try:
        return admits(keyring, key)
    except KeysUnavailableError:
        return False


async def until_read(keyring: Keyring) -> None:
    """Refresh until Redis is available again."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await keyring.refresh()
            except StoreUnavailableError:
                await asyncio.sleep(0.05)


async def test_start_while_redis_is_away(table: KeyTable, mortal_redis: RedisServer) -> None:
    """The service starts, but is not ready and answers 503; once Redis is there it reads the keys by itself."""
    key, record = made("acme")
    await table.add(record)
    mortal_redis.kill()
    keyring = Watched(table).keyring
    async with keyring.kept_fresh(0.01):
        assert not keyring.ready
        with pytest.raises(KeysUnavailableError):
            keyring.identify(key)
        mortal_redis.start()
        await eventually(lambda: keyring.ready)
        assert keyring.identify(key).tenant == "acme"


async def test_keys_are_read_again_and_again(file: KeyFile, tmp_path: Path) -> None:
    """Changes are picked up; a damaged file is logged once and counted at each read, and its recovery is logged too."""
    (key, record), (_, other) = made("acme"), made("acme")
    await file.add(other)
    watched = Watched(file)
    with capture_logs() as logs:
        async with watched.keyring.kept_fresh(0.01):
            await file.add(record)
            await eventually(lambda: admits(watched.keyring, key))
            good = (tmp_path / "keys.json").read_bytes()
            (tmp_path / "keys.json").write_text("{")
            failed = "antecedent_key_read_failures_total"
            await eventually(lambda: (watched.metrics.registry.get_sample_value(failed) or 0) >= 2)
            (tmp_path / "keys.json").write_bytes(good)
            await eventually(lambda: logs[-1]["event"] == "keys_read_again")
    assert [line["event"] for line in logs] == ["keys_not_read", "keys_read_again"]
    assert watched.keyring.identify(key).tenant == "acme"


async def test_storage_that_is_away_from_the_start_is_told(file: KeyFile) -> None:
    """A replica that has never read its keys does not become ready, and logs the reason once."""
    key, record = made("acme")
    await file.add(record)

    class Away(KeyFile):
        away = True

        async def read(self, seen: str | None = None) -> Snapshot | None:
            if self.away:
                raise StoreUnavailableError
            return await super().read(seen)

    away = Away(file._path)
    watched = Watched(away)
    with capture_logs() as logs:
        async with watched.keyring.kept_fresh(0.01):
            failed = "antecedent_key_read_failures_total"
            await eventually(lambda: (watched.metrics.registry.get_sample_value(failed) or 0) >= 2)
            assert not watched.keyring.ready
            away.away = False
            await eventually(lambda: watched.keyring.ready and logs[-1]["event"] == "keys_read_again")
    assert [line["event"] for line in logs] == ["keys_not_read", "keys_read_again"]
    assert watched.keyring.identify(key).tenant == "acme"


async def test_unforeseen_failure_does_not_end_the_reading(file: KeyFile) -> None:
    """A bug in reading keys is treated as an outage, so revocations still work later; its message is not logged."""
    key, record = made("acme")
    await file.add(record)

    class Faulty(KeyFile):
        broken = True

        async def read(self, seen: str | None = None) -> Snapshot | None:
            if self.broken and seen is not None:
                raise ZeroDivisionError("himitsu")
            return await super().read(seen)

    faulty = Faulty(file._path)
    keyring = Watched(faulty).keyring
    with capture_logs() as logs:
        async with keyring.kept_fresh(0.01):
            await eventually(lambda: bool(logs))
            await file.remove(record.id)
            faulty.broken = False
            await eventually(lambda: not admits(keyring, key))
    assert [line["event"] for line in logs] == ["keys_not_read", "keys_read_again"]
    assert "himitsu" not in str(logs)


async def test_service_does_not_start_with_a_damaged_file(file: KeyFile) -> None:
    """The service does not start with a file that is damaged already."""
    with pytest.raises(KeyStorageError, match=r"keys\.json"):
        async with Watched(file).keyring.kept_fresh(1):
            pass


def test_without_keys_everyone_is_one_caller() -> None:
    """Any key, or none, gives the same caller."""
    access = OpenAccess()
    assert access.ready
    assert access.identify(None) is access.identify("anything") is ANYBODY
    access.readmit(ANYBODY)
