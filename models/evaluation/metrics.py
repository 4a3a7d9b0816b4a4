"""BLEU and chrF of a translator on documents, and whether one system is significantly better than another.

Scores are sacreBLEU's (Post 2018), with its signature. Any translator will do: a runtime, a checkpoint, a fake.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Protocol

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from models.config import ContextWindow
from models.data.documents import Document, Sentence, Window, windows
from models.data.replacement import REAL, Replacement
from models.errors import ConfigError, DataError
from models.evaluation.document_translation import Translator, translate_documents


class Scorer(Protocol):
    """Tells how likely translations are."""

    def score(self, windows: Sequence[Window], targets: Sequence[str]) -> Sequence[float]:
        """Return the log-probability of each target as the translation of its window's current sentence.

        The current sentences have no target; those around them have their references.
        """


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """How sacreBLEU compares text."""

    lowercase: bool = False
    tokenize: str = "13a"
    """sacreBLEU's tokenizer for BLEU: 13a, intl, char, zh, none, ja-mecab, ..."""


DEFAULT_METRICS: Final = MetricOptions()


@dataclass(frozen=True, slots=True)
class Scores:
    """Quality and speed on a test set; BLEU and chrF between 0 and 100."""

    bleu: float
    chrf: float
    document_bleu: float
    """BLEU with each document as one segment, so that sentences may be split differently from the reference."""
    signature: str
    chrf_signature: str
    tokens_per_second: float
    """Target tokens generated per second that the translator took."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores, and the translations that were scored: one for each sentence of the documents, in order."""

    scores: Scores
    translations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of two systems; `p_value` is small if the difference is unlikely to be chance."""

    baseline: float
    system: float
    p_value: float


def evaluate(
    translator: Translator,
    documents: Sequence[Document],
    window: ContextWindow,
    *,
    replacement: Replacement = REAL,
    options: MetricOptions = DEFAULT_METRICS,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluation:
    """Translate every sentence of the documents and score the translations against their targets.

    Args:
        translator: What is evaluated.
        documents: Sentences with their reference translations.
        window: Which sentences around each one the translator is given as context.
        replacement: What it is given in place of that context.
        options: How text is compared.
        clock: The time in seconds, for `tokens_per_second`.

    Raises:
        DataError: there is no sentence, or one has no reference.
        ConfigError: sacreBLEU does not offer the tokenizer here.
    """
    references = _references(documents)
    scorer = _Scorer(options)
    start = clock()
    translated = translate_documents(translator, documents, window, replacement=replacement)
    seconds = clock() - start
    texts = [each.text for each in translated]
    speed = sum(each.tokens for each in translated) / seconds if seconds > 0 else 0.0
    return Evaluation(scorer.scores(texts, references, speed), tuple(texts))


def reference_loss(
    scorer: Scorer,
    count_tokens: Callable[[Sentence], int],
    documents: Sequence[Document],
    window: ContextWindow,
    *,
    fits: Callable[[Sentence], bool] = lambda _: True,
    replacement: Replacement = REAL,
) -> float:
    """Return the cross-entropy of the references, in nats per token, end of sentence included.

    Args:
        scorer: What is evaluated.
        count_tokens: Counts the tokens of a sentence's reference as the scorer reads it, without the end of sentence.
        documents: Sentences with their reference translations.
        window: Which sentences around each one the scorer is given as context.
        fits: Whether the scorer can score a sentence with its reference; one that it cannot is context only.
        replacement: What the scorer is given in place of the context.

    Raises:
        DataError: there is no sentence that fits, or one has no reference.
    """
    references = [reference for document in _references(documents) for reference in document]
    given = zip(_windows(documents, window, replacement), references, strict=True)
    pairs = [(each, Sentence(each.current.source, reference)) for each, reference in given]
    scored = [(each, sentence) for each, sentence in pairs if fits(sentence)]
    if not scored:
        raise DataError("no sentence is short enough for the model to score its reference")
    scores = scorer.score([each for each, _ in scored], [sentence.target or "" for _, sentence in scored])
    return -sum(scores) / sum(count_tokens(sentence) + 1 for _, sentence in scored)


def compare(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    *,
    options: MetricOptions = DEFAULT_METRICS,
    samples: int = 1000,
) -> dict[str, Comparison]:
    """Compare two systems by sacreBLEU's paired bootstrap resampling (Koehn 2004); keys `bleu` and `chrf`.

    Its p-value ignores the sign of differences, as Moses' script did; unless the difference is tiny, it is half of a
    two-sided one. Samples of few sentences hardly differ (those of one sentence not at all), and would make any
    difference look certain. So the p-value is at least the chance that all sentences differ in that direction: 1/2 for
    one sentence. The seed is sacreBLEU's: 12345, or the environment variable SACREBLEU_SEED.

    Raises:
        DataError: the three differ in their number of sentences, or have none.
        ConfigError: sacreBLEU does not offer the tokenizer here.
    """
    if not len(baseline) == len(system) == len(references) > 0:
        raise DataError(
            f"baseline, system and reference have {len(baseline)}, {len(system)} and {len(references)} sentences:"
            " only translations of the same text can be compared"
        )
    named: list[tuple[str, Sequence[str]]] = [("baseline", list(baseline)), ("system", list(system))]
    scorer = _Scorer(options)
    metrics: dict[str, Metric] = {"bleu": scorer.bleu, "chrf": scorer.chrf}
    _, results = PairedTest(named, metrics, [list(references)], test_type="bs", n_samples=samples)()
    return {key: _comparison(results[name], len(references)) for key, name in (("bleu", "BLEU"), ("chrf", "chrF2"))}


def _comparison(row: Sequence[str | Result], sentences: int) -> Comparison:
    baseline, system = (result for result in row if isinstance(result, Result))
    p_value = system.p_value
    if p_value is None or baseline.score == system.score:
        p_value = 1.0  # sacreBLEU finds equal systems significantly different, since no sample exceeds 0
    return Comparison(baseline.score, system.score, max(p_value, 2.0**-sentences))


class _Scorer:
    """sacreBLEU's metrics with one set of options."""

    def __init__(self, options: MetricOptions) -> None:
        self.bleu = _bleu(options)
        self.chrf = CHRF(lowercase=options.lowercase)

    def scores(self, texts: Sequence[str], references: Sequence[Sequence[str]], tokens_per_second: float) -> Scores:
        flat = [reference for document in references for reference in document]
        if len(texts) != len(flat):
            raise ValueError(f"{len(texts)} translations of {len(flat)} sentences")
        return Scores(
            bleu=self.bleu.corpus_score(texts, [flat]).score,
            chrf=self.chrf.corpus_score(texts, [flat]).score,
            document_bleu=self.bleu.corpus_score(_joined(texts, references), [_joined(flat, references)]).score,
            signature=str(self.bleu.get_signature()),
            chrf_signature=str(self.chrf.get_signature()),
            tokens_per_second=tokens_per_second,
        )


