"""DeepL's interface, as far as texts go: for programs that have a client of DeepL, and take another address."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from service.access.caller import Caller
from service.deepl.bodies import OfferedLanguage, TextsAnswer, TextsRequest, Usage
from service.deepl.glossaries import named_terms
from service.deepl.texts import (
    Asked,
    ReadText,
    append,
    counted,
    in_groups,
    named,
    offered,
    read_texts,
    source_of,
    translated,
)
from service.documents import Documents
from service.http.form_body import members_of
from service.routes.dependencies import CallerDep, KeyHolderDep, Services, ServicesDep, admitted, unless_client_leaves
from service.schemas import DocumentRequest

_LISTS: Final = frozenset({"text", "ignore_tags", "splitting_tags", "non_splitting_tags"})

router = APIRouter(prefix="/v2", include_in_schema=False)


async def _body(request: Request) -> TextsRequest:
    try:
        return TextsRequest.model_validate(await members_of(request, lists=_LISTS))
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


@router.post("/translate")
async def translate_texts(
    body: Annotated[TextsRequest, Depends(_body)], request: Request, who: CallerDep, parts: ServicesDep
) -> TextsAnswer:
    """Translates each text by itself, or as the next of the document that the client names."""
    source_lang = source_of(body, parts.models.catalogue.models)
    asked = Asked(body, source_lang, await named_terms(parts.glossaries, who.tenant, body, source_lang))
    alone = body.document_id is None
    translations = await (_each_alone if alone else _in_its_document)(asked, request, who, parts)
    return TextsAnswer(
        translations=[
            translated(text, source_lang, translation)
            for text, translation in zip(body.text, translations, strict=True)
        ]
    )


async def _each_alone(asked: Asked, request: Request, who: Caller, parts: Services) -> list[str]:
    (before,) = await parts.documents.split([asked.request.context or ""], asked.source_lang)
    context = list(before.sentences[max(0, len(before.sentences) - parts.limits.max_context_sentences) :])
    texts = await read_texts(parts.documents, asked)

    async def in_turn() -> list[str]:
        groups = in_groups(texts, parts.documents.concurrency)
        return [
            translation
            for group in groups
            for translation in await _at_once(
                group, [text.document(asked, context) for text in group], parts.documents, len(texts)
            )
        ]

    async with admitted(request, parts, who, counted(texts)):
        return await unless_client_leaves(request, in_turn())


async def _at_once(
    texts: Sequence[ReadText], requests: Sequence[DocumentRequest], documents: Documents, number: int
) -> list[str]:
    """The translations of texts for which there are places in the queue at the same time, of a number in all."""
    async with AsyncExitStack() as held:
        pairs = zip(texts, requests, strict=True)
        prepared = [await held.enter_async_context(documents.prepare(each, text.segmented)) for text, each in pairs]
        streams = [
            held.enter_context(documents.stream(each, awaited=False, among_others=number > 1)) for each in prepared
        ]
        answers = await asyncio.gather(*(stream.whole() for stream in streams))
        return [
            text.join([sentence.translation for sentence in answer.sentences], each.target_lang)
            for text, each, answer in zip(texts, requests, answers, strict=True)
        ]


async def _in_its_document(asked: Asked, request: Request, who: Caller, parts: Services) -> list[str]:
    texts = await read_texts(parts.documents, asked)
    async with admitted(request, parts, who, counted(texts)):
        document = await named(parts.sessions, who.tenant, asked)
        translations = await unless_client_leaves(
            request, append(parts.sessions, document, texts, asked.request.target_lang)
        )
    parts.metrics.session_sentences.labels("request").inc(sum(len(text.sentences) for text in texts))
    return translations


async def _kind(request: Request) -> str | None:
    """Source or target; DeepL's own client says it in a body, although it asks with GET."""
    if "type" in request.query_params or request.headers.get("content-length", "0") == "0":
        return request.query_params.get("type")
    return (await members_of(request)).get("type")


@router.api_route("/languages", methods=["GET", "HEAD"])
async def list_languages(
    kind: Annotated[str | None, Depends(_kind)], _who: KeyHolderDep, parts: ServicesDep
) -> list[OfferedLanguage]:
    """The languages that are read, or written."""
    return offered(parts.models.catalogue.models, as_source=kind != "target")


@router.api_route("/usage", methods=["GET", "HEAD"])
async def tell_usage(_who: KeyHolderDep) -> Usage:
    """What is left: there is no such limit."""
    return Usage()
