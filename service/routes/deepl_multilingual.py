"""Glossaries through version 3 of DeepL's interface: they may have several language pairs, and may be changed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, status

from service.deepl.bodies.glossaries import (
    DictionariesAnswer,
    DictionaryAnswer,
    DictionaryEntries,
    DictionaryRequest,
    GlossaryChange,
    GlossaryPair,
    MultilingualAnswer,
    MultilingualList,
    MultilingualRequest,
)
from service.deepl.glossaries import (
    as_lines,
    change,
    dictionary_of,
    keep,
    pair_of,
    remove,
    shown_dictionary,
    shown_whole,
)
from service.http.form_body import body_of, members_of, with_elements
from service.routes.dependencies import CallerDep, ServicesDep, admitted
from service.schemas.fields import Language

router = APIRouter(prefix="/v3/glossaries", include_in_schema=False)
_READ = ["GET", "HEAD"]


async def _new(request: Request) -> MultilingualRequest:
    return body_of(MultilingualRequest, with_elements(await members_of(request)))


async def _change(request: Request) -> GlossaryChange:
    return body_of(GlossaryChange, with_elements(await members_of(request)))


async def _dictionary(request: Request) -> DictionaryRequest:
    return body_of(DictionaryRequest, await members_of(request))


def _pair(source_lang: Annotated[Language, Query()], target_lang: Annotated[Language, Query()]) -> GlossaryPair:
    return pair_of(source_lang, target_lang)


PairDep = Annotated[GlossaryPair, Depends(_pair)]


@router.post("", status_code=status.HTTP_201_CREATED)
async def create_glossary(
    body: Annotated[MultilingualRequest, Depends(_new)], request: Request, who: CallerDep, parts: ServicesDep
) -> MultilingualAnswer:
    """Keeps terms under a new id, until they are deleted. It counts as one sentence."""
    async with admitted(request, parts, who, 1):
        models = parts.models.catalogue.models
        return shown_whole(await keep(parts.glossaries, who.tenant, body, parts.new_id(), models, parts.limits))


@router.api_route("", methods=_READ)
async def list_glossaries(who: CallerDep, parts: ServicesDep) -> MultilingualList:
    """All of the caller's tenant."""
    return MultilingualList(glossaries=[shown_whole(each) for each in await parts.glossaries.all(who.tenant)])


@router.api_route("/{glossary_id}", methods=_READ)
async def read_glossary(glossary_id: str, who: CallerDep, parts: ServicesDep) -> MultilingualAnswer:
    """What there is to know of one, but its terms."""
    glossary, _ = await parts.glossaries.find(who.tenant, glossary_id)
    return shown_whole(glossary)


@router.patch("/{glossary_id}")
async def change_glossary(
    glossary_id: str,
    body: Annotated[GlossaryChange, Depends(_change)],
    request: Request,
    who: CallerDep,
    parts: ServicesDep,
) -> MultilingualAnswer:
    """Gives one another name, and terms that come to those of their languages. It counts as one sentence."""
    async with admitted(request, parts, who, 1):
        models = parts.models.catalogue.models
        return shown_whole(await change(parts.glossaries, who.tenant, glossary_id, body, models, parts.limits))


@router.delete("/{glossary_id}", status_code=status.HTTP_204_NO_CONTENT)
async def delete_glossary(glossary_id: str, who: CallerDep, parts: ServicesDep) -> None:
    """Forgets it."""
    await parts.glossaries.delete(who.tenant, glossary_id)


@router.api_route("/{glossary_id}/entries", methods=_READ)
async def read_entries(glossary_id: str, pair: PairDep, who: CallerDep, parts: ServicesDep) -> DictionariesAnswer:
    """Its terms for a pair of languages."""
    glossary, terms = await parts.glossaries.find(who.tenant, glossary_id)
    found = dictionary_of(glossary, pair)
    entries = as_lines(terms[found.pair])
    of_pair = DictionaryEntries(source_lang=found.source_lang, target_lang=found.target_lang, entries=entries)
    return DictionariesAnswer(dictionaries=[of_pair])


@router.put("/{glossary_id}/dictionaries")
async def replace_terms(
    glossary_id: str,
    body: Annotated[DictionaryRequest, Depends(_dictionary)],
    request: Request,
    who: CallerDep,
    parts: ServicesDep,
) -> DictionaryAnswer:
    """Gives it terms for a pair of languages, instead of those that it may have. It counts as one sentence."""
    async with admitted(request, parts, who, 1):
        models, new = parts.models.catalogue.models, GlossaryChange(dictionaries=(body,))
        changed = await change(parts.glossaries, who.tenant, glossary_id, new, models, parts.limits, anew=True)
        return shown_dictionary(dictionary_of(changed, pair_of(body.source_lang, body.target_lang)))


@router.delete("/{glossary_id}/dictionaries", status_code=status.HTTP_204_NO_CONTENT)
async def delete_terms(glossary_id: str, pair: PairDep, who: CallerDep, parts: ServicesDep) -> None:
    """Forgets its terms for a pair of languages."""
    await remove(parts.glossaries, who.tenant, glossary_id, pair)
