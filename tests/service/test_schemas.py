"""Request bodies: what is accepted, and what is refused before any work is done."""

import pytest
from pydantic import BaseModel, ValidationError

from models.config import Languages
from service.schemas.documents import DocumentRequest
from service.schemas.sessions import SentenceRequest

PAIR = {"source_lang": "ja", "target_lang": "en"}


def test_text_and_sentences_exclude_each_other() -> None:
    """A document is given either as text or as sentences; both or neither is refused."""
    DocumentRequest.model_validate(PAIR | {"text": "a"})
    DocumentRequest.model_validate(PAIR | {"sentences": ["a"]})
    for wrong in ({}, {"text": "a", "sentences": ["a"]}):
        with pytest.raises(ValidationError, match="exactly one"):
            DocumentRequest.model_validate(PAIR | wrong)


@pytest.mark.parametrize(
    "member",
    [
        {"beam_size": 0},
        {"beam_size": 9},
        {"strategy": "magic"},
        {"strategy": "verify"},
        {"colour": "red"},
        {"source_lang": "japanese!"},
        {"context": [1]},
        {"text": "half \ud83d a pair"},
    ],
)
def test_what_is_not_in_the_contract_is_refused(member: dict[str, object]) -> None:
    """Unknown members, values out of range and text that UTF-8 cannot encode are refused."""
    with pytest.raises(ValidationError):
        DocumentRequest.model_validate(PAIR | {"text": "a"} | member)


def test_drafts_go_with_sentences() -> None:
    """There is one draft (or null) for each sentence; with a text nobody could tell which sentence a draft is for."""
    two = PAIR | {"sentences": ["a", "b"]}
    assert DocumentRequest.model_validate(two | {"drafts": ["A", None]}).drafts == ["A", None]
    DocumentRequest.model_validate(two | {"drafts": [None, None], "beam_size": 1, "strategy": "direct"})
    for drafts in (["A"], ["A", "B", "C"], []):
        with pytest.raises(ValidationError, match="one entry for each"):
            DocumentRequest.model_validate(two | {"drafts": drafts})
    with pytest.raises(ValidationError, match="drafts need sentences"):
        DocumentRequest.model_validate(PAIR | {"text": "ab", "drafts": ["A"]})


@pytest.mark.parametrize("member", [{"beam_size": 2}, {"strategy": "sentence"}, {"strategy": "rerank"}])
def test_drafts_go_with_greedy_search_in_context(member: dict[str, object]) -> None:
    """Drafts are verified against greedy search with context, so other beams and strategies are refused."""
    with pytest.raises(ValidationError, match="strategy direct and a beam_size of 1"):
        DocumentRequest.model_validate(PAIR | {"sentences": ["a"], "drafts": ["A"]} | member)


def test_language_codes_know_no_case() -> None:
    """`JA` means `ja`."""
    assert DocumentRequest.model_validate({"source_lang": "JA", "target_lang": "pt-BR", "text": ""}).source_lang == "ja"


@pytest.mark.parametrize(
    "code", ["ja", "en-GB", "zh-Hant-TW", "fil", "English", "e", "de_DE", "ja ", "", "en-" + "a-" * 40]
)
def test_a_run_names_languages_as_requests_do(code: str) -> None:
    """Otherwise a model could be trained for a language that no request can name."""

    def taken(kind: type[BaseModel], values: dict[str, object]) -> bool:
        try:
            kind.model_validate(values)
        except ValidationError:
            return False
        return True

    asked = taken(DocumentRequest, {"source_lang": code, "target_lang": "en", "text": "a"})
    assert taken(Languages, {"source": code, "target": "en"}) == asked


def test_positions_start_at_zero() -> None:
    """Negative positions are refused."""
    assert SentenceRequest.model_validate({"text": "a", "position": 0}).position == 0
    with pytest.raises(ValidationError):
        SentenceRequest.model_validate({"text": "a", "position": -1})


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"alternatives": 8}, "less than 8"),
        ({"alternatives": -1}, "greater than or equal to 0"),
        ({"alternatives": "1"}, "must be an integer"),
        ({"alternatives": 4, "beam_size": 4}, "a beam_size of 4 allows at most 3 alternatives"),
        ({"alternatives": 1, "drafts": ["A"]}, "a beam_size of 1 allows at most 0 alternatives"),
    ],
)
def test_alternatives_need_a_beam(members: dict[str, object], message: str) -> None:
    """A beam has room for one alternative fewer than its size, since it also holds the best translation."""
    with pytest.raises(ValidationError, match=message):
        DocumentRequest.model_validate(PAIR | {"sentences": ["a"]} | members)
    DocumentRequest.model_validate(PAIR | {"sentences": ["a"], "alternatives": 3, "beam_size": 4})


@pytest.mark.parametrize("member", ["sentences", "context", "drafts"])
def test_first_wrong_sentence_is_enough(member: str) -> None:
    """Only the first invalid sentence is reported: errors for all would make an answer 1000 times the body's size."""
    with pytest.raises(ValidationError) as caught:
        DocumentRequest.model_validate(PAIR | {"sentences": ["a"]} | {member: [1] * 1000})
    assert [error["loc"] for error in caught.value.errors()] == [(member, 0)]
