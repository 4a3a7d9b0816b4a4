from loadtests.profiles.marked import misplaced
from loadtests.profiles.order import everything, isolated, translated_again
from loadtests.stage.stand_in import Recorded
from models.config import ContextWindow

DOCUMENTS = (("a0", "a1", "a2"), ("b0", "b1", "b2"))


def recorded(document: int, position: int, *preceding: str) -> Recorded:
    """A recorded request for a sentence, with `preceding` as its context."""
    return Recorded(1, DOCUMENTS[document][position], preceding)


def test_context_of_another_document_is_found() -> None:
    """A sentence's context must be its own predecessors: all that the window holds, in order."""
    right = [recorded(0, 0), recorded(0, 2, "a0", "a1"), recorded(1, 1, "b0")]
    wrong = [recorded(0, 2, "a0", "b1"), recorded(0, 2, "a1", "a0"), recorded(1, 2, "b1"), recorded(1, 0, "a2")]
    window = ContextWindow(size=2)
    assert isolated(right, DOCUMENTS, window).holds
    assert not isolated([*right, *wrong], DOCUMENTS, window).holds
    assert misplaced(DOCUMENTS, [*right, *wrong], window) == ["a2", "a2", "b2", "b0"]


def test_a_block_is_the_context_of_its_own_sentences_alone() -> None:
    """In blocks of two, the third sentence has to be read alone: the one before it belongs to another block."""
    window = ContextWindow(kind="block", size=1)
    assert isolated([recorded(0, 0), recorded(0, 1, "a0"), recorded(0, 2)], DOCUMENTS, window).holds
    assert misplaced(DOCUMENTS, [recorded(0, 2, "a1"), recorded(1, 1)], window) == ["a2", "b1"]


def test_translations_beyond_the_two_of_each_sentence_are_counted() -> None:
    """Each sentence is translated once in the quiet run and once in its session; any more is work done again."""
    twice = [recorded(document, position) for document in range(2) for position in range(3)] * 2
    assert translated_again(twice, DOCUMENTS) == 0
    assert translated_again([*twice, recorded(0, 1)], DOCUMENTS) == 1


def test_sentence_without_an_answer_is_found() -> None:
    """A sentence that was answered as new twice is found, too."""
    assert everything(6, 6).holds
    assert not everything(5, 6).holds
    assert not everything(7, 6).holds
