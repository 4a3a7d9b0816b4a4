"""Parse strict JSON (RFC 8259, I-JSON) within limits, or refuse it with the reason."""

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

_OBJECTS_AS_ARRAYS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_MOST_DIGITS = 19
"""The most digits of an integer; none that any schema accepts has more."""
_MOST_NAMES = 64
"""The most names in an object: no schema accepts as many, and each unknown name costs an error."""


class NotStrictJsonError(Exception):
    """A predicate saying what is wrong with a text, such as "is nested more than 16 deep"; it quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """How deeply arrays and objects may be nested in a text, and how many values it may have."""

    depth: int
    values: int


def parse(text: bytes, limits: JsonLimits) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a JSON text within the limits; a text that exceeds them costs only a scan of its bytes.

    Raises:
        NotStrictJsonError: the text is not UTF-8 or not JSON, is nested too deeply or has too many values, has an
            object with a duplicate name or very many names, or a number that is not finite or is too large.
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
    """Return a JSON text without its strings."""
    unescaped = text.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(unescaped.split(b'"')[::2])


def depth(structure: bytes, most: int) -> int:
    """Return how deeply the arrays and objects of a JSON text are nested; if deeper than `most`, some number above it.

    If the text is not JSON, the result is at least the depth that a parser reaches before it notices. The time is small
    for any input: the innermost brackets are removed from the text without its strings at most `most` times, each time
    in one pass.
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
