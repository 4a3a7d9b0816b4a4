"""The state of files being translated, for those who sent them."""

import asyncio
import hmac
import time
from collections.abc import Callable
from typing import Final

from service.errors import FileFailedError, FileNotReadyError, FileUnknownError
from service.files import problems
from service.schemas.problems import FileProblem
from service.store.files import FileKey, Files, FileState

_FIRST_LOOK_SECONDS: Final = 0.05
"""The first pause between looks at a file's state while somebody waits; it doubles up to `_LAST_LOOK_SECONDS`."""
_LAST_LOOK_SECONDS: Final = 0.8


async def state_of(
    files: Files,
    key: FileKey,
    *,
    secret: str = "",
    wait_seconds: float = 0,
    draining: Callable[[], bool] = lambda: False,
) -> FileState:
    """Return the state of a file: once it is translated or has failed, but after `wait_seconds` at the latest.

    A replica that is `draining`, about to end, answers at once.

    Raises:
        FileUnknownError: there is no file with this id, or it has another secret.
        StoreUnavailableError: Redis is unavailable.
    """
    until, pause = time.monotonic() + wait_seconds, _FIRST_LOOK_SECONDS
    while True:
        state = await files.state(key)
        if not hmac.compare_digest(state.file.secret.encode(), secret.encode()):
            raise FileUnknownError
        if state.settled or time.monotonic() >= until or draining():
            return state
        await asyncio.sleep(min(pause, max(0.0, until - time.monotonic())))
        pause = min(2 * pause, _LAST_LOOK_SECONDS)


def check_done(state: FileState) -> None:
    """Check that a file is translated.

    Raises:
        FileNotReadyError: it is not translated yet.
        FileFailedError: it could not be translated.
    """
    if (problem := problem_of(state)) is not None:
        raise FileFailedError(problem.detail, problem=problem.model_dump())
    if state.status != "done":
        raise FileNotReadyError


def problem_of(state: FileState) -> FileProblem | None:
    """Return why a file could not be translated; None if it has not failed."""
    return problems.read(state.problem) if state.status == "error" else None


def seconds_remaining(state: FileState) -> int | None:
    """Estimate how long a file will take, at its pace so far; None if no sentence is translated yet."""
    if state.status != "translating" or state.sentences == 0:
        return None
    each = max(0.0, time.time() - state.started) / state.sentences
    return round(each * (state.file.sentences - state.sentences))
