"""Terms as clients write them in lines: both of each with a tab between."""

from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from service.errors import InvalidInputError
from service.http.problems import reason
from service.limits import check_terms
from service.schemas import GlossaryTerm, GlossaryTerms, Limits

_TERMS = TypeAdapter(GlossaryTerms)
_T = TypeVar("_T")


def rows_of_tsv(member: str, text: str) -> Iterator[tuple[str, str]]:
    """Both terms of each line but of empty ones.

    Raises:
        InvalidInputError: a line, from 1, has not two; `member` names to the client what has the lines.
    """
    for number, line in enumerate(StringIO(text.removeprefix("\ufeff")), 1):
        source, *targets = line.split("\t")
        if len(targets) == 1:
            yield source, targets[0]
        elif line.strip():
            raise InvalidInputError(f"{member}: line {number} is no source and target with a tab between")


def terms_of_rows(member: str, rows: Iterable[tuple[str, str]], limits: Limits) -> list[GlossaryTerm]:
    """The terms of all lines.

    Raises:
        InvalidInputError: one is none, there are two of one source, or they are too many or too long.
    """
    terms = validated(member, _TERMS, islice(rows, limits.max_glossary_terms + 1))
    check_terms(terms, limits)
    return terms


def validated(member: str, kind: TypeAdapter[_T], rows: Iterable[tuple[str, str]]) -> _T:
    """Pairs as a list of that kind.

    Raises:
        InvalidInputError: one of them is none.
    """
    try:
        return kind.validate_python([{"source": source, "target": target} for source, target in rows])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = f"entry {first['loc'][0]}, {first['loc'][1]}: " if first["loc"] else ""
        raise InvalidInputError(f"{member}: {place}{reason(first)}") from None
