"""The record in Redis of the models that all replicas should serve: an administrator's call writes it."""

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
    """A model: its name, the name or path by which its bundle is found, and the bundle's fingerprint."""

    name: str
    bundle: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The models to serve, the default of a language pair before its others; `version` is unique to each record."""

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
        """Return the record; None if no administrator has changed the models yet.

        Raises:
            ModelRecordError: what is stored under the key is not such a record.
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
        """Replace the record unless it has changed since it was `read`; return whether it was replaced."""
        args = ["" if read is None else read.version, self._new_id(), orjson.dumps(models)]
        return bool(await self._commands.evaluate(self._replace, [KEY], args))
