"""Read terms that clients write in lines, with a tab between source and target."""

from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from service.errors import InvalidInputError
from service.http.problems import reason
from service.schemas.limits import Limits
from service.schemas.terms import GlossaryTerm, GlossaryTerms
from service.use_cases.limits import check_terms

_TERMS = TypeAdapter(GlossaryTerms)
_T = TypeVar("_T")


def rows_of_tsv(member: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield source and target of each line that is not empty.

    Raises:
        InvalidInputError: a line does not have exactly two; the message counts from 1, and names `member` as its place.
    """
    for number, line in enumerate(StringIO(text.removeprefix("\ufeff")), 1):
        source, *targets = line.split("\t")
        if len(targets) == 1:
            yield source, targets[0]
        elif line.strip():
            raise InvalidInputError(f"{member}: line {number} is not a source and a target separated by a tab")


def terms_of_rows(member: str, rows: Iterable[tuple[str, str]], limits: Limits) -> list[GlossaryTerm]:
    """Return the terms of all lines.

    Raises:
        InvalidInputError: a term is invalid, two have the same source, or they are too many or too long.
    """
    terms = validated(member, _TERMS, islice(rows, limits.max_glossary_terms + 1))
    check_terms(terms, limits)
    return terms


def validated(member: str, kind: TypeAdapter[_T], rows: Iterable[tuple[str, str]]) -> _T:
    """Validate pairs of source and target as a list of the given type.

    Raises:
        InvalidInputError: one of them is invalid.
    """
    try:
        return kind.validate_python([{"source": source, "target": target} for source, target in rows])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = f"entry {first['loc'][0]}, {first['loc'][1]}: " if first["loc"] else ""
        raise InvalidInputError(f"{member}: {place}{reason(first)}") from None
