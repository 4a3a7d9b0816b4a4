"""What a model is given as context, as options say."""

from typing import TYPE_CHECKING

from models.data.replacement import ContextKind, Replacement, Vocabulary

if TYPE_CHECKING:
    from models.bundle.runtime import Runtime, WindowTranslator


def translator_of(runtime: "Runtime", context: ContextKind, beam: int | None) -> "WindowTranslator":
    """The model as evaluation sees it; its sentence backbone for no context."""
    from models.bundle.runtime import Options, WindowTranslator

    return WindowTranslator(runtime, Options(strategy="sentence" if context == "none" else "direct", beam_size=beam))


def replacement_of(runtime: "Runtime", context: ContextKind, seed: int) -> Replacement:
    """What stands in place of the context."""
    return Replacement(context, seed, Vocabulary.of(runtime.tokenizer) if context == "random" else None)
