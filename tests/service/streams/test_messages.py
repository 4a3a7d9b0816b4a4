"""What counts as a sentence on a stream, and what errors look like there."""

import json

import pytest

from service.errors import InvalidMessageError, QueueFullError
from service.streams import messages

SECRET = "himitsu"


def test_sentence() -> None:
    """A sentence is a JSON object with a text and optionally a position."""
    assert messages.sentence('{"text": "一", "position": 3}').position == 3
    assert messages.sentence('{"text": "一"}').position is None


@pytest.mark.parametrize(
    "message",
    [
        b'{"text": "a"}',
        "",
        SECRET,
        "null",
        "[]",
        '"a"',
        "{}",
        '{"text": 1}',
        '{"text": null}',
        f'{{"text": "a", "{SECRET} and more": 1}}',
        '{"text": "a", "position": -1}',
        '{"text": "a", "position": "1 himitsu"}',
        '{"text": "a", "position": 1e99}',
        '{"text": "himitsu \\ud800"}',
        '{"text": "himitsu", "position": 1.5}',
        '{"text": "himitsu", "text": "b"}',
        '{"text": "himitsu", "position": NaN}',
        '{"text": "a", "himitsu": Infinity}',
        "[" * 5000,
        '{"text":' * 5000,
    ],
)
def test_whatever_else_is_invalid(message: str | bytes) -> None:
    """The error says what is wrong without quoting the message."""
    with pytest.raises(InvalidMessageError) as refused:
        messages.sentence(message)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ('{"text": "a", "foo": 1}', "foo: unknown member"),
        ('{"text": "a", "秘密の文。": 1}', "?: unknown member"),
        ('{"position": 1}', "text: Field required"),
        ("[]", "must be an object"),
    ],
)
def test_what_is_wrong_is_told_by_its_name(message: str, told: str) -> None:
    """The wrong member is named as for a request body, unless its name might be a user's text."""
    with pytest.raises(InvalidMessageError) as refused:
        messages.sentence(message)
    assert str(refused.value) == told


def test_error_has_the_members_of_a_problem() -> None:
    """`type` marks it as an error and `code` says which; there is no header, so when to retry is a member."""
    said = json.loads(messages.problem(QueueFullError(), "request", 7))
    assert said == {
        "type": "error",
        "title": "Too many requests",
        "status": 429,
        "detail": "the queue is full: try again in a moment",
        "code": "queue_full",
        "retryable": True,
        "request_id": "request",
        "retry_after_seconds": 1,
        "position": 7,
    }
