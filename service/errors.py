"""What the service answers when it cannot do as asked: each error with its code, HTTP status and when to try again.

No message holds text of a user. `service/http/problems.py` renders them, and those of `models`.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from models.errors import AntecedentError


class SettingsError(AntecedentError):
    """A setting is wrong or missing, so the service does not start."""

    code = "invalid_settings"


class KeyStorageError(AntecedentError):
    """The stored keys cannot be read or written; the message says why."""

    code = "key_storage_failed"


class StartupError(AntecedentError):
    """Something that the service needs cannot be started, or is already in use."""

    code = "startup_failed"


class ServiceError(AntecedentError):
    """An error with an HTTP status.

    `retry_after` is in seconds, None where trying again does not help or has no known time; an instance may know
    better than its class. Its `extras` are further members of the problem, such as `next_position`. A class whose
    errors all say the same has a `message`; for the others, each error is given its own.
    """

    status: ClassVar[int] = 500
    retry_after: int | None = None
    message: ClassVar[str]

    def __init__(self, message: str | None = None, **extras: Any) -> None:  # noqa: ANN401 - any JSON value
        super().__init__(self.message if message is None else message, **extras)

    def headers(self) -> dict[str, str]:
        """Header fields of the answer that tells of the error."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


class InvalidInputError(ServiceError):
    """The request does not match its schema, or exceeds a limit."""

    code = "invalid_input"
    status = 422


class UnauthenticatedError(ServiceError):
    """The key is missing or invalid; the answer does not say which, so that nobody learns which keys exist."""

    code = "unauthenticated"
    status = 401
    message = "a valid key is required: send it as Authorization: Bearer KEY"

    def headers(self) -> dict[str, str]:
        """Names the scheme, as every 401 must."""
        return {"WWW-Authenticate": 'Bearer realm="antecedent"'}


class ForbiddenError(ServiceError):
    """The key is valid, but does not have the scope that the request requires."""

    code = "forbidden"
    status = 403


class KeysUnavailableError(ServiceError):
    """The keys cannot be read at the moment, and this one is not among those already known."""

    code = "keys_unavailable"
    status = 503
    retryable = True
    retry_after = 1
    message = "the key cannot be checked at the moment: try again soon"


class LanguagePairError(ServiceError):
    """No model, or not the requested one, serves the language pair; `pairs` lists those that are served."""

    code = "language_pair_not_served"
    status = 422


class ModelNotFoundError(ServiceError):
    """No model of that name is loaded; `models` lists those that are."""

    code = "model_not_found"
    status = 404

    def __init__(self, loaded: Iterable[str]) -> None:
        names = sorted(loaded)
        super().__init__(f"no model of that name is loaded; available: {', '.join(names)}", models=names)


class SessionModelNotLoadedError(ServiceError):
    """The model that the session began with, `model`, is no longer loaded, or another bundle now has its name."""

    code = "session_model_not_loaded"
    status = 409

    def __init__(self, *, model: str) -> None:
        super().__init__("the model that this session began with is no longer loaded: begin a new session", model=model)


class ModelNotReadyError(ServiceError):
    """Another replica has already loaded the model of the session, but this one has not yet."""

    code = "model_not_ready"
    status = 503
    retryable = True
    retry_after = 2
    message = "this replica is still loading the model of this session: try again in a moment"


class ModelChangeInProgressError(ServiceError):
    """Another change of the models is in progress; there can be only one at a time."""

    code = "model_change_in_progress"
    status = 409
    retryable = True
    retry_after = 5
    message = "another change of the models is in progress: check its result, then try again"


class ModelChangesDisabledError(ServiceError):
    """The models of this service are fixed in its settings."""

    code = "model_changes_disabled"
    status = 403
    message = "models cannot be changed at run time: ANTECEDENT_BUNDLE_ROOT is not set"


class BundleNotFoundError(ServiceError):
    """There is no bundle of that name in the bundle root."""

    code = "bundle_not_found"
    status = 404


