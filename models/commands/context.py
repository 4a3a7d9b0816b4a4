"""What a model is given as context, as options say."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from models.config import ContextWindow, DecodingConfig
from models.data.replacement import ContextKind, Replacement, Vocabulary
from models.engine.requests import Options, Strategy
from models.text.glossary import NO_TERMS, Glossary
from models.text.memory import NO_MEMORY, TranslationMemory

if TYPE_CHECKING:
    from models.engine.runtime import Runtime
    from models.engine.windows import WindowTranslator


@dataclass(frozen=True, slots=True)
class Setting:
    """A model, and the context that it is given."""

    runtime: "Runtime"
    context: ContextKind
    seed: int = 1
    """Of replaced context."""
    sentences: int | None = None
    """The most on each side; without a number, as many as the model reads."""

    @property
    def window(self) -> ContextWindow:
        """Which sentences around each one there are to read, or to replace.

        Raises:
            ConfigError: the model reads fewer than were asked for.
        """
        return self.runtime.manifest.window.at_most(self.sentences)

    @property
    def figures(self) -> dict[str, Any]:
        """What figures are of, to be written beside them."""
        size = 0 if self.context in {"none", "empty"} else self.window.most
        return {"model": self.runtime.manifest.name, "context": self.context, "context_sentences": size}

    @property
    def replacement(self) -> Replacement:
        """What stands in place of the context."""
        return replacement_of(self.runtime, self.context, self.seed)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search, as options say; what they do not say is as the model's own decoding has it."""

    beam: int | None = None
    alpha: float | None = None
    patience: float | None = None

    def figures(self, own: DecodingConfig) -> dict[str, Any]:
        """What figures were searched with, to be written beside them."""
        return {
            "beam_size": own.beam_size if self.beam is None else self.beam,
            "alpha": own.alpha if self.alpha is None else self.alpha,
            "patience": own.patience if self.patience is None else self.patience,
        }


AS_THE_MODEL_SAYS: Final = SearchSettings()


def options_of(context: ContextKind, search: SearchSettings, strategy: Strategy | None = None) -> Options:
    """How a runtime translates: unless a strategy says otherwise, with its sentence backbone for no context.

    Raises:
        typer.BadParameter: a strategy that reads context, and none to read.
    """
    if context == "none" and strategy not in (None, "sentence"):
        raise typer.BadParameter(f"--strategy {strategy} reads context: use --context empty to give it none")
    strategy = strategy or ("sentence" if context == "none" else "direct")
    return Options(strategy, search.beam, alpha=search.alpha, patience=search.patience)


def translator_of(
    runtime: "Runtime",
    context: ContextKind,
    search: SearchSettings = AS_THE_MODEL_SAYS,
    strategy: Strategy | None = None,
    glossary: Glossary = NO_TERMS,
    memory: TranslationMemory = NO_MEMORY,
) -> "WindowTranslator":
    """The model as evaluation sees it."""
    from models.engine.windows import WindowTranslator

    return WindowTranslator(runtime, options_of(context, search, strategy), glossary, memory)


def replacement_of(runtime: "Runtime", context: ContextKind, seed: int) -> Replacement:
    """What stands in place of the context."""
    return Replacement(context, seed, Vocabulary.of(runtime.tokenizer) if context == "random" else None)
