"""The figures that commands report of a model in one kind of context."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from models.commands.context import SearchSettings, Setting, translator_of
from models.data.documents import Document
from models.evaluation import contrastive, metrics
from models.evaluation.contrastive_sets import ContrastiveItem
from models.evaluation.document_translation import Translator, translate_documents


def translated(
    setting: Setting,
    documents: Sequence[Document],
    options: metrics.MetricOptions,
    search: SearchSettings,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """BLEU, chrF, document BLEU and the loss of the references; and the translations that the scores are of.

    With how they were searched for. A sentence too long to be scored is translated all the same, by clauses; how many
    are not in the loss stands beside it.
    """
    translator, replacement = translator_of(setting.runtime, setting.context, search), setting.replacement
    _begin(translator, documents, setting)
    result = metrics.evaluate(translator, documents, setting.window, replacement=replacement, options=options)
    loss = metrics.reference_loss(
        translator,
        translator.count_tokens,
        documents,
        setting.window,
        fits=translator.fits,
        replacement=replacement,
    )
    too_long = sum(not translator.fits(sentence) for document in documents for sentence in document.sentences)
    left_out = {"not_in_loss": too_long} if too_long else {}
    searched = search.figures(setting.runtime.manifest.decoding)
    return {**asdict(result.scores), "loss": loss, **left_out, **setting.figures, **searched}, result.translations


def _begin(translator: Translator, documents: Sequence[Document], setting: Setting) -> None:
    """Translate a little, so that what is loaded or compiled for the first sentences does not count in the speed."""
    first = next((document for document in documents if document.sentences), None)
    if first is not None:
        little = Document(first.sentences[:2], first.name)
        translate_documents(translator, [little], setting.window)


def judged(
    setting: Setting, items: Sequence[ContrastiveItem], rule: contrastive.Rule, *, own: bool = False
) -> tuple[dict[str, Any], list[contrastive.Outcome]]:
    """How often the right translation is likelier than wrong ones, in all and by class; and of which items it is.

    With `own`, the preceding sentences have the model's translations in place of the set's.
    """
    translator = translator_of(setting.runtime, setting.context)
    contrastive.require_fitting(items, rule, translator.fits)
    preceded = {"own": True} if own else {}
    if own:
        items = contrastive.with_own_translations(translator, items, setting.window)
    outcomes = contrastive.outcomes_of(
        translator,
        items,
        setting.window,
        rule=rule,
        count_tokens=translator.count_tokens,
        replacement=setting.replacement,
    )
    return {**asdict(contrastive.accuracies(outcomes)), **setting.figures, "rule": rule, **preceded}, outcomes
