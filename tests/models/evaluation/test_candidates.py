"""Candidates are those of the model, each with what it is worth."""

from collections.abc import Sequence

import pytest
import sacrebleu

from models.config import ContextWindow
from models.data.candidates import Candidate
from models.data.documents import PIECE_SENTENCES, Document, Sentence, Window
from models.errors import DataError
from models.evaluation.candidates import draw, find_candidates, summary
from models.evaluation.metrics import SentenceScorer

REACH = ContextWindow(size=1)


def document(*targets: str) -> Document:
    """Sentences with these translations."""
    return Document(tuple(Sentence(f"source of {target}", target) for target in targets))


DOCUMENTS = [document("a b c d", "e f g h"), document("i j k l"), document("m n o p")]


class Proposer:
    """Proposes a reference, a word of it, the same once more, and nothing; and notes what it is asked."""

    def __init__(self) -> None:
        """It has been asked nothing yet."""
        self.asked: list[Window] = []

    def __call__(self, windows: Sequence[Window]) -> list[tuple[str, ...]]:
        """Propose."""
        self.asked += windows
        references = [window.current.source.removeprefix("source of ") for window in windows]
        return [(reference, reference[0], reference[0], " ") for reference in references]


def found(proposer: Proposer, *drawn: int, refused: str = "") -> list[list[list[Candidate]]]:
    """Candidates of all documents, of which some are drawn."""
    return find_candidates(
        proposer,
        DOCUMENTS,
        REACH,
        drawn=frozenset(drawn),
        fits=lambda sentence: sentence.target != refused,
        advance=lambda sentences: None,
    )


def test_each_sentence_drawn_has_the_translations_that_differ() -> None:
    """In the order of the search, without empty ones; the others have none, and stand in their places."""
    of_all = found(proposer := Proposer(), 0, 2)
    assert [[[each.text for each in sentence] for sentence in document] for document in of_all] == [
        [["a b c d", "a"], ["e f g h", "e"]],
        [[]],
        [["m n o p", "m"]],
    ]
    assert all(sentence[0].gain == 1 > sentence[1].gain for sentence in (*of_all[0], *of_all[2]))
    assert [window.current.target for window in proposer.asked] == [None] * 3
    assert [window.preceding for window in proposer.asked] == [(), (Sentence("source of a b c d", "a b c d"),), ()]


def test_what_does_not_fit_is_context_all_the_same() -> None:
    """It has no candidates, and the next sentence is read with it."""
    of_all = found(proposer := Proposer(), 0, refused="a b c d")
    assert [[len(sentence) for sentence in document] for document in of_all] == [[0, 2], [0], [0]]
    assert len(proposer.asked[0].preceding) == 1


def test_a_large_corpus_is_translated_piece_by_piece() -> None:
    """Progress is told after every piece."""
    done, corpus = list[int](), [document("x", "y")] * PIECE_SENTENCES
    numbers = frozenset(range(PIECE_SENTENCES))
    find_candidates(Proposer(), corpus, REACH, drawn=numbers, fits=lambda sentence: True, advance=done.append)
    assert done == [PIECE_SENTENCES, PIECE_SENTENCES]


def test_documents_are_drawn_whole_and_the_same_by_the_same_seed() -> None:
    """As few as have so many sentences; without a number, all."""
    many = [document("x", "y", "z")] * 40
    assert len(draw(many, 10, 1)) == 4
    assert draw(many, 10, 1) == draw(many, 10, 1) != draw(many, 10, 2)
    assert draw(many, None, 1) == draw(many, 10_000, 1) == frozenset(range(40))


def test_a_gain_is_the_bleu_of_a_sentence() -> None:
    """As sacreBLEU gives it to single sentences: 1 for the reference, 0 for something else."""
    scorer, (translation, reference) = SentenceScorer(), ("The cat sat there.", "The cat sat on the mat.")
    bleu = sacrebleu.sentence_bleu(translation, [reference], use_effective_order=True)
    assert scorer.gain(translation, reference) == pytest.approx(bleu.score / 100)
    assert scorer.gain(reference, reference) == 1
    assert scorer.gain("x", reference) == 0


def test_a_summary_is_of_the_sentences_that_have_candidates() -> None:
    """The first is the one that the search prefers."""
    of_two = summary([[Candidate("a", 0.5), Candidate("b", 0.9), Candidate("c", 0.1)], [], [Candidate("d", 0.7)]])
    assert (of_two.sentences, of_two.candidates) == (2, 2)
    assert (of_two.first, of_two.best, of_two.worst) == pytest.approx((0.6, 0.8, 0.4))
    with pytest.raises(DataError, match="no sentence was translated"):
        summary([[]])