class ModelRecordError(ServiceError):
    """The record in Redis of the models that all replicas should serve has a format unknown to this release."""

    code = "invalid_model_record"
    status = 500

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} in Redis cannot be read: delete it to serve what ANTECEDENT_BUNDLES names")


class SessionsNotServedError(ServiceError):
    """The model, `model`, also reads the sentences that follow, so it translates only whole documents."""

    code = "sessions_not_served"
    status = 409

    def __init__(self, model: str) -> None:
        super().__init__(
            f"{model} also reads the sentences that follow, so it translates only whole documents", model=model
        )


class LastModelError(ServiceError):
    """The last model cannot be unloaded, since nothing could be translated without it."""

    code = "last_model"
    status = 409
    message = "the last model cannot be unloaded: load another one first"


class SessionNotFoundError(ServiceError):
    """The session never existed, has been deleted, or has expired."""

    code = "session_not_found"
    status = 404
    message = "no such session: it never existed, was deleted, or has expired"


class SessionConflictError(ServiceError):
    """The idempotency key (or `document_id`) belongs to a session with another model, language pair or options."""

    code = "session_conflict"
    status = 409
    message = "this idempotency key or document_id belongs to another session: its model, languages or options differ"


class GlossaryNotFoundError(ServiceError):
    """There is no glossary with this id."""

    code = "glossary_not_found"
    status = 404
    message = "no such glossary: it never existed, or was deleted"


class TooManyGlossariesError(ServiceError):
    """The tenant already has the maximum number of glossaries."""

    code = "too_many_glossaries"
    status = 409

    def __init__(self, most: int) -> None:
        super().__init__(f"there are {most} glossaries already, which is the maximum: delete one first")


class FileUnknownError(ServiceError):
    """There is no file with this id, or its `document_key` is a different one."""

    code = "file_not_found"
    status = 404
    message = "no such file: it never existed, was deleted, has another document_key, or has expired"


class FileNotReadyError(ServiceError):
    """The file is not translated yet."""

    code = "file_not_ready"
    status = 409
    retryable = True
    retry_after = 1
    message = "the file is not translated yet: try again"


class FileFailedError(ServiceError):
    """The file could not be translated; `problem` says why, with a code of its own."""

    code = "file_failed"
    status = 422

    def __init__(self, why: str, *, problem: dict[str, Any]) -> None:
        super().__init__(f"the file could not be translated: {why}", problem=problem)


class FileConflictError(ServiceError):
    """The idempotency key belongs to another file, or to the same one with other languages or options."""

    code = "file_conflict"
    status = 409
    message = "this idempotency key belongs to another file: its content, name, languages or options differ"


class TooManyFilesError(ServiceError):
    """The tenant has reached its maximum number of files, or of bytes in files."""

    code = "too_many_files"
    status = 429
    retryable = True
    retry_after = 5

    def __init__(self, most: str) -> None:
        super().__init__(
            f"at most {most} are kept: wait for the existing ones, which GET /v1/files lists, then fetch them and"
            " delete them"
        )


class PositionConflictError(ServiceError):
    """The position or idempotency key already has another text; the next one is `next_position`."""

    code = "position_conflict"
    status = 409


class PositionGapError(ServiceError):
    """The position is beyond the next one, `next_position`, or Redis has lost the sentence."""

    code = "position_gap"
    status = 409


class PositionExpiredError(ServiceError):
    """The sentence is so old that it is no longer kept; the next position is `next_position`."""

    code = "position_expired"
    status = 410


class SentenceNotFoundError(ServiceError):
    """There is no sentence at this position yet; the next one is `next_position`."""

    code = "sentence_not_found"
    status = 404


class SentenceFailedError(ServiceError):
    """The sentence at `failed_position`, this one or one that it depends on, could not be translated."""

    code = "sentence_failed"
    status = 409

    def __init__(self, position: int) -> None:
        super().__init__(
            f"the sentence at position {position} could not be translated: send it again or correct it, then send"
            " this one",
            failed_position=position,
        )


