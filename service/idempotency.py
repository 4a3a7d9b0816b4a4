"""Ids that follow from the idempotency keys of clients, so that a retry needs no record of its own."""

import base64
import hashlib


def id_of(*parts: str) -> str:
    """The same 22 characters for the same parts, such as a tenant and its key: an id of the form that all have."""
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
