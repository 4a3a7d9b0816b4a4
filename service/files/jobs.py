"""Translate the files sent to any replica, one after the other, each under a lease that is renewed meanwhile.

If a replica dies, its lease expires and another one starts over. A replica that shuts down releases its files once its
requests are answered, and one that lacks the languages or the model leaves a file to others. After a number of failed
attempts, a file is given up.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from models.errors import AntecedentError
from service.background import in_background
from service.errors import (
    LanguagePairError,
    ModelNotFoundError,
    ServiceError,
    ShuttingDownError,
    StoreUnavailableError,
)
from service.files import problems
from service.files.kinds import is_known
from service.files.translation import Progress, translated_file
from service.schemas.problems import FileProblem
from service.store.files import ClaimedFile, FileKey, Files
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics
from service.use_cases.documents import Documents

MOST_ATTEMPTS: Final = 3
_LOOK_SECONDS: Final = 0.5
"""How often a replica looks for files that others were sent, or have released."""
_ELSEWHERE_SECONDS: Final = 30.0
"""How long a replica leaves a file to others if it lacks the model, or another release stored the file."""

_log = get_logger(__name__)


class FileJobs:
    """Translates files, up to `at_once` at a time."""

    def __init__(
        self,
        files: Files,
        documents: Documents,
        metrics: Metrics,
        new_id: Callable[[], str],
        *,
        at_once: int,
        lease_seconds: float,
        draining: Callable[[], bool],
    ) -> None:
        self._files = files
        self._documents = documents
        self._metrics = metrics
        self._new_id = new_id
        self._at_once = at_once
        self._renew_seconds = lease_seconds / 3
        self._draining = draining
        self._held: set[FileKey] = set()
        self._elsewhere: dict[FileKey, float] = {}
        """Until when, in the event loop's time, each of these files is left to others."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Translate files until the end of the block, then leave unfinished ones to others."""
        return in_background(*(self._one_after_the_other() for _ in range(self._at_once)))

    async def _one_after_the_other(self) -> None:
        token = self._new_id()
        while not self._draining():
            claimed = None
            try:
                claimed = await self._files.claim(token, self._held, self._left_to_others())
                if claimed is not None:
                    token = self._new_id()  # not before: a claim whose reply was lost is repeated with the same token
                    await self._hold(claimed)
            except StoreUnavailableError:
                pass  # logged already
            except Exception:  # noqa: BLE001 - whatever it was, the other files go on
                _log.exception("file_failed")
            if claimed is None:
                await self._news()

    async def _news(self) -> None:
        """Wait until this replica is sent a file, or it is time to look for those of others."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await self._files.news.wait()
        self._files.news.clear()

    def _left_to_others(self) -> set[FileKey]:
        now = asyncio.get_running_loop().time()
        self._elsewhere = {key: until for key, until in self._elsewhere.items() if until > now}
        return set(self._elsewhere)

    async def _hold(self, claimed: ClaimedFile) -> None:
        """Translate a file, but stop if its lease is lost: the file has expired, or another replica has it."""
        self._held.add(claimed.key)
        progress = Progress()
        work = asyncio.create_task(self._translate(claimed, progress))
        lost = asyncio.create_task(self._until_lost(claimed, progress))
        try:
            await asyncio.wait({work, lost}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            with suppress(StoreUnavailableError):  # the lease expires by itself
                await self._files.release(claimed, counts=False)
            raise
        finally:
            self._held.discard(claimed.key)
            for task in (work, lost):
                task.cancel()
            await asyncio.wait({work, lost})

    async def _until_lost(self, claimed: ClaimedFile, progress: Progress) -> None:
        held = True
        while held:
            await asyncio.sleep(self._renew_seconds)
            with suppress(StoreUnavailableError):  # another replica that takes it over gets the same result
                held = await self._files.renew(claimed, progress.sentences, progress.unsure)

    async def _translate(self, claimed: ClaimedFile, progress: Progress) -> None:
        if claimed.attempt > MOST_ATTEMPTS:
            await self._give_up(claimed, problems.after_attempts(MOST_ATTEMPTS, claimed.problem))
            return
        if claimed.file is None or not is_known(claimed.file.name):
            unknown = problems.without_error("was sent to another release")
            await self._leave(claimed, unknown, _ELSEWHERE_SECONDS, counts=True)
            return
        try:
            translation = await translated_file(
                self._documents, claimed.file, claimed.content, claimed.memory, progress
            )
        except AntecedentError as error:
            await self._fail(claimed, error)
        except Exception:
            await self._give_up(claimed, problems.UNFORESEEN)
            raise
        else:
            await _until_stored(lambda: self._files.finish(claimed, translation, progress.unsure))
            self._metrics.files.labels("done").inc()

    async def _fail(self, claimed: ClaimedFile, error: AntecedentError) -> None:
        problem = problems.of_error(error)
        if isinstance(error, LanguagePairError | ModelNotFoundError):
            await self._leave(claimed, problem, _ELSEWHERE_SECONDS, counts=False)
        elif isinstance(error, ServiceError) and error.retryable:
            seconds = error.retry_after or _LOOK_SECONDS
            await self._leave(claimed, problem, seconds, counts=not isinstance(error, ShuttingDownError))
        else:
            await self._give_up(claimed, problem)

    async def _leave(self, claimed: ClaimedFile, problem: FileProblem, seconds: float, *, counts: bool) -> None:
        """Leave a file to others, and do not claim it again for some seconds."""
        self._elsewhere[claimed.key] = asyncio.get_running_loop().time() + seconds
        await _until_stored(lambda: self._files.release(claimed, counts=counts, problem=problems.written(problem)))

    async def _give_up(self, claimed: ClaimedFile, problem: FileProblem) -> None:
        await _until_stored(lambda: self._files.fail(claimed, problems.written(problem)))
        self._metrics.files.labels("error").inc()


async def _until_stored(write: Callable[[], Awaitable[None]]) -> None:
    """Repeat a write until it succeeds, however long Redis is unavailable."""
    while True:
        try:
            await write()
        except StoreUnavailableError:
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return
