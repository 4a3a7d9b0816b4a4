"""Glossaries through version 2 of DeepL's interface, which knows only those of a single language pair."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response, status

from service.deepl.bodies.glossaries import (
    GlossariesAnswer,
    GlossaryAnswer,
    GlossaryPairs,
    GlossaryRequest,
    MultilingualRequest,
)
from service.deepl.glossaries import as_lines, keep, only_one, pairs, shown
from service.http.form_body import body_of, members_of
from service.routes.dependencies import CallerDep, KeyHolderDep, ServicesDep, admitted

router = APIRouter(prefix="/v2", include_in_schema=False)
_READ = ["GET", "HEAD"]


async def _body(request: Request) -> GlossaryRequest:
    return body_of(GlossaryRequest, await members_of(request))


@router.post("/glossaries", status_code=status.HTTP_201_CREATED)
async def create_glossary(
    body: Annotated[GlossaryRequest, Depends(_body)], request: Request, who: CallerDep, parts: ServicesDep
) -> GlossaryAnswer:
    """Keeps terms under a new id, until they are deleted. It counts as one sentence."""
    async with admitted(request, parts, who, 1):
        whole = MultilingualRequest(name=body.name, dictionaries=[body])
        models = parts.models.catalogue.models
        return shown(await keep(parts.glossaries, who.tenant, whole, parts.new_id(), models, parts.limits))


@router.api_route("/glossaries", methods=_READ)
async def list_glossaries(who: CallerDep, parts: ServicesDep) -> GlossariesAnswer:
    """All of the caller's tenant."""
    return GlossariesAnswer(
        glossaries=[shown(each) for each in await parts.glossaries.all(who.tenant) if len(each.dictionaries) == 1]
    )


@router.api_route("/glossaries/{glossary_id}", methods=_READ)
async def read_glossary(glossary_id: str, who: CallerDep, parts: ServicesDep) -> GlossaryAnswer:
    """What there is to know of one, but its terms."""
    glossary, _ = await parts.glossaries.find(who.tenant, glossary_id)
    return shown(glossary)


@router.api_route("/glossaries/{glossary_id}/entries", methods=_READ)
async def read_entries(glossary_id: str, who: CallerDep, parts: ServicesDep) -> Response:
    """Its terms."""
    glossary, terms = await parts.glossaries.find(who.tenant, glossary_id)
    return Response(as_lines(terms[only_one(glossary).pair]), media_type="text/tab-separated-values; charset=utf-8")


@router.delete("/glossaries/{glossary_id}", status_code=status.HTTP_204_NO_CONTENT)
async def delete_glossary(glossary_id: str, who: CallerDep, parts: ServicesDep) -> None:
    """Forgets it."""
    await parts.glossaries.delete(who.tenant, glossary_id)


@router.api_route("/glossary-language-pairs", methods=_READ)
async def list_pairs(_who: KeyHolderDep, parts: ServicesDep) -> GlossaryPairs:
    """The languages that a glossary may have."""
    return GlossaryPairs(supported_languages=pairs(parts.models.catalogue.models))
