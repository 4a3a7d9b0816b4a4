"""The exception tree: everything that Antecedent raises on purpose, each with a stable code.

It is independent of HTTP; the service maps each code to a status. A message is one sentence that a user can act on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar


class AntecedentError(Exception):
    """Base of every error that is raised on purpose.

    `code` never changes once released; `retryable` says whether the same call may succeed later; `extras` are details
    for programs, by name, such as the position of the sentence that is wrong.
    """

    code: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **extras: Any) -> None:  # noqa: ANN401 - any JSON value
        self.extras = extras
        super().__init__(message)


class ConfigError(AntecedentError):
    """A configuration file is missing, is malformed, or contradicts itself."""

    code = "invalid_config"


class DataError(AntecedentError):
    """A corpus cannot be read as aligned documents; the message names the file and the line (from 1)."""

    code = "invalid_data"

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.path = path
        self.line = line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)


class CheckpointError(AntecedentError):
    """A checkpoint is damaged, has another format, or does not fit the configuration."""

    code = "invalid_checkpoint"


class DivergedError(AntecedentError):
    """The loss or the gradients of a training run are no longer finite; the weights were not updated with them."""

    code = "training_diverged"


class FeedError(AntecedentError):
    """A process that prepares the batches of a training run was killed; the run can resume at its last checkpoint."""

    code = "training_interrupted"
    retryable = True


class PictureError(AntecedentError):
    """A picture cannot be drawn from the given input."""

    code = "invalid_picture"


class ClusterError(AntecedentError):
    """The cluster cannot be reached, or could not finish its work."""

    code = "cluster_failed"
    retryable = True


class BundleError(AntecedentError):
    """The bundle cannot be served: it is damaged, or has an unknown format or another language pair."""

    code = "invalid_bundle"


class SelfTestError(BundleError):
    """The bundle can be loaded, but does not translate as it should; the message says what is wrong."""

    code = "self_test_failed"


class RequestError(AntecedentError):
    """A single sentence cannot be translated; the others in its batch are not affected."""

    code = "invalid_request"


class SentenceTooLongError(RequestError):
    """A sentence, draft, or known or corrected translation has too many characters, or is too long for the model."""

    code = "sentence_too_long"


class UnsupportedOptionError(RequestError):
    """This model or strategy does not support the option."""

    code = "unsupported_option"


@contextmanager
def packages_needed(what: str, extra: str) -> Iterator[None]:
    """Turn the failure of an import within the block into advice on how to install what is missing.

    Raises:
        ConfigError: a package that `what` needs, one of the `extra`, is not installed.
    """
    try:
        yield
    except ImportError:
        raise ConfigError(f"{what} needs packages that are not installed: pip install 'antecedent[{extra}]'") from None
