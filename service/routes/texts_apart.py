"""Texts that are translated one by one, each by itself, as clients of other services send them."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from fastapi import Request

from service.access.caller import Caller
from service.routes.dependencies import Services, admitted, unless_client_leaves
from service.texts.reading import Asked, Ranked, ReadText, counted, in_groups, read_texts
from service.use_cases.documents import Documents


async def each_alone(asked: Asked, before: str, request: Request, who: Caller, parts: Services) -> list[Ranked]:
    """The translations of texts, each after the same text, which may be empty.

    Raises:
        AntecedentError: there are too many, there is no place for them, or one cannot be translated.
    """
    (read,) = await parts.documents.split([before], asked.source_lang)
    context = read.sentences[max(0, len(read.sentences) - parts.limits.max_context_sentences) :]
    texts = await read_texts(parts.documents, asked)

    async def in_turn() -> list[Ranked]:
        groups = in_groups(texts, parts.documents.concurrency)
        among_others = len(texts) > 1
        return [
            ranked
            for group in groups
            for ranked in await _at_once(group, asked, context, parts.documents, among_others=among_others)
        ]

    async with admitted(request, parts, who, counted(texts)):
        return await unless_client_leaves(request, in_turn())


async def _at_once(
    texts: Sequence[ReadText], asked: Asked, context: Sequence[str], documents: Documents, *, among_others: bool
) -> list[Ranked]:
    """Translate texts that fit into the queue at the same time; see `Documents.stream` for `among_others`."""
    async with AsyncExitStack() as held:
        prepared = [
            await held.enter_async_context(documents.prepare(text.document(asked, context), text.segmented))
            for text in texts
        ]
        streams = [
            held.enter_context(documents.stream(each, awaited=False, among_others=among_others)) for each in prepared
        ]
        answers = await asyncio.gather(*(stream.whole() for stream in streams))
        return [text.ranked(answer.sentences, asked.target_lang) for text, answer in zip(texts, answers, strict=True)]
