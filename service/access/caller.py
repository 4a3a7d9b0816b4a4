"""Who makes a request, and what they may do."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, with_config

from service.errors import ForbiddenError
from service.settings import MOST_ALLOWED

Scope = Literal["translate", "admin"]


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class KeyLimits:
    """A key's own limits; None leaves the service's default."""

    sentences_per_minute: Annotated[int, Field(ge=1, le=MOST_ALLOWED)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=MOST_ALLOWED)] | None = None
    """Requests at a time."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A tenant acting through one of its keys; `key_id` names the key and is not secret."""

    tenant: str
    key_id: str
    scopes: frozenset[Scope]
    limits: KeyLimits = KeyLimits()

    def require(self, scope: Scope) -> None:
        """Make sure that the caller's key has a scope.

        Raises:
            ForbiddenError: it does not.
        """
        if scope not in self.scopes:
            raise ForbiddenError(f"the key does not have the scope {scope}")


ANYBODY = Caller("default", "none", frozenset({"translate", "admin"}))
"""The one caller of a service without keys, which listens on loopback only."""
