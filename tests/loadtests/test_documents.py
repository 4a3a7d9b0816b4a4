import random
from pathlib import Path
from statistics import mean, quantiles

import pytest

from loadtests.documents import CHARACTERS, SENTENCES, from_corpus, made_up


def test_made_up_documents_are_as_long_as_real_ones() -> None:
    """Lengths are roughly those of the corpus, as deciles show; not exactly, as the clauses have fixed lengths."""
    documents = made_up(random.Random(1), 400)
    lengths = [len(document) for document in documents]
    assert (min(lengths), max(lengths)) >= (SENTENCES[0], SENTENCES[-2])
    assert mean(lengths) == pytest.approx(37, rel=0.15)
    characters = [len(sentence) for document in documents for sentence in document]
    assert mean(characters) == pytest.approx(35, rel=0.2)
    for found, real in zip(quantiles(characters, n=10)[3:], CHARACTERS[4:-1], strict=True):
        assert found == pytest.approx(real, rel=0.35)


def test_same_seed_makes_the_same_documents() -> None:
    """A run can be repeated."""
    assert made_up(random.Random(1), 3) == made_up(random.Random(1), 3) != made_up(random.Random(2), 3)


def test_documents_of_a_corpus(tmp_path: Path) -> None:
    """Documents end at empty lines; all are taken if fewer exist than were asked for."""
    corpus = tmp_path / "corpus.ja"
    corpus.write_text("a\nb\n\nc\n")
    assert sorted(from_corpus(random.Random(1), corpus, 5)) == [("a", "b"), ("c",)]
    assert len(from_corpus(random.Random(1), corpus, 1)) == 1


def test_sentences_without_a_word_are_left_out(tmp_path: Path) -> None:
    """Sessions and documents would translate what follows with different contexts, which would look like a leak."""
    corpus = tmp_path / "corpus.ja"
    corpus.write_text("雨が降った。\n＊＊＊\n1868\n彼女は泣いた。\n\n……\n\n「」\n終わり。\n")
    assert sorted(from_corpus(random.Random(1), corpus, 5)) == [("終わり。",), ("雨が降った。", "彼女は泣いた。")]
