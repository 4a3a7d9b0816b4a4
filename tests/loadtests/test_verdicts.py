import random

import pytest

from loadtests.marked import marked_documents, misplaced
from loadtests.stand_in import Recorded
from loadtests.verdicts import Ended, answers_agree, isolated, states_agree, translated_again, undisturbed

DOCUMENTS = [["a0", "a1", "a2"], ["b0", "b1", "b2"]]
QUIET = [[(source.upper(), -1.0, 0) for source in document] for document in DOCUMENTS]


def ended(document: int, kept: list[int], *, sentences: int = 3) -> Ended:
    """A session of a document that keeps the sentences at some positions."""
    state = {
        "next_position": sentences,
        "sentences": [
            {
                "position": position,
                "source": DOCUMENTS[document][position],
                "translation": QUIET[document][position][0],
                "score": -1.0,
                "context_size": 0,
            }
            for position in kept
        ],
    }
    return Ended(QUIET[document], state, None)


def recorded(document: int, position: int, *preceding: str) -> Recorded:
    """A request for a sentence with some sentences before it."""
    return Recorded(1, DOCUMENTS[document][position], preceding)


def test_what_a_quiet_run_gives_passes() -> None:
    """Sessions that keep their last sentences, with the answers of the quiet run, are as they must be."""
    sessions = [ended(0, [0, 1, 2]), ended(1, [1, 2])]
    assert undisturbed(sessions).holds
    assert answers_agree(sessions, QUIET).holds
    assert states_agree(sessions, DOCUMENTS, QUIET).holds


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(ended(1, [1, 2], sentences=4), id="one sentence too many"),
        pytest.param(ended(1, [0, 1], sentences=2), id="the last sentence is lost"),
        pytest.param(ended(1, [0, 2]), id="a sentence in the middle is lost"),
        pytest.param(ended(1, [2, 1]), id="the order is wrong"),
        pytest.param(ended(0, [1, 2]), id="another document's sentences"),
        pytest.param(Ended(QUIET[1], {"code": "session_not_found"}, None), id="no session"),
    ],
)
def test_wrong_state_is_found(wrong: Ended) -> None:
    """A session that has lost, doubled, exchanged or confused sentences is found."""
    verdict = states_agree([ended(0, [0, 1, 2]), wrong], DOCUMENTS, QUIET)
    assert not verdict.holds
    assert verdict.found.endswith("session 1")


def test_wrong_answer_and_client_that_could_not_go_on_are_found() -> None:
    """An answer that differs from the quiet run's, one that is missing, and a client that gave up are found."""
    other = Ended([*QUIET[1][:2], ("B2", -1.0, 1)], {}, None)
    short = Ended(QUIET[1][:2], {}, "position 2 was refused: 409 position_conflict")
    assert not answers_agree([ended(0, [2]), other], QUIET).holds
    assert not answers_agree([ended(0, [2]), short], QUIET).holds
    assert undisturbed([short]).found == "1 of 1 are not; position 2 was refused: 409 position_conflict"


def test_context_of_another_document_is_found() -> None:
    """Only a sentence's own predecessors, all of the window and in order, may come with it."""
    right = [recorded(0, 0), recorded(0, 2, "a0", "a1"), recorded(1, 1, "b0")]
    wrong = [recorded(0, 2, "a0", "b1"), recorded(0, 2, "a1", "a0"), recorded(1, 2, "b1"), recorded(1, 0, "a2")]
    assert isolated(right, DOCUMENTS, 2).holds
    assert not isolated([*right, *wrong], DOCUMENTS, 2).holds
    assert misplaced(DOCUMENTS, [*right, *wrong], 2) == ["a2", "a2", "b2", "b0"]


def test_translations_beyond_the_two_of_each_sentence_are_counted() -> None:
    """Each sentence is translated once in quiet and once in its session; more is work that was done again."""
    twice = [recorded(document, position) for document in range(2) for position in range(3)] * 2
    assert translated_again(twice, DOCUMENTS) == 0
    assert translated_again([*twice, recorded(0, 1)], DOCUMENTS) == 1


def test_no_marked_sentence_occurs_twice() -> None:
    """The marks tell all sentences apart, and the same seed makes the same documents."""
    documents = marked_documents(random.Random(1), 20, 30)
    assert documents == marked_documents(random.Random(1), 20, 30)
    assert len({sentence for document in documents for sentence in document}) == 600
