"""What the service answers when it cannot do as asked: each error with its code, HTTP status and when to try again.

No message holds text of a user. `service/http/problems.py` renders them, and those of `models`.
"""

from collections.abc import Iterable
from typing import ClassVar

from models.errors import AntecedentError


class SettingsError(AntecedentError):
    """A setting that is wrong or missing; the service does not start."""

    code = "invalid_settings"


class KeyStorageError(AntecedentError):
    """The keys, as they are stored, cannot be read or written; says what is wrong with them."""

    code = "key_storage_failed"


class StartupError(AntecedentError):
    """Something that the service needs cannot be started, or is in use already."""

    code = "startup_failed"


class ServiceError(AntecedentError):
    """An error with an HTTP status.

    `retry_after` is in seconds, None where trying again does not help or has no known time; an instance may know
    better than its class. Its `extras` are further members of the problem, such as `next_position`.
    """

    status: ClassVar[int] = 500
    retry_after: int | None = None

    def headers(self) -> dict[str, str]:
        """Header fields of the answer that tells of the error."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


class InvalidInputError(ServiceError):
    """A request that does not match its schema or exceeds a limit."""

    code = "invalid_input"
    status = 422


class UnauthenticatedError(ServiceError):
    """No key, or none that is valid; all of these look alike, so that nobody learns which keys there are."""

    code = "unauthenticated"
    status = 401

    def __init__(self) -> None:
        super().__init__("a valid key is needed: give it as Authorization: Bearer KEY")

    def headers(self) -> dict[str, str]:
        """Names the scheme, as every 401 must."""
        return {"WWW-Authenticate": 'Bearer realm="antecedent"'}


class ForbiddenError(ServiceError):
    """A valid key without the scope that the request needs."""

    code = "forbidden"
    status = 403


class KeysUnavailableError(ServiceError):
    """The keys cannot be read at the moment, and this one is not among those that are known."""

    code = "keys_unavailable"
    status = 503
    retryable = True
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("keys cannot be checked at the moment: try again soon")


class LanguagePairError(ServiceError):
    """No bundle, or not the one asked for, serves the language pair; `pairs` are those that are served."""

    code = "language_pair_not_served"
    status = 422


class ModelNotFoundError(ServiceError):
    """No bundle of that name is loaded; `models` are those that are."""

    code = "model_not_found"
    status = 404

    def __init__(self, loaded: Iterable[str]) -> None:
        names = sorted(loaded)
        super().__init__(f"no model of that name is loaded; loaded are {', '.join(names)}", models=names)


class SessionModelNotLoadedError(ServiceError):
    """The bundle that a session, on `model`, began with is not loaded any more, or another one has its name."""

    code = "session_model_not_loaded"
    status = 409

    def __init__(self, *, model: str) -> None:
        super().__init__(
            "the model that this session began with is not loaded any more: begin a new session", model=model
        )


class ModelNotReadyError(ServiceError):
    """Another replica has loaded the bundle of a session already; this one has yet to."""

    code = "model_not_ready"
    status = 503
    retryable = True
    retry_after = 2

    def __init__(self) -> None:
        super().__init__("this replica is still loading the model of this session: try again in a moment")


class ModelChangeInProgressError(ServiceError):
    """One administrator at a time changes the models."""

    code = "model_change_in_progress"
    status = 409
    retryable = True
    retry_after = 5

    def __init__(self) -> None:
        super().__init__("another change of the models is in progress: see what it has led to, then try again")


class ModelChangesDisabledError(ServiceError):
    """The models of this service are those of its settings."""

    code = "model_changes_disabled"
    status = 403

    def __init__(self) -> None:
        super().__init__("models cannot be changed at run time: ANTECEDENT_BUNDLE_ROOT is not set")


class BundleNotFoundError(ServiceError):
    """There is no bundle of that name under the bundle root."""

    code = "bundle_not_found"
    status = 404


class ModelRecordError(ServiceError):
    """What is under `key` in Redis, the models that all replicas shall serve, is of no form that this release knows."""

    code = "invalid_model_record"
    status = 500

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} in Redis cannot be read: delete it, and what ANTECEDENT_BUNDLES names is served")


class SessionsNotServedError(ServiceError):
    """A model, `model`, that reads the sentences that follow, and so translates whole documents only."""

    code = "sessions_not_served"
    status = 409

    def __init__(self, model: str) -> None:
        super().__init__(f"{model} reads the sentences that follow, so it translates whole documents only", model=model)


class LastModelError(ServiceError):
    """A service without a model would be of no use to anybody."""

    code = "last_model"
    status = 409

    def __init__(self) -> None:
        super().__init__("the last model cannot be unloaded: load another one first")


class SessionNotFoundError(ServiceError):
    """A session that never was, has been deleted, or has outlived its time-to-live."""

    code = "session_not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("no such session: it never was, was deleted, or outlived its time-to-live")


class SessionConflictError(ServiceError):
    """An idempotency key with which a session of another model, language pair or time-to-live was begun."""

    code = "session_conflict"
    status = 409

    def __init__(self) -> None:
        super().__init__("with this idempotency key another session was begun: its model, languages or ttl differ")


class PositionConflictError(ServiceError):
    """A position, or an idempotency key, that has another text already; `next_position` comes next."""

    code = "position_conflict"
    status = 409


class PositionGapError(ServiceError):
    """A position beyond the next one, or a sentence that a Redis has lost; `next_position` comes next."""

    code = "position_gap"
    status = 409


class PositionExpiredError(ServiceError):
    """A retry of a sentence so old that it is no longer kept; `next_position` comes next."""

    code = "position_expired"
    status = 410


class SentenceNotFoundError(ServiceError):
    """A position that has no sentence yet; `next_position` comes next."""

    code = "sentence_not_found"
    status = 404


class SentenceFailedError(ServiceError):
    """A sentence, at `failed_position`, that could not be translated: this one, or one without which it cannot be."""

    code = "sentence_failed"
    status = 409

    def __init__(self, position: int) -> None:
        super().__init__(
            f"the sentence at position {position} could not be translated: send it again, or correct it, and then this"
            " one",
            failed_position=position,
        )


class SessionFullError(ServiceError):
    """A session that has as many sentences as it may have."""

    code = "session_full"
    status = 409

    def __init__(self, sentences: int) -> None:
        super().__init__(
            f"this session has {sentences} sentences, as many as it may have: begin another one",
            next_position=sentences,
        )


class SessionRateLimitedError(ServiceError):
    """A session that has got as many sentences in a minute as it may get."""

    code = "session_rate_limited"
    status = 429
    retryable = True
    retry_after = 60

    def __init__(self, seconds: int) -> None:
        self.retry_after = seconds
        super().__init__(f"this session has got as many sentences in a minute as it may get: try again in {seconds} s")


class InvalidMessageError(ServiceError):
    """A message of a stream that is no sentence."""

    code = "invalid_message"
    status = 422


class TooManyStreamsError(ServiceError):
    """As many streams are open at this replica as may be."""

    code = "too_many_streams"
    status = 503
    retryable = True
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("as many streams are open as may be: try again in a moment, or at another replica")


class QueueFullError(ServiceError):
    """As many sentences wait as may wait; to begin a session, nearly as many."""

    code = "queue_full"
    status = 429
    retryable = True
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("as many sentences wait as may wait: try again in a moment")


class OriginNotAllowedError(ServiceError):
    """A WebSocket opened by a web page whose origin may not use the service."""

    code = "origin_not_allowed"
    status = 403

    def __init__(self) -> None:
        super().__init__("pages of this origin may not open a WebSocket here; ANTECEDENT_CORS_ORIGINS names others")


class HostNotAllowedError(ServiceError):
    """A service without keys that was called by another name than this machine's."""

    code = "host_not_allowed"
    status = 403

    def __init__(self) -> None:
        super().__init__("a service without keys (ANTECEDENT_KEYS) answers to localhost, 127.0.0.1 and [::1] alone")


