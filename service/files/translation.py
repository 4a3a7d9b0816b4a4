"""Translate a file as a document of its own."""

import asyncio
from dataclasses import dataclass

from service.errors import QueueFullError
from service.files.kinds import kind_of
from service.schemas.documents import DocumentRequest
from service.store.files import KeptFile
from service.texts.memories import finder_of
from service.texts.reading import Asked, ReadText, read_texts
from service.use_cases.documents import Documents
from service.use_cases.known import Finder
from service.use_cases.terms import terms_of


@dataclass(slots=True)
class Progress:
    """How much of a file is translated."""

    sentences: int = 0
    unsure: int | None = None
    """Of how many of these the model is unsure; None if it does not say."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The text of a file, its sentences, and the request to translate them."""

    source: str
    text: ReadText
    request: DocumentRequest
    find: Finder | None
    """Looks up sentences in the memory that was sent with the file."""


async def read_file(documents: Documents, file: KeptFile, content: bytes, memory: str = "") -> ReadFile:
    """Read a file as a document, with its memory as written by `service.texts.memories`.

    Raises:
        InvalidInputError: it is of a kind that is not read, cannot be read, or has more sentences than a document may.
    """
    kind = kind_of(file.name)
    source = await asyncio.to_thread(kind.read, content)
    asked = Asked(
        [source],
        file.source_lang,
        file.target_lang,
        terms_of(file.glossary),
        markup=kind.markup,
        join_lines=kind.markup is not None,
        unwrap=kind.wrapped,
        model=file.model,
        strategy=file.strategy,
        beam_size=file.beam_size,
    )
    (text,) = await read_texts(documents, asked)
    return ReadFile(source, text, text.document(asked), finder_of(memory, text))


async def translated_file(
    documents: Documents, file: KeptFile, content: bytes, memory: str, progress: Progress
) -> bytes:
    """Return the file with its text translated; wait while the queue is full.

    Raises:
        AntecedentError: it cannot be translated, or not by this replica, or not now.
    """
    read = await read_file(documents, file, content, memory)
    translations = await _once_there_is_room(documents, read, progress)
    text = read.text.join(translations, file.target_lang)
    return await asyncio.to_thread(kind_of(file.name).written, content, text, file.target_lang)


async def _once_there_is_room(documents: Documents, read: ReadFile, progress: Progress) -> list[str]:
    while True:
        try:
            return await _translations(documents, read, progress)
        except QueueFullError as error:
            await asyncio.sleep(error.retry_after or 1)


async def _translations(documents: Documents, read: ReadFile, progress: Progress) -> list[str]:
    found = list[str]()
    async with documents.prepare(read.request, read.text.segmented, read.find) as prepared:
        limit, unsure = prepared.model.manifest.unsure_below, 0
        with documents.stream(prepared, awaited=False, among_others=True) as stream:
            async for sentence in stream:
                found.append(sentence.translation)
                unsure += limit is not None and sentence.score is not None and sentence.score < limit
                progress.sentences, progress.unsure = len(found), None if limit is None else unsure
    return found
