"""A runtime as evaluation and translation of corpora see it: windows of documents in, translations out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.data.documents import Sentence, Window
from models.engine.requests import Options, Translation, TranslationRequest
from models.engine.runtime import DEFAULT_OPTIONS, Runtime
from models.text.glossary import NO_TERMS, Glossary
from models.text.memory import NO_MEMORY, TranslationMemory


@dataclass(frozen=True, slots=True)
class WindowTranslator:
    """A runtime as evaluation sees it: translates and scores windows of documents, always with the same options.

    Translations use the terms of the glossary; what is in the memory is taken from it and not translated. A window's
    current sentence may have a draft as its target, which the strategy `verify` reads.
    """

    runtime: Runtime
    options: Options = DEFAULT_OPTIONS
    glossary: Glossary = NO_TERMS
    memory: TranslationMemory = NO_MEMORY

    @property
    def reads_target(self) -> bool:
        """Whether the translations of the preceding sentences are read."""
        return self.options.strategy != "sentence" and self.runtime.manifest.reads_target_context

    def translate(self, windows: Sequence[Window]) -> list[Translation]:
        """Translate each window's current sentence."""
        known = [self.memory.find(window.current.source) for window in windows]
        requests = [_request_of(window) for window, text in zip(windows, known, strict=True) if text is None]
        asked = [replace(request, terms=self.glossary.may_be_in(request.source)) for request in requests]
        translated = iter(self.runtime.translate(asked, self.options))
        return [next(translated) if text is None else Translation.given(text) for text in known]

    def score(self, windows: Sequence[Window], targets: Sequence[str]) -> list[float]:
        """Return the log-probability of each target as the translation of its window's current sentence."""
        return self.runtime.score([_request_of(window) for window in windows], targets, self.options)

    def count_tokens(self, sentence: Sentence) -> int:
        """Return the number of tokens of a sentence's translation as it is scored, without the end of sentence."""
        return self.runtime.sizes(sentence)[1]

    def fits(self, sentence: Sentence) -> bool:
        """Return whether neither a sentence nor its translation has more tokens than the model has positions."""
        return max(self.runtime.sizes(sentence)) <= self.runtime.manifest.limits.source_tokens


def _request_of(window: Window) -> TranslationRequest:
    return TranslationRequest(window.current.source, window.preceding, window.following, draft=window.current.target)
