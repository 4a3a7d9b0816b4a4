"""Strict JSON: any bytes give either a value or a clear refusal."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.strict_json import JsonLimits, NotStrictJsonError, depth, outside_strings, parse

MOST = 16
LIMITS = JsonLimits(MOST, 100)
ANY_TEXT = st.text(st.sampled_from('[]{}",:\\ an0é'), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=20,
)
BYTES = st.text(st.sampled_from('[]{}",:\\ 1')).map(str.encode) | st.binary()


def _levels(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_levels, inner), default=0)


def _is_read(text: bytes) -> bool:
    try:
        parse(text, LIMITS)
    except NotStrictJsonError:
        return False
    return True


def _refusal(body: bytes, limits: JsonLimits = LIMITS) -> str:
    with pytest.raises(NotStrictJsonError) as caught:
        parse(body, limits)
    return str(caught.value)


@given(VALUES, st.booleans())
def test_depth_is_counted_exactly(value: Any, ascii_only: bool) -> None:
    """All brackets count except those in strings, whatever quotes and backslashes precede them."""
    assert depth(outside_strings(json.dumps(value, ensure_ascii=ascii_only).encode()), 1000) == _levels(value)


@given(VALUES, st.integers(0, 4))
@example(-(10**18), 0)  # a sign is not a digit
def test_what_is_not_too_deep_is_read(value: Any, most: int) -> None:
    """A value comes back as it was sent, or is refused because of its depth alone."""
    body = json.dumps(value).encode()
    limits = JsonLimits(most, 1000)
    if _levels(value) <= most:
        assert parse(body, limits) == value
    else:
        assert f"more than {most} deep" in _refusal(body, limits)


@given(BYTES, st.binary(max_size=3))
def test_any_bytes_are_read_or_refused(middle: bytes, after: bytes) -> None:
    """Bytes that are not JSON lead to a refusal and to no other error."""
    for body in (middle + after, b"[" * MOST + middle + b"]" * MOST, b'{"' + middle + b'": "' + after + b'"}'):
        assert _is_read(body) in {True, False}


@pytest.mark.parametrize("unit", [b"[", b'{"a":', b"[[]],", b'"', b"\\", b'"\\"[', b"[]"])
def test_large_nonsense_is_refused(unit: bytes) -> None:
    """Megabytes of brackets, quotes or backslashes end as a refusal, not as a recursion error."""
    _refusal(unit * (2_000_000 // len(unit)))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": [-Infinity]}', "Infinity"),
        (b'{"a": 1e999}', "double precision"),
        (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "twice"),
        (b'{"a": [' + b"0," * 99 + b"0, 0]}", "more than 100 values"),
        (json.dumps({f"name {number}": 1 for number in range(65)}).encode(), "more than 64 names"),
        ('{"a": "é"}'.encode("latin-1"), "not UTF-8 from byte 7"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "not UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "not JSON"),
        (b"{'a': 1}", "line 1, column 2"),
        (b'{"a": 1}\n{"a": 1}', "line 2, column 1"),
        (b'{"a": "\n"}', "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_refusal_says_what_is_wrong(body: bytes, reason: str) -> None:
    """Each kind of mistake has a message of its own."""
    assert reason in _refusal(body)


@pytest.mark.parametrize("body", [b'{"himitsu": 1, "himitsu": 2}', b'{"a": "himitsu}', b'{"a": himitsu}'])
def test_refusal_repeats_nothing(body: bytes) -> None:
    """The message does not quote what was sent."""
    assert "himitsu" not in _refusal(body)
