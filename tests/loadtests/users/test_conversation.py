from typing import Any

import pytest

from loadtests.users.conversation import Conversation, ViolationError, Wrong

DOCUMENT = ["a", "b", "c"]
EXPECTED = [("A", 0), ("B", 0), ("C", 0)]


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


def state(positions: list[int], next_position: int = 3) -> dict[str, Any]:
    """What the service keeps of a session."""
    return {"next_position": next_position, "sentences": [answer(position) for position in positions]}


@pytest.fixture
def answered() -> list[int]:
    """The positions that were answered for the first time."""
    return []


@pytest.fixture
def conversation(answered: list[int]) -> Conversation:
    """A document of which nothing has been sent."""
    return Conversation("id", DOCUMENT, EXPECTED, answered.append)


@pytest.fixture
def ended(conversation: Conversation) -> Conversation:
    """A document of which every sentence has been answered."""
    for position in range(3):
        conversation.hear(position, answer(position))
    return conversation


def test_client_resumes_at_the_first_gap(conversation: Conversation, answered: list[int]) -> None:
    """A later answer does not make up for a missing one; a repeated answer counts once."""
    assert conversation.next_position == 0
    conversation.hear(1, answer(1))
    assert conversation.next_position == 0
    conversation.hear(0, answer(0))
    conversation.hear(0, answer(0))
    assert conversation.next_position == 2
    assert answered == [1, 0]


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        pytest.param(answer(1), Wrong.MISPLACED, id="another position"),
        pytest.param(answer(0, source="b"), Wrong.MISPLACED, id="another sentence"),
        pytest.param(answer(0, translation="X"), Wrong.DIFFERENT, id="another translation than in quiet"),
        pytest.param(answer(0, context_size=1), Wrong.DIFFERENT, id="another context than in quiet"),
        pytest.param(answer(0, score=-2.0), Wrong.DIFFERENT, id="another score than before"),
    ],
)
def test_wrong_answer_is_a_violation(conversation: Conversation, wrong: dict[str, Any], kind: Wrong) -> None:
    """All answers to a sentence must be the same, and equal to that of the quiet run."""
    conversation.hear(0, answer(0))
    with pytest.raises(ViolationError) as violation:
        conversation.hear(0, wrong)
    assert violation.value.wrong is kind


def test_session_that_keeps_its_last_sentences_is_right(ended: Conversation) -> None:
    """The service may forget the first sentences of a long document, but no more than it has to."""
    ended.check_state(state([0, 1, 2]), 3)
    said = [answer(0) | {"position": position} for position in range(40)]
    long = Conversation("id", ["a"] * 40, [("A", 0)] * 40, lambda _: None)
    for position, one in enumerate(said):
        long.hear(position, one)
    long.check_state({"next_position": 40, "sentences": said[8:]}, 40)
    with pytest.raises(ViolationError):
        long.check_state({"next_position": 40, "sentences": said[9:]}, 40)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        pytest.param(state([1, 2], next_position=4), Wrong.LOST, id="one sentence too many"),
        pytest.param(state([0, 1], next_position=2), Wrong.LOST, id="the last sentence is lost"),
        pytest.param(state([0, 2]), Wrong.LOST, id="a sentence in the middle is lost"),
        pytest.param(state([0, 2, 1]), Wrong.MISPLACED, id="the order is wrong"),
        pytest.param(state([1, 2]), Wrong.LOST, id="the first sentence is lost"),
        pytest.param({"code": "session_not_found"}, Wrong.LOST, id="no session"),
        pytest.param(
            {"next_position": 3, "sentences": [answer(0), answer(1), answer(2, source="z")]},
            Wrong.DIFFERENT,
            id="another document's",
        ),
        pytest.param(
            {"next_position": 3, "sentences": [answer(0), answer(1), answer(2, translation=None)]},
            Wrong.DIFFERENT,
            id="no translation",
        ),
    ],
)
def test_wrong_state_is_found(ended: Conversation, found: dict[str, Any], kind: Wrong) -> None:
    """A session that has lost, doubled, reordered or changed sentences is found."""
    with pytest.raises(ViolationError) as violation:
        ended.check_state(found, 3)
    assert violation.value.wrong is kind
