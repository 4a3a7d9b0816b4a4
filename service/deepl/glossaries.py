"""Glossaries as DeepL's clients make and read them: lines of two terms, separated by a tab or a comma."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import StringIO

from models.text.spacing import primary
from service.deepl.bodies.glossaries import (
    DictionaryAnswer,
    DictionaryRequest,
    GlossaryAnswer,
    GlossaryChange,
    GlossaryPair,
    MultilingualAnswer,
    MultilingualRequest,
)
from service.errors import GlossaryNotFoundError, InvalidInputError
from service.inference.catalogue import Model
from service.schemas.limits import Limits
from service.schemas.terms import GlossaryTerm
from service.store.glossaries import Glossaries, KeptDictionary, KeptGlossary, Terms
from service.texts.term_lines import rows_of_tsv, terms_of_rows
from service.threads import in_thread_if_long
from service.use_cases.limits import check_terms
from service.use_cases.terms import terms_of, written

_COLUMNS = {2, 4}
"""How many columns a line of CSV may have: both terms, and perhaps both languages."""
_Read = tuple[GlossaryPair, Sequence[GlossaryTerm]]


async def keep(
    glossaries: Glossaries,
    tenant: str,
    request: MultilingualRequest,
    new_id: str,
    models: Iterable[Model],
    limits: Limits,
) -> KeptGlossary:
    """Store the glossary that a client has made.

    Raises:
        InvalidInputError: its entries are invalid, missing or too many, or for languages that are not served.
        AntecedentError: see `Glossaries.keep`.
    """
    terms = await _read(request.dictionaries, models, limits)
    created = datetime.now(UTC).isoformat(timespec="microseconds")
    kept, written_terms = _with_terms(KeptGlossary(new_id, request.name, created, []), {}, terms)
    await glossaries.keep(tenant, kept, written_terms)
    return kept


async def change(
    glossaries: Glossaries,
    tenant: str,
    glossary_id: str,
    request: GlossaryChange,
    models: Iterable[Model],
    limits: Limits,
    *,
    anew: bool = False,
) -> KeptGlossary:
    """Rename a glossary, or add terms to those of their languages; with `anew`, replace these.

    Raises:
        InvalidInputError: entries are invalid, missing, too many with the existing ones, or for unserved languages.
        AntecedentError: see `Glossaries.change`.
    """
    new = await _read(request.dictionaries, models, limits)

    def changed(kept: KeptGlossary, terms: Terms) -> tuple[KeptGlossary, Terms]:
        named = kept if request.name is None else replace(kept, name=request.name)
        return _with_terms(named, terms, new if anew else [together(pair, found, terms) for pair, found in new])

    def together(pair: GlossaryPair, found: Sequence[GlossaryTerm], terms: Terms) -> _Read:
        by_source = {term.source: term for term in (*terms_of(terms.get(_named(pair), "")), *found)}
        check_terms(all_terms := list(by_source.values()), limits)
        return pair, all_terms

    return await glossaries.change(tenant, glossary_id, changed)


async def remove(glossaries: Glossaries, tenant: str, glossary_id: str, pair: GlossaryPair) -> None:
    """Remove the terms of a glossary for a pair of languages.

    Raises:
        GlossaryNotFoundError: it has none, or there is no such glossary.
        AntecedentError: see `Glossaries.change`.
    """

    def changed(kept: KeptGlossary, terms: Terms) -> tuple[KeptGlossary, Terms]:
        one = dictionary_of(kept, pair)
        others = [each for each in kept.dictionaries if each != one]
        return replace(kept, dictionaries=others), {each.pair: terms[each.pair] for each in others}

    await glossaries.change(tenant, glossary_id, changed)


def dictionary_of(glossary: KeptGlossary, pair: GlossaryPair) -> KeptDictionary:
    """Return the dictionary of a glossary for a pair of languages: their codes, and the number of terms.

    Raises:
        GlossaryNotFoundError: the glossary has none.
    """
    for each in glossary.dictionaries:
        if each.pair == _named(pair):
            return each
    raise GlossaryNotFoundError


def only_one(glossary: KeptGlossary) -> KeptDictionary:
    """Return the only dictionary of a glossary: to version 2 of the interface, those with several do not exist.

    Raises:
        GlossaryNotFoundError: it has several, or none.
    """
    if len(glossary.dictionaries) != 1:
        raise GlossaryNotFoundError
    return glossary.dictionaries[0]


def shown(glossary: KeptGlossary) -> GlossaryAnswer:
    """Show a glossary for one pair of languages to a client of version 2.

    Raises:
        GlossaryNotFoundError: it has several, or none.
    """
    only = only_one(glossary)
    return GlossaryAnswer(
        glossary_id=glossary.id,
        name=glossary.name,
        source_lang=only.source_lang,
        target_lang=only.target_lang,
        creation_time=glossary.created,
        entry_count=only.terms,
    )


def shown_whole(glossary: KeptGlossary) -> MultilingualAnswer:
    """Show a glossary to a client of version 3."""
    return MultilingualAnswer(
        glossary_id=glossary.id,
        name=glossary.name,
        creation_time=glossary.created,
        dictionaries=[shown_dictionary(each) for each in glossary.dictionaries],
    )


def shown_dictionary(dictionary: KeptDictionary) -> DictionaryAnswer:
    """Show one of its pairs of languages to a client of version 3."""
    return DictionaryAnswer(
        source_lang=dictionary.source_lang, target_lang=dictionary.target_lang, entry_count=dictionary.terms
    )


def as_lines(terms: str) -> str:
    """Write stored terms on lines, with a tab between source and target."""
    return "\n".join(f"{term.source}\t{term.target}" for term in terms_of(terms))


def pair_of(source_lang: str, target_lang: str) -> GlossaryPair:
    """Return a pair of languages without their regions, as a glossary has them."""
    return GlossaryPair(source_lang=primary(source_lang), target_lang=primary(target_lang))


def pairs(models: Iterable[Model]) -> list[GlossaryPair]:
    """Return the pairs of languages that are served, without their regions, as a glossary has them."""
    found = sorted({(primary(model.pair[0]), primary(model.pair[1])) for model in models})
    return [GlossaryPair(source_lang=source, target_lang=target) for source, target in found]


async def named_terms(
    glossaries: Glossaries, tenant: str, glossary_id: str | None, pair: tuple[str, str]
) -> list[GlossaryTerm]:
    """Return the terms, for a pair of languages, of the glossary that a request names; none if it names none.

    Raises:
        InvalidInputError: the glossary is for other languages.
        AntecedentError: see `Glossaries.find`.
    """
    if glossary_id is None:
        return []
    _, terms = await glossaries.find(tenant, glossary_id)
    asked = _named(pair_of(*pair))
    if asked not in terms:
        raise InvalidInputError(f"the glossary is for {', '.join(sorted(terms)) or 'no languages'}")
    return terms_of(terms[asked])


async def _read(dictionaries: Sequence[DictionaryRequest], models: Iterable[Model], limits: Limits) -> list[_Read]:
    served = pairs(models)
    asked = [pair_of(each.source_lang, each.target_lang) for each in dictionaries]
    for place, pair in enumerate(asked):
        if pair not in served:
            offered = ", ".join(map(_named, served))
            raise InvalidInputError(f"a glossary for {_named(pair)} would be of no use; served: {offered}")
        if pair in asked[:place]:
            raise InvalidInputError(f"dictionaries: there are several for {_named(pair)}")
    return [
        (pair, await in_thread_if_long(partial(_entries, each, limits), [each.entries]))
        for pair, each in zip(asked, dictionaries, strict=True)
    ]


def _with_terms(kept: KeptGlossary, terms: Terms, new: Sequence[_Read]) -> tuple[KeptGlossary, Terms]:
    of_new = [KeptDictionary(pair.source_lang, pair.target_lang, len(found)) for pair, found in new]
    replaced = {each.pair for each in of_new}
    others = [each for each in kept.dictionaries if each.pair not in replaced]
    written_terms = terms | {_named(pair): written(found) for pair, found in new}
    return replace(kept, dictionaries=[*others, *of_new]), written_terms


def _named(pair: GlossaryPair) -> str:
    return f"{pair.source_lang}-{pair.target_lang}"


def _entries(request: DictionaryRequest, limits: Limits) -> Sequence[GlossaryTerm]:
    rows = _csv if request.entries_format == "csv" else rows_of_tsv
    terms = terms_of_rows("entries", rows("entries", request.entries), limits)
    if not terms:
        raise InvalidInputError("entries: there are none")
    return terms


def _csv(member: str, text: str) -> Iterator[tuple[str, str]]:
    reader = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for row in reader:
            if len(row) in _COLUMNS:
                yield row[0], row[1]
            elif any(map(str.strip, row)):
                raise InvalidInputError(f"{member}: line {reader.line_num} is not two terms separated by a comma")
    except csv.Error:
        raise InvalidInputError(f"{member}: line {reader.line_num} is not valid CSV") from None
