"""Texts that are translated one by one, each by itself, as clients of other services send them."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from fastapi import Request

from service.access.caller import Caller
from service.routes.dependencies import Services, admitted, unless_client_leaves
from service.schemas.documents import DocumentRequest
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
        return [
            ranked
            for group in groups
            for ranked in await _at_once(
                group, [text.document(asked, context) for text in group], parts.documents, len(texts)
            )
        ]

    async with admitted(request, parts, who, counted(texts)):
        return await unless_client_leaves(request, in_turn())


async def _at_once(
    texts: Sequence[ReadText], requests: Sequence[DocumentRequest], documents: Documents, number: int
) -> list[Ranked]:
    """Translate texts that fit into the queue at the same time, out of `number` in all."""
    async with AsyncExitStack() as held:
        pairs = zip(texts, requests, strict=True)
        prepared = [await held.enter_async_context(documents.prepare(each, text.segmented)) for text, each in pairs]
        streams = [
            held.enter_context(documents.stream(each, awaited=False, among_others=number > 1)) for each in prepared
        ]
        answers = await asyncio.gather(*(stream.whole() for stream in streams))
        return [
            text.ranked(answer.sentences, each.target_lang)
            for text, each, answer in zip(texts, requests, answers, strict=True)
        ]
