"""Scores are sacreBLEU's, on every sentence, and a translator never sees a reference."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from models.config import ContextWindow
from models.data.documents import Document, Sentence, Window
from models.data.replacement import Replacement
from models.errors import ConfigError, DataError
from models.evaluation.metrics import MetricOptions, compare, evaluate, reference_loss

REFERENCES = (
    ("The temple was built in the eighth century.", "It burned down twice.", "Today it is a museum."),
    ("She was born in Kyoto.", "Her father, a poet, taught her to read and write."),
)
DOCUMENTS = [
    Document(tuple(Sentence(f"{d}.{i}", text) for i, text in enumerate(texts))) for d, texts in enumerate(REFERENCES)
]
FLAT = [text for texts in REFERENCES for text in texts]


@dataclass(frozen=True)
class Output:
    """The output of a fake translator."""

    text: str
    tokens: int


@dataclass
class Table:
    """A translator that looks up the source, and records what it was given."""

    texts: dict[str, str]
    seen: list[Window] = field(default_factory=list)
    reads_target: bool = False

    def translate(self, windows: Sequence[Window]) -> list[Output]:
        """Return the text in the table."""
        self.seen = list(windows)
        texts = [self.texts[window.current.source] for window in windows]
        return [Output(text, len(text.split()) + 1) for text in texts]


def table(change: Callable[[str], str] = str) -> Table:
    """Make a translator whose answers are the references, changed."""
    return Table({s.source: change(s.target or "") for document in DOCUMENTS for s in document.sentences})


def clock(*times: float) -> Callable[[], float]:
    """Make a clock that shows these times."""
    return iter(times).__next__


def test_the_reference_itself_scores_100() -> None:
    """Output that equals the reference has BLEU, document BLEU and chrF of 100."""
    evaluation = evaluate(table(), DOCUMENTS, ContextWindow(size=1))
    assert evaluation.translations == tuple(FLAT)
    scores = evaluation.scores
    assert (scores.bleu, scores.document_bleu, scores.chrf) == pytest.approx((100, 100, 100))


def test_scores_are_those_of_sacrebleu() -> None:
    """BLEU and chrF equal sacreBLEU's on the same lines, and document BLEU equals its BLEU on joined documents."""
    translator = table(lambda text: text.replace("the", "a").replace("was", "is"))
    evaluation = evaluate(translator, DOCUMENTS, ContextWindow(size=1))
    texts = list(evaluation.translations)
    scores = evaluation.scores
    assert scores.bleu == sacrebleu.corpus_bleu(texts, [FLAT]).score
    assert scores.chrf == sacrebleu.corpus_chrf(texts, [FLAT]).score
    joined = [" ".join(texts[:3]), " ".join(texts[3:])]
    assert scores.document_bleu == sacrebleu.corpus_bleu(joined, [[" ".join(d) for d in REFERENCES]]).score
    assert 0 < scores.bleu < 100
    assert scores.bleu != scores.document_bleu


def test_document_bleu_does_not_mind_where_sentences_end() -> None:
    """Words that moved into the next sentence lower BLEU, but not document BLEU."""
    texts = {"0.0": "The temple was built in the", "0.1": "eighth century. It burned down twice."}
    moved = Table(table().texts | texts)
    scores = evaluate(moved, DOCUMENTS, ContextWindow(size=1)).scores
    assert scores.document_bleu == pytest.approx(100)
    assert scores.bleu < 95


def test_the_signature_says_how_it_was_scored() -> None:
    """Readers can reproduce the figure: case, tokenizer and version are in the signature."""
    scores = evaluate(
        table(), DOCUMENTS, ContextWindow(size=1), options=MetricOptions(lowercase=True, tokenize="intl")
    ).scores
    assert scores.signature == f"nrefs:1|case:lc|eff:no|tok:intl|smooth:exp|version:{sacrebleu.__version__}"
    assert scores.chrf_signature.startswith("nrefs:1|case:lc|")
    assert "|tok:13a|" in evaluate(table(), DOCUMENTS, ContextWindow(size=1)).scores.signature


def test_case_counts_unless_it_is_said_not_to() -> None:
    """Upper-case output counts as wrong by default, and as right with `lowercase`."""
    assert evaluate(table(str.upper), DOCUMENTS, ContextWindow(size=1)).scores.bleu < 10
    scores = evaluate(table(str.upper), DOCUMENTS, ContextWindow(size=1), options=MetricOptions(lowercase=True)).scores
    assert (scores.bleu, scores.document_bleu, scores.chrf) == pytest.approx((100, 100, 100))


def test_the_tokenizer_counts() -> None:
    """With characters as tokens, BLEU is the one that sacreBLEU gives for them."""
    translator = table(lambda text: text.replace("temple", "tempel"))
    evaluation = evaluate(translator, DOCUMENTS, ContextWindow(size=1), options=MetricOptions(tokenize="char"))
    expected = sacrebleu.corpus_bleu(list(evaluation.translations), [FLAT], tokenize="char").score
    assert evaluation.scores.bleu == expected


