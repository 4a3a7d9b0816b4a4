"""What the routes raise, for the OpenAPI document: errors by what a route does."""

from typing import Final

from models.errors import AntecedentError, RequestError, SentenceTooLongError, UnsupportedOptionError
from service.errors import (
    ConcurrencyLimitError,
    DeadlineError,
    ForbiddenError,
    KeysUnavailableError,
    LanguagePairError,
    ModelNotFoundError,
    QueueFullError,
    RateLimitedError,
    SessionNotFoundError,
    ShuttingDownError,
    StoreUnavailableError,
    UnauthenticatedError,
    WorkerDiedError,
)

Kinds = tuple[type[AntecedentError], ...]

BY_KEY: Final[Kinds] = (UnauthenticatedError, ForbiddenError, KeysUnavailableError)
"""Asks for a key."""
BY_LIMITS: Final[Kinds] = (*BY_KEY, RateLimitedError, ConcurrencyLimitError)
"""Counts against a key's limits."""
BY_CHOICE: Final[Kinds] = (ModelNotFoundError, LanguagePairError)
"""Chooses a model."""
BY_STORE: Final[Kinds] = (SessionNotFoundError, StoreUnavailableError)
"""Looks up a session."""
BY_TRANSLATING: Final[Kinds] = (
    RequestError,
    SentenceTooLongError,
    UnsupportedOptionError,
    QueueFullError,
    WorkerDiedError,
    ShuttingDownError,
    DeadlineError,
)
"""Translates."""
