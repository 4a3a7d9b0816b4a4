import random

from loadtests.profiles.marked import marked_documents


def test_no_marked_sentence_occurs_twice() -> None:
    """Marks make all sentences different, and the same seed makes the same documents."""
    documents = marked_documents(random.Random(1), 20, 30)
    assert documents == marked_documents(random.Random(1), 20, 30)
    assert len({sentence for document in documents for sentence in document}) == 600