def test_an_unknown_tokenizer_is_refused_before_anything_is_translated() -> None:
    """The error names the available ones."""
    translator = table()
    with pytest.raises(ConfigError, match=r"no tokenizer 'moses'.*13a"):
        evaluate(translator, DOCUMENTS, ContextWindow(size=1), options=MetricOptions(tokenize="moses"))
    assert translator.seen == []


@pytest.mark.skipif(importlib.util.find_spec("MeCab") is not None, reason="MeCab is installed")
def test_a_tokenizer_that_is_not_installed_says_what_to_install() -> None:
    """Without MeCab, Japanese BLEU is refused in one line that has the command to install it."""
    with pytest.raises(ConfigError, match=r"ja-mecab is not available here: .*pip install sacrebleu\[ja\]") as caught:
        evaluate(table(), DOCUMENTS, ContextWindow(size=1), options=MetricOptions(tokenize="ja-mecab"))
    assert "\n" not in str(caught.value)


def test_an_empty_line_keeps_its_place() -> None:
    """An empty source with an empty translation shifts nothing after it."""
    gap = Document((DOCUMENTS[0].sentences[0], Sentence("", ""), DOCUMENTS[0].sentences[1]))
    translator = Table(table().texts | {"": ""})
    evaluation = evaluate(translator, [gap], ContextWindow(size=1))
    assert evaluation.translations == (FLAT[0], "", FLAT[1])
    assert evaluation.scores.bleu == pytest.approx(100)


def test_a_dropped_line_does_not_pass() -> None:
    """If a translator returns fewer lines, that is an error, and nothing is scored."""

    class Dropping(Table):
        def translate(self, windows: Sequence[Window]) -> list[Output]:
            return super().translate(windows)[1:]

    with pytest.raises(ValueError, match="4 translations of 5 sentences"):
        evaluate(Dropping(table().texts), DOCUMENTS, ContextWindow(size=1))


def test_speed_is_tokens_over_the_time_of_translation() -> None:
    """Speed is generated tokens, including ends of sentence as the translator counts them, per second."""
    scores = evaluate(table(), DOCUMENTS, ContextWindow(size=1), clock=clock(10.0, 14.0)).scores
    assert scores.tokens_per_second == sum(len(text.split()) + 1 for text in FLAT) / 4
    assert evaluate(table(), DOCUMENTS, ContextWindow(size=1), clock=clock(1.0, 1.0)).scores.tokens_per_second == 0


def test_the_translator_is_given_context_of_the_same_document() -> None:
    """Each sentence comes with as many preceding ones as were asked for, from its own document."""
    translator = table()
    evaluate(translator, DOCUMENTS, ContextWindow(size=1))
    given = [(window.current.source, [s.source for s in window.preceding]) for window in translator.seen]
    assert given == [("0.0", []), ("0.1", ["0.0"]), ("0.2", ["0.1"]), ("1.0", []), ("1.1", ["1.0"])]


@pytest.mark.parametrize("kind", ["real", "fixed", "shuffled"])
def test_no_reference_reaches_the_translator(kind: str) -> None:
    """Neither the sentence nor its context has a translation to copy from."""
    translator = table()
    evaluate(translator, DOCUMENTS, ContextWindow(size=2), replacement=Replacement(kind))  # type: ignore[arg-type]
    assert all(s.target is None for window in translator.seen for s in (window.current, *window.preceding))


def test_context_is_replaced_within_the_test_set() -> None:
    """With shuffled context, the sentences of one document precede those of the other."""
    translator = table()
    evaluate(translator, DOCUMENTS, ContextWindow(size=1), replacement=Replacement("shuffled"))
    for window in translator.seen:
        assert all(sentence.source[0] != window.current.source[0] for sentence in window.preceding)


def test_sentences_without_reference_are_refused() -> None:
    """Without a reference, there is nothing to compare with; the error names the document."""
    with pytest.raises(DataError, match=r"test\.ja:7: a sentence has no reference"):
        evaluate(table(), [*DOCUMENTS, Document((Sentence("x"),), "test.ja:7")], ContextWindow(size=1))


@pytest.mark.parametrize("documents", [[], [Document(())]])
def test_a_test_set_without_a_sentence_is_refused(documents: list[Document]) -> None:
    """No figure is made up for an empty test set."""
    with pytest.raises(DataError, match="no sentence"):
        evaluate(table(), documents, ContextWindow(size=1))


@dataclass
class Judge:
    """A scorer that gives each word of the target the same log-probability, and records what it was given."""

    word: float
    seen: list[tuple[Window, str]] = field(default_factory=list)

    def score(self, windows: Sequence[Window], targets: Sequence[str]) -> list[float]:
        """Score a target by its number of words, plus one for its end."""
        self.seen = list(zip(windows, targets, strict=True))
        return [self.word * (len(target.split()) + 1) for target in targets]


