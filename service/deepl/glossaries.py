"""DeepL's glossaries, as its clients make and read them: lines of terms with a tab or a comma between."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO
from itertools import islice

from pydantic import TypeAdapter, ValidationError

from models.data.spacing import primary
from service.deepl.bodies import GlossaryAnswer, GlossaryPair, GlossaryRequest, TextsRequest
from service.documents import beside_others
from service.errors import InvalidInputError
from service.glossary import terms_of, written
from service.http.problems import reason
from service.inference.catalogue import Model
from service.limits import check_terms
from service.schemas import GlossaryTerm, GlossaryTerms, Limits
from service.store.glossaries import Glossaries, KeptGlossary

_TERMS = TypeAdapter(GlossaryTerms)
_COLUMNS = {2, 4}
"""Of a line of CSV: both terms, and perhaps both languages."""


async def keep(
    glossaries: Glossaries, tenant: str, request: GlossaryRequest, new_id: str, models: Iterable[Model], limits: Limits
) -> GlossaryAnswer:
    """Keep the glossary that a client has made.

    Raises:
        InvalidInputError: its entries are none, or too many, or of languages that are not served.
        AntecedentError: see `Glossaries.keep`.
    """
    asked = GlossaryPair(source_lang=primary(request.source_lang), target_lang=primary(request.target_lang))
    if asked not in (served := pairs(models)):
        offered = ", ".join(f"{pair.source_lang}-{pair.target_lang}" for pair in served)
        raise InvalidInputError(
            f"a glossary for {asked.source_lang}-{asked.target_lang} would be of no use; served: {offered}"
        )
    terms = await beside_others(lambda: _entries(request, limits), [request.entries])
    created = datetime.now(UTC).isoformat(timespec="microseconds")
    kept = KeptGlossary(new_id, request.name, asked.source_lang, asked.target_lang, created, len(terms))
    await glossaries.keep(tenant, kept, written(terms))
    return shown(kept)


def shown(glossary: KeptGlossary) -> GlossaryAnswer:
    """A glossary as a client reads it."""
    return GlossaryAnswer(
        glossary_id=glossary.id,
        name=glossary.name,
        source_lang=glossary.source_lang,
        target_lang=glossary.target_lang,
        creation_time=glossary.created,
        entry_count=glossary.terms,
    )


def as_lines(terms: str) -> str:
    """Terms as they are kept, one on each line, with a tab between."""
    return "\n".join(f"{term.source}\t{term.target}" for term in terms_of(terms))


def pairs(models: Iterable[Model]) -> list[GlossaryPair]:
    """The languages that are served, without their regions, as those of a glossary are."""
    found = sorted({(primary(model.pair[0]), primary(model.pair[1])) for model in models})
    return [GlossaryPair(source_lang=source, target_lang=target) for source, target in found]


async def named_terms(
    glossaries: Glossaries, tenant: str, request: TextsRequest, source_lang: str
) -> list[GlossaryTerm]:
    """The terms of the glossary that a request names; none where it names none.

    Raises:
        InvalidInputError: it is of other languages.
        AntecedentError: see `Glossaries.find`.
    """
    if request.glossary_id is None:
        return []
    kept = await glossaries.find(tenant, request.glossary_id)
    if (kept.source_lang, kept.target_lang) != (primary(source_lang), primary(request.target_lang)):
        raise InvalidInputError(f"the glossary is for {kept.source_lang}-{kept.target_lang}")
    return terms_of(await glossaries.terms(tenant, request.glossary_id))


def _entries(request: GlossaryRequest, limits: Limits) -> Sequence[GlossaryTerm]:
    entries = request.entries.removeprefix("\ufeff")
    all_rows = _csv(entries) if request.entries_format == "csv" else _tsv(entries)
    rows = list(islice(all_rows, limits.max_glossary_terms + 1))
    if not rows:
        raise InvalidInputError("entries: there are none")
    try:
        terms = _TERMS.validate_python([{"source": source, "target": target} for source, target in rows])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = f"entry {first['loc'][0]}, {first['loc'][1]}: " if first["loc"] else ""
        raise InvalidInputError(f"entries: {place}{reason(first)}") from None
    check_terms(terms, limits)
    return terms


def _tsv(entries: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(StringIO(entries)):
        source, *targets = line.split("\t")
        if len(targets) == 1:
            yield source, targets[0]
        elif line.strip():
            raise InvalidInputError(f"entries: line {number} is no two terms with a tab between")


def _csv(entries: str) -> Iterator[tuple[str, str]]:
    reader = csv.reader(StringIO(entries, newline=""), strict=True)
    try:
        for row in reader:
            if len(row) in _COLUMNS:
                yield row[0], row[1]
            elif any(map(str.strip, row)):
                raise InvalidInputError(f"entries: line {reader.line_num - 1} is no two terms with a comma between")
    except csv.Error:
        raise InvalidInputError(f"entries: line {reader.line_num - 1} is no CSV") from None