class RateLimitedError(ServiceError):
    """A key has spent its sentences of the minute; `RateLimit` says how it stands."""

    code = "rate_limited"
    status = 429
    retryable = True
    retry_after = 60

    def __init__(self, message: str, *, retry_after: int, quota: dict[str, str]) -> None:
        self.retry_after = retry_after
        self._quota = quota
        super().__init__(message)

    def headers(self) -> dict[str, str]:
        """When to try again, and how the quota stands."""
        return super().headers() | self._quota


class ConcurrencyLimitError(ServiceError):
    """A key has as many requests and streams under way as it may have."""

    code = "too_many_requests_at_once"
    status = 429
    retryable = True
    retry_after = 1


class StoreUnavailableError(ServiceError):
    """Redis is away; sessions wait, whole documents go on."""

    code = "session_store_unavailable"
    status = 503
    retryable = True
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("the store of the sessions is away: try again in a moment; whole documents are served")


class ShuttingDownError(ServiceError):
    """This replica is about to end."""

    code = "shutting_down"
    status = 503
    retryable = True
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("this replica is shutting down: try again, at another one")


class DeadlineError(ServiceError):
    """A sentence waited longer for its translation than is allowed."""

    code = "deadline_exceeded"
    status = 504
    retryable = True
    retry_after = 5

    def __init__(self) -> None:
        super().__init__("a sentence was not translated before its deadline")


class OwnDeadlineError(ServiceError):
    """The `deadline_seconds` of the request itself were over before its answer."""

    code = "own_deadline_exceeded"
    status = 504
    retryable = True
    retry_after = 5

    def __init__(self) -> None:
        super().__init__("there was no answer within deadline_seconds")


class WorkerDiedError(ServiceError):
    """The process that was translating has died; after the second one the request is given up."""

    code = "worker_died"
    status = 500

    def __init__(self) -> None:
        super().__init__("the process that translated a sentence died, and so did the one that tried it again")


class ClientLeftError(ServiceError):
    """The client closed its connection before the answer; nobody reads this."""

    code = "client_left"
    status = 499

    def __init__(self) -> None:
        super().__init__("the client left before its answer")