def count_words(sentence: Sentence) -> int:
    """Count the tokens of a reference, for a model whose tokens are words."""
    return len((sentence.target or "").split())


def test_loss_is_a_mean_over_tokens_not_sentences() -> None:
    """If every token, including ends, has a loss of half a nat, so has the corpus, however long its sentences are."""
    assert reference_loss(Judge(-0.5), count_words, DOCUMENTS, ContextWindow(size=1)) == pytest.approx(0.5)


def test_loss_is_of_the_references_in_their_windows() -> None:
    """Each reference is scored once, in order, in a window that does not contain it, with the context asked for."""
    judge = Judge(-1.0)
    reference_loss(judge, count_words, DOCUMENTS, ContextWindow(size=2), replacement=Replacement("shuffled"))
    assert [target for _, target in judge.seen] == FLAT
    for window, _ in judge.seen:
        assert window.current.target is None
        assert all(sentence.source[0] != window.current.source[0] for sentence in window.preceding)


def test_loss_is_of_what_the_model_can_score() -> None:
    """A reference that is too long does not count in the loss, but its sentence remains context."""
    judge = Judge(-0.5)
    loss = reference_loss(
        judge, count_words, DOCUMENTS, ContextWindow(size=1), fits=lambda sentence: sentence.target != FLAT[0]
    )
    assert loss == pytest.approx(0.5)
    assert [target for _, target in judge.seen] == FLAT[1:]
    assert judge.seen[0][0].preceding[0].target == FLAT[0]
    with pytest.raises(DataError, match="short enough"):
        reference_loss(judge, count_words, DOCUMENTS, ContextWindow(size=1), fits=lambda _: False)


def test_loss_needs_references() -> None:
    """With nothing to score, there is an error, not a loss of 0."""
    with pytest.raises(DataError, match="no sentences to evaluate on"):
        reference_loss(Judge(-1.0), count_words, [], ContextWindow(size=1))


def test_a_system_that_is_better_everywhere_is_significantly_better() -> None:
    """Paired bootstrap gives both systems' sacreBLEU scores, and a small p-value."""
    references = [f"sentence number {i} is about the old temple in the north" for i in range(60)]
    worse = [text.replace("about the old", "on an ancient") for text in references]
    found = compare(worse, references, references, samples=200)
    assert found["bleu"].system == pytest.approx(100)
    assert found["bleu"].baseline == sacrebleu.corpus_bleu(worse, [references]).score
    assert found["chrf"].baseline == sacrebleu.corpus_chrf(worse, [references]).score
    assert found["bleu"].p_value < 0.01
    assert found["chrf"].p_value < 0.01


def test_a_difference_that_sways_either_way_is_chance() -> None:
    """Two systems that are each right where the other is wrong do not differ significantly."""
    references = [f"sentence number {i} is about the old temple in the north" for i in range(60)]
    first = [text.replace("old temple", "new shrine") if i % 2 else text for i, text in enumerate(references)]
    second = [text if i % 2 else text.replace("old temple", "new shrine") for i, text in enumerate(references)]
    second[1] = first[1]
    found = compare(first, second, references, samples=200)
    assert found["bleu"].baseline != found["bleu"].system
    assert found["bleu"].p_value > 0.2
    bootstrap = PairedTest([("a", first), ("b", second)], {"BLEU": BLEU()}, [references], "bs", 200)
    assert found["bleu"].p_value == bootstrap()[1]["BLEU"][1].p_value


def test_a_system_does_not_differ_from_itself() -> None:
    """Identical output is never significantly different."""
    texts = [text.replace("the", "a") for text in FLAT]
    found = compare(texts, texts, FLAT, samples=50)
    assert found["bleu"].p_value == found["chrf"].p_value == 1


@pytest.mark.parametrize("count", [1, 3])
def test_few_sentences_show_little(count: int) -> None:
    """With few sentences, no p-value is below the chance that all of them differ in the same direction."""
    found = compare(["qq qq"] * count, FLAT[:count], FLAT[:count], samples=200)
    assert found["bleu"].system > found["bleu"].baseline
    assert (found["bleu"].p_value, found["chrf"].p_value) == (2.0**-count, 2.0**-count)


def test_comparing_is_repeatable_and_takes_the_options() -> None:
    """The same translations give the same p-value; lower-casing makes case differences vanish."""
    upper = [text.upper() for text in FLAT]
    assert compare(upper, FLAT, FLAT, samples=50) == compare(upper, FLAT, FLAT, samples=50)
    found = compare(upper, FLAT, FLAT, options=MetricOptions(lowercase=True), samples=50)
    assert found["bleu"].baseline == pytest.approx(100)


@pytest.mark.parametrize(("baseline", "system"), [(FLAT[1:], FLAT), (FLAT, FLAT[1:])])
def test_translations_of_different_texts_are_not_compared(baseline: list[str], system: list[str]) -> None:
    """Both systems have to translate every sentence."""
    with pytest.raises(DataError, match="same text"):
        compare(baseline, system, FLAT)