class SessionFullError(ServiceError):
    """The session has reached its maximum number of sentences."""

    code = "session_full"
    status = 409

    def __init__(self, sentences: int) -> None:
        super().__init__(
            f"this session has {sentences} sentences, which is the maximum: begin a new session",
            next_position=sentences,
        )


class SessionRateLimitedError(ServiceError):
    """The session has reached its limit of sentences per minute."""

    code = "session_rate_limited"
    status = 429
    retryable = True
    retry_after = 60

    def __init__(self, seconds: int) -> None:
        self.retry_after = seconds
        super().__init__(f"this session has reached its limit of sentences per minute: try again in {seconds} s")


class UpgradeRequiredError(ServiceError):
    """A stream was requested without the handshake of a WebSocket."""

    code = "upgrade_required"
    status = 426
    message = "this path is a WebSocket: open it with ws:// or wss://, and have every proxy in between pass Upgrade on"

    def headers(self) -> dict[str, str]:
        """Names the protocol, as every 426 must, for this connection."""
        return {"Connection": "Upgrade", "Upgrade": "websocket"}


class InvalidMessageError(ServiceError):
    """A message on a stream is not a sentence."""

    code = "invalid_message"
    status = 422


class TooManyStreamsError(ServiceError):
    """This replica has reached its limit of open streams."""

    code = "too_many_streams"
    status = 503
    retryable = True
    retry_after = 1
    message = "this replica has reached its limit of open streams: try again in a moment, or at another replica"


class QueueFullError(ServiceError):
    """The queue is full, or too full to begin another session."""

    code = "queue_full"
    status = 429
    retryable = True
    retry_after = 1
    message = "the queue is full: try again in a moment"


class OriginNotAllowedError(ServiceError):
    """A web page whose origin is not allowed tried to open a WebSocket, or to send a form."""

    code = "origin_not_allowed"
    status = 403
    message = "pages of this origin may not open WebSockets or send forms; ANTECEDENT_CORS_ORIGINS lists those that may"


class HostNotAllowedError(ServiceError):
    """A service without keys was called under a host name other than that of its own machine."""

    code = "host_not_allowed"
    status = 403
    message = "a service without keys (ANTECEDENT_KEYS) can be called only as localhost, 127.0.0.1 or [::1]"


class RateLimitedError(ServiceError):
    """The key has reached its limit of sentences per minute; the header `RateLimit` gives its state."""

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
    """The key has reached its limit of simultaneous requests and streams."""

    code = "too_many_requests_at_once"
    status = 429
    retryable = True
    retry_after = 1


class StoreUnavailableError(ServiceError):
    """Redis is unavailable; sessions have to wait, but whole documents are still translated."""

    code = "session_store_unavailable"
    status = 503
    retryable = True
    retry_after = 1
    message = "the session store is unavailable: try again in a moment; whole documents are still translated"


class ShuttingDownError(ServiceError):
    """This replica is shutting down."""

    code = "shutting_down"
    status = 503
    retryable = True
    retry_after = 1
    message = "this replica is shutting down: try again at another one"


class DeadlineError(ServiceError):
    """A sentence was not translated within the service's deadline."""

    code = "deadline_exceeded"
    status = 504
    retryable = True
    retry_after = 5
    message = "a sentence was not translated before its deadline"


class OwnDeadlineError(ServiceError):
    """There was no answer within the `deadline_seconds` of the request."""

    code = "own_deadline_exceeded"
    status = 504
    retryable = True
    retry_after = 5
    message = "there was no answer within deadline_seconds"


class WorkerDiedError(ServiceError):
    """The process that was translating died, and so did the one that tried again; the request was given up."""

    code = "worker_died"
    status = 500
    message = "the process that was translating a sentence died, and so did the one that tried again"


class ClientLeftError(ServiceError):
    """The client closed its connection before the answer, so it never sees this error."""

    code = "client_left"
    status = 499
    message = "the client closed its connection before the answer"
