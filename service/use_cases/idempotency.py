"""Ids derived from clients' idempotency keys, so that a retry needs no record of its own."""

import base64
import hashlib


def id_of(*parts: str) -> str:
    """Return the same 22 characters, the form of all ids, for the same parts, such as a tenant and its key."""
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
