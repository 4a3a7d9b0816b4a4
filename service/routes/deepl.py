"""DeepL's interface for texts, for programs whose DeepL client can be given another address."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request

from service.access.caller import Caller
from service.deepl.bodies.texts import OfferedLanguage, TextsAnswer, TextsRequest, Usage
from service.deepl.glossaries import named_terms
from service.deepl.texts import append, asked_for, named, offered, translated
from service.http.form_body import body_of, members_of
from service.routes.dependencies import CallerDep, KeyHolderDep, Services, ServicesDep, admitted, unless_client_leaves
from service.routes.texts_apart import each_alone
from service.texts.detection import source_of
from service.texts.reading import Asked, counted, read_texts

_LISTS: Final = frozenset({"text", "ignore_tags", "splitting_tags", "non_splitting_tags", "custom_instructions"})
"""Members that clients send several times in a form; the last is refused by its name, and not for its number."""

router = APIRouter(prefix="/v2", include_in_schema=False)


async def _body(request: Request) -> TextsRequest:
    return body_of(TextsRequest, await members_of(request, lists=_LISTS))


@router.post("/translate")
async def translate_texts(
    body: Annotated[TextsRequest, Depends(_body)], request: Request, who: CallerDep, parts: ServicesDep
) -> TextsAnswer:
    """Translates each text by itself, or as the next of the document that the client names."""
    # A document keeps the language of its first call: guessed from a later text, it might name another document.
    guessed_by = body.text if body.document_id is None else ()
    source = await source_of(body.source_lang, body.target_lang, parts.models.catalogue.models, guessed_by)
    source_lang = source.language
    terms = await named_terms(parts.glossaries, who.tenant, body.glossary_id, (source_lang, body.target_lang))
    asked = asked_for(body, source_lang, terms)
    if body.document_id is None:
        apart = await each_alone(asked, body.context or "", request, who, parts)
        translations = [each.best for each in apart]
    else:
        translations = await _in_its_document(body, asked, request, who, parts)
    return TextsAnswer(
        translations=[
            translated(text, source_lang, translation)
            for text, translation in zip(body.text, translations, strict=True)
        ]
    )


async def _in_its_document(
    body: TextsRequest, asked: Asked, request: Request, who: Caller, parts: Services
) -> list[str]:
    texts = await read_texts(parts.documents, asked)
    async with admitted(request, parts, who, counted(texts)):
        document = await named(parts.sessions, who.tenant, body, asked)
        translations = await unless_client_leaves(request, append(parts.sessions, document, texts, asked.target_lang))
    parts.metrics.session_sentences.labels("request").inc(sum(len(text.sentences) for text in texts))
    return translations


async def _kind(request: Request) -> str | None:
    """Return `source` or `target`. DeepL's own clients put it in the body: Python's sends a GET, Java's a POST."""
    if "type" in request.query_params or request.headers.get("content-length", "0") == "0":
        return request.query_params.get("type")
    return (await members_of(request)).get("type")


@router.api_route("/languages", methods=["GET", "HEAD", "POST"])
async def list_languages(
    kind: Annotated[str | None, Depends(_kind)], _who: KeyHolderDep, parts: ServicesDep
) -> list[OfferedLanguage]:
    """The languages that are read, or written."""
    return offered(parts.models.catalogue.models, as_source=kind != "target")


@router.api_route("/usage", methods=["GET", "HEAD", "POST"])
async def tell_usage(_who: KeyHolderDep) -> Usage:
    """What is left: there is no such limit. Older clients for Java ask with POST."""
    return Usage()
