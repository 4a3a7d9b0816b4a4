from typing import Any

import pytest

from loadtests.conversation import Conversation, ViolationError

DOCUMENT = ["a", "b", "c"]


def answer(position: int, **members: Any) -> dict[str, Any]:
    """The service's answer to a sentence."""
    source = DOCUMENT[position]
    return {
        "position": position,
        "source": source,
        "translation": source.upper(),
        "score": -1.0,
        "context_size": 0,
    } | members


@pytest.fixture
def answered() -> list[None]:
    """One element for each sentence that was answered for the first time."""
    return []


@pytest.fixture
def conversation(answered: list[None]) -> Conversation:
    """A document of which nothing has been sent."""
    return Conversation("id", DOCUMENT, lambda: answered.append(None))


def test_client_resumes_at_the_first_gap(conversation: Conversation, answered: list[None]) -> None:
    """A later answer does not stand for one that is missing; the same answer again counts once."""
    assert conversation.next_position == 0
    conversation.hear(1, answer(1))
    assert conversation.next_position == 0
    conversation.hear(0, answer(0))
    conversation.hear(0, answer(0))
    assert conversation.next_position == 2
    assert len(answered) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(answer(1), id="another position"),
        pytest.param(answer(0, source="b"), id="another sentence"),
        pytest.param(answer(0, translation="X"), id="another translation than before"),
        pytest.param(answer(0, context_size=1), id="another context than before"),
    ],
)
def test_wrong_answer_is_a_violation(conversation: Conversation, wrong: dict[str, Any]) -> None:
    """Two answers to one sentence must be the same, and each must be about that sentence."""
    conversation.hear(0, answer(0))
    with pytest.raises(ViolationError):
        conversation.hear(0, wrong)
