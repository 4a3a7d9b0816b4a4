"""The errors that routes raise, for the OpenAPI document, grouped by what a route does."""

from typing import Final

from models.errors import (
    AntecedentError,
    BundleError,
    RequestError,
    SelfTestError,
    SentenceTooLongError,
    UnsupportedOptionError,
)
from service.errors import (
    BundleNotFoundError,
    ConcurrencyLimitError,
    DeadlineError,
    ForbiddenError,
    KeysUnavailableError,
    LanguagePairError,
    LastModelError,
    ModelChangeInProgressError,
    ModelChangesDisabledError,
    ModelNotFoundError,
    ModelRecordError,
    OwnDeadlineError,
    QueueFullError,
    RateLimitedError,
    SessionNotFoundError,
    ShuttingDownError,
    StoreUnavailableError,
    UnauthenticatedError,
    WorkerDiedError,
)

Kinds = tuple[type[AntecedentError], ...]

BY_ANY_KEY: Final[Kinds] = (UnauthenticatedError, KeysUnavailableError)
"""Asks for a key, whichever."""
BY_KEY: Final[Kinds] = (UnauthenticatedError, ForbiddenError, KeysUnavailableError)
"""Asks for a key of a scope."""
BY_LIMITS: Final[Kinds] = (*BY_KEY, RateLimitedError, ConcurrencyLimitError)
"""Counts against a key's limits."""
BY_CHOICE: Final[Kinds] = (ModelNotFoundError, LanguagePairError)
"""Chooses a model."""
BY_ADMINISTRATION: Final[Kinds] = (
    *BY_KEY,
    ModelChangesDisabledError,
    ModelChangeInProgressError,
    ModelNotFoundError,
    LastModelError,
    ModelRecordError,
    StoreUnavailableError,
)
"""Changes the models."""
BY_LOADING: Final[Kinds] = (BundleNotFoundError, BundleError, SelfTestError)
"""Loads a bundle."""
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
    OwnDeadlineError,
)
"""Translates."""
