"""DeepL's glossaries, as its clients make and read them: lines of terms with a tab or a comma between."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO

from models.data.spacing import primary
from service.deepl.bodies import GlossaryAnswer, GlossaryPair, GlossaryRequest
from service.documents import beside_others
from service.errors import InvalidInputError
from service.glossary import terms_of, written
from service.inference.catalogue import Model
from service.schemas import GlossaryTerm, Limits
from service.store.glossaries import Glossaries, KeptGlossary
from service.texts.term_lines import rows_of_tsv, terms_of_rows

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
    glossaries: Glossaries, tenant: str, glossary_id: str | None, pair: tuple[str, str]
) -> list[GlossaryTerm]:
    """The terms of the glossary that a request for a pair of languages names; none where it names none.

    Raises:
        InvalidInputError: it is of other languages.
        AntecedentError: see `Glossaries.find`.
    """
    if glossary_id is None:
        return []
    kept = await glossaries.find(tenant, glossary_id)
    if (kept.source_lang, kept.target_lang) != (primary(pair[0]), primary(pair[1])):
        raise InvalidInputError(f"the glossary is for {kept.source_lang}-{kept.target_lang}")
    return terms_of(await glossaries.terms(tenant, glossary_id))


def _entries(request: GlossaryRequest, limits: Limits) -> Sequence[GlossaryTerm]:
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
                raise InvalidInputError(f"{member}: line {reader.line_num} is no two terms with a comma between")
    except csv.Error:
        raise InvalidInputError(f"{member}: line {reader.line_num} is no CSV") from None
