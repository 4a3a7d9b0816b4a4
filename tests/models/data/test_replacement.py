"""A replacement changes the context of a sentence, in both languages, and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.config import ContextWindow, TokenizerConfig
from models.data.documents import Document, Sentence, Window, windows
from models.data.replacement import ContextKind, Replacement, Vocabulary
from models.data.tokenizer import train_tokenizer
from models.errors import ConfigError, DataError

VOCABULARY = Vocabulary(("\u2581猫", "犬", "鳥"), ("\u2581cat", "s", "\u2581dog"))
KINDS: tuple[ContextKind, ...] = get_args(ContextKind)


def corpus(
    lengths: list[int], size: int = 2, *, targets: bool = True, following: int = 0
) -> tuple[list[Window], list[int]]:
    """Make windows of documents of these lengths, whose sentences are all different, and their document numbers."""
    found = []
    for number, length in enumerate(lengths):
        target = "target {0}-{1}" if targets else None
        texts = [Sentence(f"source {number}-{i}", target and target.format(number, i)) for i in range(length)]
        found += [
            (window, number)
            for window in windows(Document(tuple(texts)), ContextWindow(size=size, following=following))
        ]
    return [window for window, _ in found], [number for _, number in found]


def replaced(kind: ContextKind, lengths: list[int], *, seed: int = 1, targets: bool = True) -> list[Window]:
    """Apply a replacement to such windows of documents."""
    given_windows, documents = corpus(lengths, targets=targets)
    return Replacement(kind, seed, VOCABULARY).apply(given_windows, documents)


def document_of(sentence: Sentence) -> str:
    """Return the number of the document that a made-up sentence is from."""
    return sentence.source.removeprefix("source ").split("-")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_current_sentence_stays(kind: ContextKind) -> None:
    """Every kind keeps each sentence to be translated, in its place, with its target."""
    assert [window.current for window in replaced(kind, [3, 4])] == [window.current for window in corpus([3, 4])[0]]


@pytest.mark.parametrize("kind", ["real", "random", "fixed", "shuffled"])
def test_as_many_sentences_precede_as_before(kind: ContextKind) -> None:
    """The first sentence of a document has no context under any kind, and the third has two sentences."""
    assert [len(window.preceding) for window in replaced(kind, [3, 4])] == [0, 1, 2, 0, 1, 2, 2]


@pytest.mark.parametrize("kind", ["random", "fixed", "shuffled"])
def test_following_sentences_are_replaced_too(kind: ContextKind) -> None:
    """If an architecture reads following sentences, those are replaced by as many others."""
    given_windows, documents = corpus([3, 4], following=1)
    found = Replacement(kind, 1, VOCABULARY).apply(given_windows, documents)
    assert [len(window.following) for window in found] == [1, 1, 0, 1, 1, 1, 0]
    assert any(one.following != other.following for one, other in zip(given_windows, found, strict=True))


def test_empty_context_has_nothing_on_either_side() -> None:
    """Neither preceding nor following sentences are left."""
    given_windows, documents = corpus([3], following=1)
    assert Replacement("empty").apply(given_windows, documents) == [Window(w.current) for w in given_windows]


@pytest.mark.parametrize("kind", ["random", "fixed", "shuffled"])
@pytest.mark.parametrize("targets", [True, False])
def test_source_and_target_are_replaced_alike(kind: ContextKind, targets: bool) -> None:
    """Context has translations after the replacement only if it had them before."""
    contexts = [sentence for window in replaced(kind, [3, 4], targets=targets) for sentence in window.preceding]
    assert all((sentence.target is not None) is targets for sentence in contexts)
    if targets and kind != "random":
        assert all(sentence.target == sentence.source.replace("source", "target") for sentence in contexts)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_replacement(kind: ContextKind) -> None:
    """A replacement depends on windows and seed alone."""
    assert replaced(kind, [5, 6, 7], seed=3) == replaced(kind, [5, 6, 7], seed=3)


@pytest.mark.parametrize("kind", ["random", "fixed", "shuffled"])
def test_another_seed_gives_another_replacement(kind: ContextKind) -> None:
    """Repeating an experiment with other seeds gives other context."""
    assert len({tuple(replaced(kind, [5, 6, 7], seed=seed)) for seed in range(5)}) > 1


def test_real_context_stays() -> None:
    """Nothing is replaced by default."""
    given_windows, documents = corpus([3, 4])
    assert Replacement().apply(given_windows, documents) == given_windows


@pytest.mark.parametrize("kind", ["none", "empty"])
def test_none_and_empty_have_no_context(kind: ContextKind) -> None:
    """Every sentence is translated as the first of its document."""
    assert all(window.preceding == () for window in replaced(kind, [3, 4]))


def test_random_context_is_drawn_from_the_vocabulary() -> None:
    """Source context is made of source words and target context of target words, about as long as the real one."""
    contexts = [sentence for window in replaced("random", [6, 6]) for sentence in window.preceding]
    assert {character for each in contexts for character in each.source} == set("猫犬鳥 ")
    for sentence in contexts:
        assert sentence.target is not None
        assert not sentence.target.replace("cat", "").replace("dog", "").replace("s", "").strip()
        assert 9 <= len(sentence.source) <= 11
        assert sentence.source == sentence.source.strip()
    assert len(set(contexts)) > 1


def test_random_context_is_as_long_as_the_real_one_on_each_side() -> None:
    """A translation that is much longer than its sentence is replaced by one of about that length."""
    real = Window(Sentence("now"), (Sentence("ten words.", "forty " * 7),))
    ((found,),) = (window.preceding for window in Replacement("random", 1, VOCABULARY).apply([real], [0]))
    assert len(found.source) < 15
    assert found.target is not None
    assert len(found.target) > 35


def test_random_context_needs_a_vocabulary() -> None:
    """Without one, it is refused at once, not when the first sentence is replaced."""
    with pytest.raises(ConfigError, match="vocabulary"):
        Replacement("random")


def test_a_vocabulary_is_the_text_of_a_tokenizer(tmp_path: Path) -> None:
    """Words are drawn from the tokenizer's pieces, none of them a control symbol, a byte or a lone space."""
    texts = [f"{a}{b} {b}{a}{b}" for a in "abcdefgh" for b in "ijklmnop"]
    tokenizer = train_tokenizer(TokenizerConfig(path=tmp_path, vocabulary=300), texts, texts)
    vocabulary = Vocabulary.of(tokenizer)
    assert set(vocabulary.source) < set(tokenizer.source_pieces)
    assert {"a", "p"} < set(vocabulary.target)
    assert not {"<pad>", "<s>", "</s>", "<unk>", "<0x00>", "<0xFF>", "\u2581"}.intersection(vocabulary.source)


