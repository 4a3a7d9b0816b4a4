"""The glossaries of tenants, in Redis until they are deleted. Stores text only, and does no term matching."""

from collections.abc import Callable
from dataclasses import dataclass

import orjson
from pydantic import TypeAdapter

from service.errors import GlossaryNotFoundError, TooManyGlossariesError
from service.store.commands import Commands, read_script
from service.store.connection import RedisClient


@dataclass(frozen=True, slots=True)
class KeptDictionary:
    """A language pair of a glossary, and how many terms it has for the pair."""

    source_lang: str
    target_lang: str
    terms: int

    @property
    def pair(self) -> str:
        """The pair's name, such as `ja-en`."""
        return f"{self.source_lang}-{self.target_lang}"


@dataclass(frozen=True, slots=True)
class KeptGlossary:
    """What is known of a glossary, except its terms; `created` is a time in ISO 8601."""

    id: str
    name: str
    created: str
    dictionaries: list[KeptDictionary]


Terms = dict[str, str]
"""The terms of each language pair, by its name, as written by `service.use_cases.terms`."""
_KEPT = TypeAdapter(KeptGlossary)


class Glossaries:
    """The glossaries of all tenants, each of which may keep at most `most`.

    All operations raise StoreUnavailableError while Redis is away.
    """

    def __init__(self, commands: Commands, most: int) -> None:
        self._commands = commands
        self._most = most
        self._keep = read_script("service.store", "keep_glossary")
        self._get = read_script("service.store", "read_glossary")
        self._change = read_script("service.store", "change_glossary")

    async def keep(self, tenant: str, glossary: KeptGlossary, terms: Terms) -> None:
        """Keep another glossary.

        Raises:
            TooManyGlossariesError: the tenant keeps as many as it may.
        """
        args = [glossary.id, orjson.dumps(glossary), orjson.dumps(terms), self._most]
        if not await self._commands.evaluate(self._keep, _names(tenant), args):
            raise TooManyGlossariesError(self._most)

    async def change(
        self, tenant: str, glossary_id: str, changed: Callable[[KeptGlossary, Terms], tuple[KeptGlossary, Terms]]
    ) -> KeptGlossary:
        """Replace a glossary by what `changed` makes of it, called again if somebody else has changed it meanwhile.

        Raises:
            GlossaryNotFoundError: the tenant has none with this id.
        """
        while True:
            read = await self._read(tenant, glossary_id)
            glossary, terms = changed(*_parsed(*read))
            args = [glossary_id, *read, orjson.dumps(glossary), orjson.dumps(terms)]
            if await self._commands.evaluate(self._change, _names(tenant), args):
                return glossary

    async def all(self, tenant: str) -> list[KeptGlossary]:
        """Return all glossaries of a tenant, oldest first."""
        of_each, _ = _names(tenant)
        found = await self._commands.run("list_glossaries", lambda redis: redis.hgetall(of_each), key=of_each)
        return sorted(map(_glossary, found.values()), key=lambda glossary: (glossary.created, glossary.id))

    async def find(self, tenant: str, glossary_id: str) -> tuple[KeptGlossary, Terms]:
        """Return a glossary of a tenant, and its terms.

        Raises:
            GlossaryNotFoundError: the tenant has none with this id.
        """
        return _parsed(*await self._read(tenant, glossary_id))

    async def delete(self, tenant: str, glossary_id: str) -> None:
        """Delete a glossary; sessions that have begun with it keep its terms.

        Raises:
            GlossaryNotFoundError: the tenant has none with this id.
        """
        of_each, terms = _names(tenant)

        async def forget(redis: RedisClient) -> int:
            await redis.hdel(terms, glossary_id)
            return int(await redis.hdel(of_each, glossary_id))

        if not await self._commands.delete("delete_glossary", forget, key=of_each):
            raise GlossaryNotFoundError

    async def _read(self, tenant: str, glossary_id: str) -> tuple[str, str]:
        known, terms = await self._commands.evaluate(self._get, _names(tenant), [glossary_id])
        if known is None or terms is None:
            raise GlossaryNotFoundError
        return str(known), str(terms)


def _parsed(known: str, terms: str) -> tuple[KeptGlossary, Terms]:
    glossary = _glossary(known)
    if terms.startswith("["):
        (only,) = glossary.dictionaries
        return glossary, {only.pair: terms}
    return glossary, orjson.loads(terms)


def _glossary(known: str | bytes) -> KeptGlossary:
    """Parse a glossary; one from before glossaries had several language pairs has its only pair at the top level."""
    found = orjson.loads(known)
    return _KEPT.validate_python({"dictionaries": [found]} | found)


def _names(tenant: str) -> list[str]:
    """Return the names of the glossaries and of their terms; the braces put both into one slot of a Redis Cluster."""
    return [f"antecedent:{{{tenant}}}:{part}" for part in ("glossaries", "terms")]
