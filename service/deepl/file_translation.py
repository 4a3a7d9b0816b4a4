"""One file, translated as a document of its own."""

import asyncio
from collections.abc import Callable

from service.deepl.file_kinds import kind_of
from service.deepl.files import as_text
from service.deepl.texts import Asked, ReadText, read_texts
from service.documents import Documents
from service.errors import QueueFullError
from service.glossary import terms_of
from service.schemas import DocumentRequest
from service.store.files import KeptFile

Progress = Callable[[int], None]
"""Is told how many sentences are translated."""


async def translated_file(documents: Documents, file: KeptFile, content: bytes, progress: Progress) -> bytes:
    """A file with its text in the language that was asked for; it waits while the queue is full.

    Raises:
        AntecedentError: it cannot be translated, or not here, or not now.
    """
    kind = kind_of(file.name)
    source = await asyncio.to_thread(kind.read, content)
    request = as_text(file.name, source, target_lang=file.target_lang, source_lang=file.source_lang)
    asked = Asked(request, file.source_lang, terms_of(file.glossary))
    (text,) = await read_texts(documents, asked)
    translations = await _once_there_is_room(documents, text, text.document(asked, []), progress)
    return await asyncio.to_thread(kind.write, content, text.join(translations, file.target_lang))


async def _once_there_is_room(
    documents: Documents, text: ReadText, request: DocumentRequest, progress: Progress
) -> list[str]:
    while True:
        try:
            return await _translations(documents, text, request, progress)
        except QueueFullError as error:
            await asyncio.sleep(error.retry_after or 1)


async def _translations(
    documents: Documents, text: ReadText, request: DocumentRequest, progress: Progress
) -> list[str]:
    found = list[str]()
    async with documents.prepare(request, text.segmented) as prepared:
        with documents.stream(prepared, awaited=False, among_others=True) as stream:
            async for sentence in stream:
                found.append(sentence.translation)
                progress(len(found))
    return found
