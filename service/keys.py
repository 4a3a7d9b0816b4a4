"""`python -m service.keys`: makes, lists and revokes API keys, in the file or in the Redis that the settings name.

Exit status: 0, 1 where it could not be done, 2 for bad usage or settings, with one clear line on standard error.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

import typer
from pydantic import ValidationError
from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from models.errors import AntecedentError
from service.access.caller import KeyLimits
from service.access.key_file import KeyFile
from service.access.key_table import KeyTable
from service.access.keys import Key, KeyRecord, key_id_of
from service.access.storage import KeyStorage
from service.errors import InvalidInputError, KeyStorageError, SettingsError, StoreUnavailableError
from service.settings import MOST_ALLOWED, PREFIX, Settings, load_settings
from service.standard_output import print_line
from service.store.failures import code_of
from service.store.opening import open_redis
from service.telemetry import logs
from service.telemetry.metrics import Metrics

_UNLIMITED_WIDTH = 10_000
_R = TypeVar("_R")

app = typer.Typer(
    help=f"Create, list and revoke API keys. {PREFIX}KEYS says where they are stored: file or redis.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

Scopes = Annotated[list[str] | None, typer.Option(help="translate (the default) or admin; repeat for both.")]
Days = Annotated[
    int | None, typer.Option(min=1, max=36_500, help="Days until the key expires. Default: it never expires.")
]
Limit = Annotated[
    int | None, typer.Option(min=1, max=MOST_ALLOWED, help="Limit of this key. Default: the service's setting.")
]


@app.command()
def create(
    tenant: Annotated[str, typer.Option(help="Who the key belongs to; all keys of a tenant share its sessions.")],
    scope: Scopes = None,
    expires_days: Days = None,
    label: Annotated[str | None, typer.Option(help="A note on what the key is for, shown in the list.")] = None,
    sentences_per_minute: Limit = None,
    concurrency: Limit = None,
) -> None:
    """Create a key and print it; it is never shown again."""
    now = datetime.now(UTC).replace(microsecond=0)
    key = Key.new()
    settings = load_settings()
    record = _record(
        id=key.id,
        tenant=tenant,
        scopes=tuple(dict.fromkeys(scope or ("translate",))),
        hash=key.hash,
        created=now,
        expires=None if expires_days is None else now + timedelta(days=expires_days),
        label=label,
        limits=KeyLimits(sentences_per_minute, concurrency),
    )
    _in_storage(settings, lambda storage: storage.add(record))
    try:
        print_line(key.reveal())
    except OSError as error:  # nobody has it, and nobody would know that it is there
        _in_storage(settings, lambda storage: storage.remove(key.id))
        raise KeyStorageError(f"the key cannot be printed, and has been revoked: {error.strerror}") from None
    seconds = settings.keys_refresh_seconds
    print(
        f"key {key.id} of {tenant}: will not be shown again; becomes valid within {seconds:g} seconds", file=sys.stderr
    )


@app.command("list")
def list_keys() -> None:
    """List all keys, without their secrets, which are not stored."""
    found = _in_storage(load_settings(), lambda storage: storage.read())
    try:
        print_line(_table(found.records if found is not None else {}, datetime.now(UTC)))
    except BrokenPipeError:
        raise  # the reader has seen enough: typer ends the command silently
    except OSError as error:
        raise KeyStorageError(f"the list cannot be printed: {error.strerror}") from None


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key as in the list, or the whole key.")],
) -> None:
    """Revoke a key for good."""
    settings, key_id = load_settings(), key_id_of(key)
    if not _in_storage(settings, lambda storage: storage.remove(key_id)):
        raise KeyStorageError(f"there is no key {key_id}")
    print(f"key {key_id}: will be refused within {settings.keys_refresh_seconds:g} seconds", file=sys.stderr)


def main() -> int:
    """Run a command; returns the exit status."""
    logs.configure("critical")  # what goes wrong is said in one line
    try:
        app()
    except (InvalidInputError, SettingsError) as error:
        return _failed(error, 2)
    except AntecedentError as error:
        return _failed(error, 1)
    return 0


def _record(**fields: object) -> KeyRecord:
    try:
        return KeyRecord.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise InvalidInputError(f"{first['loc'][0]}: {first['msg']}") from None


def _failed(error: AntecedentError, status: int) -> int:
    said = f"Redis is unavailable{_why(error)}: try again" if isinstance(error, StoreUnavailableError) else str(error)
    print(f"error: {said}", file=sys.stderr)
    return status


def _why(error: AntecedentError) -> str:
    """Why Redis did not serve, as far as is known: a wrong password or database is nothing to wait for."""
    return f" ({code_of(error.__cause__)})" if isinstance(error.__cause__, Exception) else ""


def _in_storage(settings: Settings, work: Callable[[KeyStorage], Awaitable[_R]]) -> _R:
    async def opened() -> _R:
        async with _storage(settings) as storage:
            return await work(storage)

    return asyncio.run(opened())


@asynccontextmanager
async def _storage(settings: Settings) -> AsyncIterator[KeyStorage]:
    if settings.keys == "file":
        yield KeyFile(settings.keys_file)
    elif settings.keys == "redis" and settings.redis_url is not None:
        async with open_redis(settings, Metrics()) as commands:
            yield KeyTable(commands)
    else:
        raise SettingsError(f"{PREFIX}KEYS is none: set it to file or redis, the same as for the service")


def _table(records: Mapping[str, KeyRecord], now: datetime) -> str:
    heads = ("id", "tenant", "scopes", "created", "expires", "sentences/min", "at once", "label")
    table = Table(*(Column(head, no_wrap=True) for head in heads), box=box.SIMPLE)
    for record in sorted(records.values(), key=lambda record: (record.tenant, record.created)):
        table.add_row(*map(Text, _cells(record, now)))
    console = Console() if sys.stdout.isatty() else Console(width=_UNLIMITED_WIDTH)  # a pipe gets every character
    with console.capture() as printed:
        console.print(table)
    return printed.get().removesuffix("\n")


def _cells(record: KeyRecord, now: datetime) -> tuple[str, ...]:
    limits = record.limits
    return (
        record.id,
        record.tenant,
        ", ".join(record.scopes),
        f"{record.created:%Y-%m-%d}",
        "expired" if record.expired(now) else f"{record.expires:%Y-%m-%d}" if record.expires else "never",
        str(limits.sentences_per_minute or "default"),
        str(limits.concurrency or "default"),
        record.label or "",
    )


if __name__ == "__main__":
    sys.exit(main())
