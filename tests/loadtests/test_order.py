from loadtests.marked import misplaced
from loadtests.order import everything, isolated, translated_again
from loadtests.stand_in import Recorded

DOCUMENTS = (("a0", "a1", "a2"), ("b0", "b1", "b2"))


def recorded(document: int, position: int, *preceding: str) -> Recorded:
    """A request for a sentence with some sentences before it."""
    return Recorded(1, DOCUMENTS[document][position], preceding)


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


def test_sentence_without_an_answer_is_found() -> None:
    """As is one that was answered as new twice."""
    assert everything(6, 6).holds
    assert not everything(5, 6).holds
    assert not everything(7, 6).holds
