"""Translating documents with translators that read only sources, or also their own translations."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from models.config import ContextWindow
from models.data.documents import Document, Sentence, Window
from models.data.replacement import Replacement
from models.evaluation.document_translation import Piecewise, translate_documents


@dataclass(frozen=True)
class Output:
    """A translation."""

    text: str
    tokens: int = 1


@dataclass
class Shouter:
    """Translates into capitals, adding the translations that it was given; records what it is asked."""

    reads_target: bool = False
    calls: list[list[Window]] = field(default_factory=list)

    def translate(self, windows: Sequence[Window]) -> list[Output]:
        """Return capitals."""
        self.calls.append(list(windows))
        return [
            Output(window.current.source.upper() + "".join(f"<{s.target}" for s in window.preceding))
            for window in windows
        ]


DOCUMENTS = [
    Document(tuple(Sentence(text, f"reference of {text}") for text in texts)) for texts in ("abc", "", "d", "ef")
]


def texts(translator: Shouter, reach: ContextWindow) -> list[str]:
    """The translations of the documents."""
    return [each.text for each in translate_documents(translator, DOCUMENTS, reach)]


def test_all_sentences_go_at_once_where_only_sources_are_read() -> None:
    """There is one call, in the order of the text, without translations in any context."""
    translator = Shouter()
    assert texts(translator, ContextWindow(size=1)) == ["A", "B<None", "C<None", "D", "E", "F<None"]
    assert len(translator.calls) == 1


def test_sentences_go_in_turn_where_translations_are_read() -> None:
    """First the first sentences of all documents are translated together, then the second ones in their context."""
    translator = Shouter(reads_target=True)
    assert texts(translator, ContextWindow(size=1)) == ["A", "B<A", "C<B<A", "D", "E", "F<E"]
    asked = [[window.current.source for window in call] for call in translator.calls]
    assert asked == [["a", "d", "e"], ["b", "f"], ["c"]]


@pytest.mark.parametrize("reads_target", [True, False])
def test_no_reference_is_shown(reads_target: bool) -> None:
    """The translator sees no reference of the sentence, nor of those before or after it."""
    translator = Shouter(reads_target)
    texts(translator, ContextWindow(size=2, following=2))
    seen = [s for call in translator.calls for w in call for s in (*w.preceding, w.current, *w.following)]
    assert not any("reference" in (sentence.target or "") for sentence in seen)
    assert [s.source for s in translator.calls[0][0].following] == ["b", "c"]


def test_translations_are_replaced_with_their_sentences() -> None:
    """Replacing context replaces both the sources and the model's own translations."""
    translator = Shouter(reads_target=True)
    translate_documents(translator, DOCUMENTS, ContextWindow(size=1), replacement=Replacement("empty"))
    assert not any(window.preceding for call in translator.calls for window in call)


@pytest.mark.parametrize("reads_target", [True, False])
def test_fixed_context_is_one_sentence_in_every_turn(reads_target: bool) -> None:
    """It is the same for all sentences of all documents, with its own translation if translations are read."""
    translator = Shouter(reads_target)
    translate_documents(translator, DOCUMENTS, ContextWindow(size=2), replacement=Replacement("fixed"))
    given = [s for call in translator.calls for window in call for s in window.preceding]
    assert len(given) == 4
    (constant,) = set(given)
    assert constant.target == (constant.source.upper() if reads_target else None)


@pytest.mark.parametrize("reads_target", [True, False])
def test_context_is_shuffled_to_the_end_of_the_longest_document(reads_target: bool) -> None:
    """Sentences of documents that have already ended still replace the context of a longer one."""
    translator = Shouter(reads_target)
    translate_documents(translator, DOCUMENTS, ContextWindow(size=2), replacement=Replacement("shuffled"))
    windows = {window.current.source: window for call in translator.calls for window in call}
    assert windows.keys() == set("abcdef")
    assert {sentence.source for sentence in windows["c"].preceding} <= set("def")
    assert len(windows["c"].preceding) == 2


def test_pieces_are_counted_and_change_nothing() -> None:
    """However many are translated at a time, every sentence gets its translation, and the counts add up to all."""
    counts: list[int] = []
    for size in (1, 2, 100):
        counts.clear()
        translator = Piecewise(Shouter(), counts.append, size)
        found = translate_documents(translator, DOCUMENTS, ContextWindow(size=1))
        assert [each.text for each in found] == texts(Shouter(), ContextWindow(size=1))
        assert sum(counts) == 6
        assert max(counts) <= size


def test_missing_translations_are_noticed() -> None:
    """If a translator returns fewer lines, that is an error, rather than a shift of all lines after it."""

    class Dropping(Shouter):
        def translate(self, windows: Sequence[Window]) -> list[Output]:
            return super().translate(windows)[1:]

    with pytest.raises(ValueError, match="5 translations of 6 sentences"):
        texts(Dropping(), ContextWindow(size=1))