def _bleu(options: MetricOptions) -> BLEU:
    if options.tokenize not in BLEU.TOKENIZERS:
        offered = ", ".join(BLEU.TOKENIZERS)
        raise ConfigError(f"sacreBLEU has no tokenizer {options.tokenize!r}; it has {offered}")
    try:
        return BLEU(lowercase=options.lowercase, tokenize=options.tokenize)
    except (ImportError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"sacreBLEU's tokenizer {options.tokenize} is not available here: {reason}") from None


def _windows(documents: Sequence[Document], window: ContextWindow, replacement: Replacement) -> list[Window]:
    """Return all sentences without their own references, in their context, which has its references."""
    given = [
        (replace(each, current=Sentence(each.current.source)), number)
        for number, document in enumerate(documents)
        for each in windows(document, window)
    ]
    return replacement.apply([each for each, _ in given], [number for _, number in given])


def _references(documents: Sequence[Document]) -> list[list[str]]:
    references = [[_reference(document, sentence) for sentence in document.sentences] for document in documents]
    if not any(references):
        raise DataError("there are no sentences to evaluate on")
    return references


def _reference(document: Document, sentence: Sentence) -> str:
    if sentence.target is None:
        raise DataError("a sentence has no reference translation", document.name)
    return sentence.target


def _joined(texts: Sequence[str], documents: Sequence[Sequence[str]]) -> list[str]:
    """Join sentences into documents of as many sentences as those given."""
    remaining = iter(texts)
    return [" ".join(islice(remaining, len(document))) for document in documents]
