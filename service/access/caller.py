"""Who makes a request, and what they may do."""

from dataclasses import dataclass
from typing import Literal

Scope = Literal["translate", "admin"]


@dataclass(frozen=True, slots=True)
class Caller:
    """A tenant through one of its keys; `key_id` names the key and is no secret."""

    tenant: str
    key_id: str
    scopes: frozenset[Scope]


ANYBODY = Caller("default", "none", frozenset({"translate", "admin"}))
"""The one caller of a service without keys, which listens on loopback only."""
