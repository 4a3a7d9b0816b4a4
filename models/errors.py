"""The exception tree: everything that Antecedent raises on purpose, each with a stable code.

Knows nothing of HTTP; the service gives each code a status. A message is one sentence that a user can act on.
"""

from pathlib import Path
from typing import Any, ClassVar


class AntecedentError(Exception):
    """Base of every error that is raised on purpose.

    `code` never changes once released; `retryable` says whether the same call may succeed later; `extras` are facts
    that a program can read, by name, such as the position of the sentence that is wrong.
    """

    code: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **extras: Any) -> None:  # noqa: ANN401 - any JSON value
        self.extras = extras
        super().__init__(message)


class ConfigError(AntecedentError):
    """A configuration file that is missing, malformed or contradicts itself."""

    code = "invalid_config"


class DataError(AntecedentError):
    """A corpus that cannot be read as aligned documents; names the file and the line (from 1)."""

    code = "invalid_data"

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)


class CheckpointError(AntecedentError):
    """A checkpoint that is damaged, foreign, or does not fit the configuration."""

    code = "invalid_checkpoint"


class DivergedError(AntecedentError):
    """A training whose loss or gradients are no numbers any more; nothing has been moved by them."""

    code = "training_diverged"


class PictureError(AntecedentError):
    """A picture that cannot be drawn of what is given."""

    code = "invalid_picture"


class ClusterError(AntecedentError):
    """A cluster that cannot be reached, or that could not finish what it was given."""

    code = "cluster_failed"
    retryable = True


class BundleError(AntecedentError):
    """A bundle that cannot be served: damaged, of an unknown format, or of another language pair."""

    code = "invalid_bundle"


class SelfTestError(BundleError):
    """A bundle that loads, but does not translate as it should; says what is wrong."""

    code = "self_test_failed"


class RequestError(AntecedentError):
    """A single request that cannot be translated; its batch mates are not affected."""

    code = "invalid_request"


class SentenceTooLongError(RequestError):
    """A sentence that exceeds the model's length and has no clause boundary at which to split it."""

    code = "sentence_too_long"


class UnsupportedOptionError(RequestError):
    """An option that this model or strategy does not offer."""

    code = "unsupported_option"
