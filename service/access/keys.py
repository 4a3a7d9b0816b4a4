"""API keys: what one looks like, and what is kept of it.

A key is `ant_<id>_<secret>`. The id finds the record and is not secret; of the secret only a hash is kept.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from service.access.caller import Caller, KeyLimits, Scope
from service.errors import InvalidInputError

_ID_BYTES, _SECRET_BYTES = 8, 32
_ID = r"[0-9a-f]{16}"
_KEY = re.compile(rf"ant_({_ID})_([A-Za-z0-9_-]{{43}})")
_NO_HASH = "0" * 64
"""No known secret has this hash."""

KeyId = Annotated[str, Field(pattern=f"^{_ID}$")]
Tenant = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""No colon or brace: a tenant's name is part of the names in Redis, and must not reach into another's."""
Label = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,100}$")]


@dataclass(frozen=True, slots=True)
class Key:
    """A key as a client presents it."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "Key | None":
        """Return the key that `text` spells, or None if it cannot be one."""
        found = _KEY.fullmatch(text)
        return None if found is None else cls(*found.groups())

    @classmethod
    def new(cls) -> "Key":
        """Make a key that nobody can guess."""
        return cls(secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES))

    @property
    def hash(self) -> str:
        """What is kept of the secret.

        Slow, salted hashes are for passwords, which can be guessed. Nobody can try even a small part of 256 random
        bits, and this hash is computed for each request.
        """
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def reveal(self) -> str:
        """Return the text that `parse` reads, including the secret."""
        return f"ant_{self.id}_{self.secret}"


def key_id_of(text: str) -> str:
    """Return the id in an id, a whole key or the part of one after `ant_`; never return what may hold a secret.

    Raises:
        InvalidInputError: it is none of these.
    """
    found = re.match(rf"(?:ant_)?({_ID})(?:_|$)", text)
    if found is None:
        raise InvalidInputError("the id of a key is the 16 characters between ant_ and the next _")
    return found[1]


class KeyRecord(BaseModel):
    """What is kept of a key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: KeyId
    tenant: Tenant
    scopes: tuple[Scope, ...] = Field(min_length=1)
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", repr=False)]
    created: AwareDatetime
    expires: AwareDatetime | None = None
    label: Label | None = None
    limits: KeyLimits = KeyLimits()

    def expired(self, now: datetime) -> bool:
        """Return whether the key has expired."""
        return self.expires is not None and now >= self.expires

    def caller(self) -> Caller:
        """Return the caller that presents the key."""
        return Caller(self.tenant, self.id, frozenset(self.scopes), self.limits)


def find(key: Key, records: Mapping[str, KeyRecord]) -> KeyRecord | None:
    """Return the key's record, if any; the work is the same if there is none, so that ids cannot be probed."""
    record = records.get(key.id)
    same = hmac.compare_digest(key.hash, _NO_HASH if record is None else record.hash)
    return record if same else None
