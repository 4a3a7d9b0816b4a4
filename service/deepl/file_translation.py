"""The translation of files: each replica takes one after the other, holds it while it translates, and gives it back.

A replica that dies loses its lease, and another one begins anew; one that is told to end lets go at once, and one that
does not have the languages leaves the file to others. After some such attempts a file is given up.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from models.errors import AntecedentError
from service.deepl.file_kinds import kind_of
from service.deepl.files import as_text
from service.deepl.texts import Asked, read_texts
from service.documents import Documents
from service.errors import LanguagePairError, ServiceError, StoreUnavailableError
from service.glossary import terms_of
from service.store.files import ClaimedFile, FileKey, Files
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics

MOST_ATTEMPTS: Final = 3
_LOOK_SECONDS: Final = 0.5
"""How often a replica looks for files that others have been sent, or have died over."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _Progress:
    sentences: int = 0


class FileTranslation:
    """Translates the files that all replicas were sent, some at a time."""

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

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Translate until the end of the block, and then leave to others what is not done."""
        tasks = [asyncio.create_task(self._one_after_the_other()) for _ in range(self._at_once)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one_after_the_other(self) -> None:
        while not self._draining():
            found = False
            with suppress(StoreUnavailableError):  # which has been logged
                found = await self._next()
            if not found:
                await asyncio.sleep(_LOOK_SECONDS)

    async def _next(self) -> bool:
        """Take a file, if there is one."""
        claimed = await self._files.claim(self._new_id(), self._held)
        if claimed is None:
            return False
        self._held.add(claimed.key)
        try:
            await self._take(claimed)
        except Exception:  # noqa: BLE001 - whatever it was, the other files go on
            _log.exception("file_failed")
        finally:
            self._held.discard(claimed.key)
        return True

    async def _take(self, claimed: ClaimedFile) -> None:
        if claimed.attempt > MOST_ATTEMPTS:
            await self._give_up(claimed, f"it was given up after {MOST_ATTEMPTS} attempts")
            return
        try:
            translation = await self._translated_while_held(claimed)
        except asyncio.CancelledError:
            with suppress(StoreUnavailableError):  # its lease ends by itself
                await self._files.release(claimed, counts=False)
            raise
        except AntecedentError as error:
            await self._fail(claimed, error)
        except Exception:
            await self._give_up(claimed, "internal error")
            raise
        else:
            if translation is not None:
                await _until_stored(lambda: self._files.finish(claimed, translation))
                self._metrics.files.labels("done").inc()

    async def _fail(self, claimed: ClaimedFile, error: AntecedentError) -> None:
        elsewhere = isinstance(error, LanguagePairError)
        if not (error.retryable or elsewhere):
            await self._give_up(claimed, str(error))
            return
        await _until_stored(lambda: self._files.release(claimed, counts=elsewhere))
        await asyncio.sleep(error.retry_after or _LOOK_SECONDS if isinstance(error, ServiceError) else _LOOK_SECONDS)

    async def _give_up(self, claimed: ClaimedFile, problem: str) -> None:
        await _until_stored(lambda: self._files.fail(claimed, problem))
        self._metrics.files.labels("error").inc()

    async def _translated_while_held(self, claimed: ClaimedFile) -> bytes | None:
        """The translation; None if somebody else has the file meanwhile, or it has expired."""
        progress = _Progress()
        work = asyncio.create_task(self._translated(claimed, progress))
        lost = asyncio.create_task(self._until_lost(claimed, progress))
        try:
            await asyncio.wait({work, lost}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else None
        finally:
            for task in (work, lost):
                task.cancel()
            await asyncio.wait({work, lost})

    async def _until_lost(self, claimed: ClaimedFile, progress: _Progress) -> None:
        held = True
        while held:
            await asyncio.sleep(self._renew_seconds)
            with suppress(StoreUnavailableError):  # whoever else translates it comes to the same
                held = await self._files.renew(claimed, progress.sentences)

    async def _translated(self, claimed: ClaimedFile, progress: _Progress) -> bytes:
        file = claimed.file
        kind = kind_of(file.name)
        content = await asyncio.to_thread(kind.read, claimed.content)
        request = as_text(file.name, content, target_lang=file.target_lang, source_lang=file.source_lang)
        asked = Asked(request, file.source_lang, terms_of(file.glossary))
        (text,) = await read_texts(self._documents, asked)
        translations = []
        async with self._documents.prepare(text.document(asked, []), text.segmented) as prepared:
            with self._documents.stream(prepared, awaited=False, among_others=True) as stream:
                async for sentence in stream:
                    translations.append(sentence.translation)
                    progress.sentences = len(translations)
        translation = text.join(translations, file.target_lang)
        return await asyncio.to_thread(kind.write, claimed.content, translation)


async def _until_stored(write: Callable[[], Awaitable[None]]) -> None:
    """Write what is known, however long Redis is away: nobody else has it."""
    while True:
        try:
            await write()
        except StoreUnavailableError:
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return
