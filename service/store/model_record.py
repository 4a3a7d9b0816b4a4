"""Which models all replicas shall serve, in Redis: written by an administrator's call, followed by every replica."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from pydantic import TypeAdapter, ValidationError
from redis.exceptions import ResponseError

from service.errors import ModelRecordError
from service.store.commands import Commands, read_script

KEY: Final = "antecedent:models"
"""A hash with the record's version and, as JSON, its models."""


@dataclass(frozen=True, slots=True)
class WantedModel:
    """A model by its name, what its bundle is found by, and the bundle's fingerprint."""

    name: str
    bundle: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What is wanted, the default of a language pair before the others; `version` tells it from every other record."""

    version: str
    models: tuple[WantedModel, ...]


_MODELS = TypeAdapter(tuple[WantedModel, ...])


class ModelRecords:
    """Reads and replaces the one record; both raise StoreUnavailableError while Redis is away."""

    def __init__(self, commands: Commands, new_id: Callable[[], str]) -> None:
        self._commands = commands
        self._new_id = new_id
        self._replace = read_script("service.store", "replace_models")

    async def read(self) -> ModelRecord | None:
        """The record; None where no administrator has changed the models yet.

        Raises:
            ModelRecordError: somebody else has written something else there.
        """
        try:
            fields = await self._commands.run("read_models", lambda redis: redis.hgetall(KEY), key=KEY)
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE "):
                raise
            raise ModelRecordError(KEY) from None
        if not fields:
            return None
        try:
            return ModelRecord(str(fields["version"]), _MODELS.validate_json(fields["models"]))
        except (KeyError, ValidationError):
            raise ModelRecordError(KEY) from None

    async def replace(self, read: ModelRecord | None, models: Sequence[WantedModel]) -> bool:
        """Have `models` wanted, unless the record is no longer the one that was read; gives whether it was."""
        args = ["" if read is None else read.version, self._new_id(), orjson.dumps(models)]
        return bool(await self._commands.evaluate("replace_models", self._replace, [KEY], args))
