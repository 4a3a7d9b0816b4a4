"""What has become of files, for those who sent them."""

import asyncio
import hmac
import time
from collections.abc import Callable
from typing import Final

from service.errors import FileFailedError, FileNotReadyError, FileUnknownError
from service.files import problems
from service.schemas import FileProblem
from service.store.files import FileKey, Files, FileState

_FIRST_LOOK_SECONDS: Final = 0.05
"""After which somebody who waits for a file is looked up; each time twice as long, up to the last."""
_LAST_LOOK_SECONDS: Final = 0.8


async def state_of(
    files: Files,
    key: FileKey,
    *,
    secret: str = "",
    wait_seconds: float = 0,
    draining: Callable[[], bool] = lambda: False,
) -> FileState:
    """What has become of a file: at once, or once it is translated or has failed, but after so long in any case.

    Nobody waits at a replica that is `draining`, which is about to end.

    Raises:
        FileUnknownError: there is none of this id, or it has another secret.
        StoreUnavailableError: Redis is away.
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
    """See that a file is translated.

    Raises:
        FileNotReadyError: it is not translated yet.
        FileFailedError: it could not be translated.
    """
    if state.status == "error":
        problem = problems.read(state.problem)
        raise FileFailedError(problem.detail, problem=problem.model_dump())
    if state.status != "done":
        raise FileNotReadyError


def problem_of(state: FileState) -> FileProblem | None:
    """Why a file could not be translated; None where it could, or may yet be."""
    return problems.read(state.problem) if state.status == "error" else None


def seconds_remaining(state: FileState) -> int | None:
    """Until a file is translated, if it goes on as it has begun; None where it has not."""
    if state.status != "translating" or state.sentences == 0:
        return None
    each = max(0.0, time.time() - state.started) / state.sentences
    return round(each * (state.file.sentences - state.sentences))