def test_fixed_context_is_one_sentence_everywhere() -> None:
    """All context in all windows is the same sentence, one from the corpus."""
    contexts = {sentence for window in replaced("fixed", [3, 4]) for sentence in window.preceding}
    assert len(contexts) == 1
    assert contexts < {sentence for window in corpus([3, 4])[0] for sentence in window.preceding}


def test_fixed_context_does_not_give_away_a_sentence_to_be_translated() -> None:
    """If some sentences are only context, the constant one is one of these."""
    asked = [Window(Sentence(f"asked {i}"), (Sentence("context"), Sentence(f"asked {i - 1}"))) for i in range(9)]
    for seed in range(5):
        changed = Replacement("fixed", seed).apply(asked, range(9))
        assert {sentence.source for window in changed for sentence in window.preceding} < {"context", "asked -1"}


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), st.integers(0, 1000))
def test_shuffled_context_is_of_one_other_document(lengths: list[int], seed: int) -> None:
    """No context is from the window's own document, and all context of a window is from the same document."""
    for window in replaced("shuffled", lengths, seed=seed):
        origins = {document_of(sentence) for sentence in window.preceding}
        assert document_of(window.current) not in origins
        assert len(origins) <= 1


def test_shuffled_context_keeps_the_order_of_its_document() -> None:
    """Shuffled sentences also follow each other in the document that they are from, so only the document is wrong."""
    for window in replaced("shuffled", [50, 50]):
        places = [int(sentence.source.split("-")[1]) for sentence in window.preceding]
        assert len(places) < 2 or places[1] in (places[0] + 1, 0)


def test_a_sentence_whose_own_translation_is_hidden_is_shuffled_as_one() -> None:
    """Even if evaluation hides it, no sentence occurs twice in a row in a context, or without its translation."""
    given_windows, documents = corpus([40, 40])
    hidden = [replace(window, current=Sentence(window.current.source)) for window in given_windows]
    for window in Replacement("shuffled").apply(hidden, documents):
        places = [int(sentence.source.rpartition("-")[2]) for sentence in window.preceding]
        assert len(places) < 2 or places[1] == (places[0] + 1) % 39
        assert all(sentence.target for sentence in window.preceding)


def test_shuffling_one_document_is_refused() -> None:
    """There is no other document to take context from."""
    with pytest.raises(DataError, match="more than one document"):
        replaced("shuffled", [5])


def test_fixing_sentences_without_context_leaves_them() -> None:
    """Documents of one sentence have no context that could be replaced."""
    assert replaced("fixed", [1, 1]) == corpus([1, 1])[0]
