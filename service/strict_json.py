"""JSON in the strict sense (RFC 8259, I-JSON), read within limits or refused with what is wrong with it."""

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

_OBJECTS_AS_ARRAYS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_MOST_DIGITS = 19
"""Of an integer; none that any schema accepts has more."""
_MOST_NAMES = 64
"""Of an object; none that any schema accepts has as many, and each that it does not know costs an error."""


class NotStrictJsonError(Exception):
    """What is wrong with a text, to be said of it: "is nested more than 16 deep"; repeats nothing of it."""


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """How deep arrays and objects may be nested in a text, and how many values it may have."""

    depth: int
    values: int


def parse(text: bytes, limits: JsonLimits) -> Any:  # noqa: ANN401 - any JSON value
    """The value of a JSON text within the limits; a text beyond them costs no more than a look at its bytes.

    Raises:
        NotStrictJsonError: the text is not UTF-8 or no JSON, is nested deeper or has more values, has a name twice in
            an object or very many names, or a number that is no finite one of ordinary size.
    """
    structure = outside_strings(text)
    if depth(structure, limits.depth) > limits.depth:
        _refuse(f"is nested more than {limits.depth} deep")
    if structure.count(b",") >= limits.values:
        _refuse(f"has more than {limits.values} values")
    try:
        return json.loads(
            text.decode(),
            object_pairs_hook=_members,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        _refuse(f"is not UTF-8 from byte {error.start} on")
    except json.JSONDecodeError as error:
        _refuse(f"is not JSON from line {error.lineno}, column {error.colno} on")


def outside_strings(text: bytes) -> bytes:
    """A JSON text without its strings."""
    unescaped = text.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(unescaped.split(b'"')[::2])


def depth(structure: bytes, most: int) -> int:
    """How deep the arrays and objects of a JSON text are nested; where deeper than `most`, some number above it.

    Of a text that is no JSON, at least as deep as a parser gets before it notices. Quick on whatever it is given: from
    the text without its strings it takes the innermost brackets, `most` times, each time in one pass.
    """
    brackets = structure.translate(_OBJECTS_AS_ARRAYS, delete=_NO_BRACKETS)
    levels = 0
    while b"[]" in brackets and levels < most:
        brackets = brackets.replace(b"[]", b"")
        levels += 1
    return levels + brackets.count(b"[")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > _MOST_NAMES:
        _refuse(f"has an object with more than {_MOST_NAMES} names")
    members = dict(pairs)
    if len(members) < len(pairs):
        _refuse("has an object in which a name occurs twice")
    return members


def _no_constant(_name: str) -> NoReturn:
    _refuse("has NaN or Infinity, which are not JSON")


def _integer(digits: str) -> int:
    if len(digits.removeprefix("-")) > _MOST_DIGITS:
        _refuse(f"has an integer of more than {_MOST_DIGITS} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        _refuse("has a number that is too large for double precision")
    return number


def _refuse(what: str) -> NoReturn:
    raise NotStrictJsonError(what)
