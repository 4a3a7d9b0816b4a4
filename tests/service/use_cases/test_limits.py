"""Upper limits on the content of a request."""

import pytest

from models.errors import SentenceTooLongError
from service.errors import InvalidInputError
from service.schemas.terms import GlossaryTerm
from service.settings import Settings
from service.use_cases.limits import check_length, check_terms


def test_tags_count_only_where_they_are_most_of_a_sentence() -> None:
    """Tags do not count towards a sentence's length, unless nearly all of it is tags."""
    check_length(f"<b>{'あ' * 10}</b>", 10, "the sentence")
    with pytest.raises(SentenceTooLongError, match="the sentence has 11 characters; at most 10"):
        check_length(f"<b>{'あ' * 11}</b>", 10, "the sentence")
    with pytest.raises(SentenceTooLongError, match="has 14 characters"):
        check_length("<b></b>" * 8, 10, "the sentence")


def test_terms_are_counted_and_so_are_their_characters() -> None:
    """Characters count in both languages; a glossary exactly at the limits is accepted."""
    limits = Settings(max_glossary_terms=2, max_glossary_characters=10)
    check_terms([GlossaryTerm(source="神社", target="jin"), GlossaryTerm(source="寺", target="tera")], limits)
    with pytest.raises(InvalidInputError, match="11 characters; at most 10"):
        check_terms([GlossaryTerm(source="神社", target="jin"), GlossaryTerm(source="寺", target="otera")], limits)
    with pytest.raises(InvalidInputError, match="more than 2 terms"):
        check_terms([GlossaryTerm(source="寺", target="t")] * 3, limits)
