"""What a model is given as context, as options say."""

from typing import TYPE_CHECKING

import typer

from models.bundle.requests import Options, Strategy
from models.data.replacement import ContextKind, Replacement, Vocabulary

if TYPE_CHECKING:
    from models.bundle.runtime import Runtime, WindowTranslator


def options_of(context: ContextKind, beam: int | None, strategy: Strategy | None = None) -> Options:
    """How a runtime translates: unless a strategy says otherwise, with its sentence backbone for no context.

    Raises:
        typer.BadParameter: a strategy that reads context, and none to read.
    """
    if context == "none" and strategy not in (None, "sentence"):
        raise typer.BadParameter(f"--strategy {strategy} reads context: for none of its own, --context empty")
    return Options(strategy or ("sentence" if context == "none" else "direct"), beam_size=beam)


def translator_of(
    runtime: "Runtime", context: ContextKind, beam: int | None, strategy: Strategy | None = None
) -> "WindowTranslator":
    """The model as evaluation sees it."""
    from models.bundle.runtime import WindowTranslator

    return WindowTranslator(runtime, options_of(context, beam, strategy))


def replacement_of(runtime: "Runtime", context: ContextKind, seed: int) -> Replacement:
    """What stands in place of the context."""
    return Replacement(context, seed, Vocabulary.of(runtime.tokenizer) if context == "random" else None)
