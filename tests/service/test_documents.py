"""Which sentences are read with which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import SentenceTooLongError
from service.documents import requests_of
from service.limits import check_length


def _preceding(sentences: list[str], context: list[str], window: int) -> list[list[str]]:
    return [[one.source for one in request.preceding] for request in requests_of(sentences, context, window)]


def test_windows_of_a_document() -> None:
    """Each sentence is read with those before it, the given context first, oldest first."""
    assert _preceding(["c", "d", "e"], ["a", "b"], 2) == [["a", "b"], ["b", "c"], ["c", "d"]]
    assert _preceding(["a", "b", "c"], [], 2) == [[], ["a"], ["a", "b"]]


def test_no_window_no_context() -> None:
    """Where no context is read, none is sent."""
    assert _preceding(["b", "c"], ["a"], 0) == [[], []]


@given(st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)), st.integers(0, 5))
def test_window_is_the_end_of_what_came_before(sentences: list[str], context: list[str], window: int) -> None:
    """Whatever the document: never the sentence itself, never a later one, never more than the window."""
    for position, preceding in enumerate(_preceding(sentences, context, window)):
        before = context + sentences[:position]
        assert preceding == before[max(0, len(before) - window) :]


def test_too_long_is_refused_not_cut() -> None:
    """One character too many is an error that says how many there may be."""
    check_length("12345", 5, "the sentence")
    with pytest.raises(SentenceTooLongError, match="6 characters; at most 5"):
        check_length("123456", 5, "the sentence")
