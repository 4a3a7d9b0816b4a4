"""How much the context helps a reference, and how training can use that."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from models.config import ContextWindow, EmphasisConfig
from models.data.documents import PIECE_SENTENCES, Document, Sentence, Window
from models.data.emphasis import sentence_weights, write_gains
from models.errors import DataError
from models.evaluation.cxmi import pointwise, summary


class Reader:
    """A scorer that gives a target half a nat more for each preceding sentence, and records what it is asked."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.asked: list[Window] = []

    def score(self, windows: Sequence[Window], targets: Sequence[str]) -> list[float]:
        """Score targets by their length and the number of preceding sentences."""
        self.asked += windows
        return [0.5 * len(window.preceding) - len(target) for window, target in zip(windows, targets, strict=True)]


def document(*targets: str) -> Document:
    """A document of sentences with these translations."""
    return Document(tuple(Sentence(f"source of {target}", target) for target in targets))


DOCUMENTS = [document("a", "bb", "ccc", "d"), document("e"), document("ff", "g")]


def test_each_sentence_has_what_its_context_is_worth() -> None:
    """The first sentence of a document gains nothing; the others gain what the context adds to their scores."""
    scorer, done = Reader(), list[int]()
    found = pointwise(scorer, DOCUMENTS, ContextWindow(size=2), fits=lambda sentence: True, advance=done.append)
    assert found == [[0, 0.5, 1, 1], [0], [0, 0.5]]
    assert done == [7]
    assert all(window.current.target is None for window in scorer.asked)


def test_what_the_model_cannot_score_is_context_all_the_same() -> None:
    """It gains nothing and is never scored, but the next sentence is read with it."""
    scorer = Reader()
    fits = lambda sentence: sentence.target != "bb"  # noqa: E731
    found = pointwise(scorer, DOCUMENTS, ContextWindow(size=2), fits=fits, advance=lambda sentences: None)
    assert found == [[0, 0, 1, 1], [0], [0, 0.5]]
    assert "source of bb" not in {window.current.source for window in scorer.asked}


def test_a_large_corpus_is_scored_piece_by_piece() -> None:
    """Progress is reported after every piece, and the pieces add up to the whole."""
    done = list[int]()
    corpus = [document("x", "y")] * PIECE_SENTENCES
    found = pointwise(Reader(), corpus, ContextWindow(size=1), fits=lambda sentence: True, advance=done.append)
    assert found == [[0, 0.5]] * PIECE_SENTENCES
    assert done == [PIECE_SENTENCES, PIECE_SENTENCES]


def test_a_large_document_is_scored_piece_by_piece() -> None:
    """A corpus may be a single document; context extends across pieces."""
    done, sentences = list[int](), PIECE_SENTENCES + 2
    corpus = [document(*["x"] * sentences)]
    found = pointwise(Reader(), corpus, ContextWindow(size=1), fits=lambda sentence: True, advance=done.append)
    assert found == [[0] + [0.5] * (sentences - 1)]
    assert done == [PIECE_SENTENCES, 2]


def test_a_corpus_without_references_is_refused() -> None:
    """Without references, there is nothing that could gain."""
    bare = [Document((Sentence("s"),))]
    with pytest.raises(DataError, match="no reference"):
        pointwise(Reader(), bare, ContextWindow(size=1), fits=lambda sentence: True, advance=lambda sentences: None)
    with pytest.raises(DataError, match="no sentence"):
        summary([])


def test_summary() -> None:
    """The summary has the mean, and the shares of sentences that gain anything, or at least a nat."""
    found = summary([0, 2.0, -1.0, 0.6])
    assert (found.sentences, found.cxmi, found.helped, found.helped_by_a_nat) == (4, pytest.approx(0.4), 0.5, 0.25)


def test_gains_are_weights_of_the_same_sentences(tmp_path: Path) -> None:
    """Gains are written line by line, and read as one weight per sentence, between 1 and the maximum given."""
    write_gains(file := tmp_path / "gains", [[0.0, 0.5], [-3.0, 9.0]])
    assert file.read_text(encoding="utf-8").splitlines() == [
        "0.0000",
        "0.5000",
        "",
        "-3.0000",
        "9.0000",
    ]
    config = EmphasisConfig(gains=tmp_path / "gains", strength=2, most=4)
    assert sentence_weights(config, 4).tolist() == [1, 2, 1, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1\n\n0.2\n", "has 2 numbers, but the corpus has 3"),
        ("0.1\nx\n0.3\n", ":2: is not a number"),
        ("nan", ":1: is"),
    ],
)
def test_gains_of_another_corpus_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """A wrong number of lines and, with its line, what is no number are refused."""
    (tmp_path / "gains").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        sentence_weights(EmphasisConfig(gains=tmp_path / "gains"), 3)


def test_missing_gains_are_named(tmp_path: Path) -> None:
    """A missing file of gains is named in the error, as any file of a corpus is."""
    with pytest.raises(DataError, match="no such file"):
        sentence_weights(EmphasisConfig(gains=tmp_path / "missing"), 3)
