"""Glossaries that a tenant keeps, in Redis until they are deleted. Holds text only, and looks for no terms."""

from dataclasses import dataclass

import orjson
from pydantic import TypeAdapter

from service.errors import GlossaryNotFoundError, TooManyGlossariesError
from service.store.commands import Commands, read_script
from service.store.connection import RedisClient


@dataclass(frozen=True, slots=True)
class KeptGlossary:
    """What there is to know of a glossary but its terms; `created` is a time as ISO 8601 has it."""

    id: str
    name: str
    source_lang: str
    target_lang: str
    created: str
    terms: int


_KEPT = TypeAdapter(KeptGlossary)


class Glossaries:
    """Those of all tenants, each of which keeps at most so many.

    All operations raise StoreUnavailableError while Redis is away, and none changes the terms of a glossary.
    """

    def __init__(self, commands: Commands, most: int) -> None:
        self._commands = commands
        self._most = most
        self._keep = read_script("service.store", "keep_glossary")

    async def keep(self, tenant: str, glossary: KeptGlossary, terms: str) -> None:
        """Keep one more, with what `service.glossary` has written of its terms.

        Raises:
            TooManyGlossariesError: the tenant keeps as many as it may.
        """
        args = [glossary.id, orjson.dumps(glossary), terms, self._most]
        if not await self._commands.evaluate("keep_glossary", self._keep, _names(tenant), args):
            raise TooManyGlossariesError(self._most)

    async def all(self, tenant: str) -> list[KeptGlossary]:
        """All of a tenant, the oldest first."""
        of_each, _ = _names(tenant)
        found = await self._commands.run("list_glossaries", lambda redis: redis.hgetall(of_each), key=of_each)
        return sorted(map(_KEPT.validate_json, found.values()), key=lambda glossary: (glossary.created, glossary.id))

    async def find(self, tenant: str, glossary_id: str) -> KeptGlossary:
        """One of a tenant.

        Raises:
            GlossaryNotFoundError: it has none of this id.
        """
        return _KEPT.validate_json(await self._read(_names(tenant)[0], glossary_id))

    async def terms(self, tenant: str, glossary_id: str) -> str:
        """Its terms as they were written.

        Raises:
            GlossaryNotFoundError: the tenant has none of this id.
        """
        return await self._read(_names(tenant)[1], glossary_id)

    async def delete(self, tenant: str, glossary_id: str) -> None:
        """Forget one; sessions that have begun with it keep its terms.

        Raises:
            GlossaryNotFoundError: the tenant has none of this id.
        """
        of_each, terms = _names(tenant)
        asked = 0

        async def forget(redis: RedisClient) -> int:
            nonlocal asked
            asked += 1
            await redis.hdel(terms, glossary_id)
            return int(await redis.hdel(of_each, glossary_id))

        found = await self._commands.run("delete_glossary", forget, key=of_each)
        if not found and asked == 1:  # a repetition may find what the call before it, whose reply was lost, has left
            raise GlossaryNotFoundError

    async def _read(self, name: str, glossary_id: str) -> str:
        found = await self._commands.run("read_glossary", lambda redis: redis.hget(name, glossary_id), key=name)
        if found is None:
            raise GlossaryNotFoundError
        return str(found)


def _names(tenant: str) -> list[str]:
    """Of what is known of each, and of the terms of each; the braces put both into one slot of a Redis Cluster."""
    return [f"antecedent:{{{tenant}}}:{part}" for part in ("glossaries", "terms")]
