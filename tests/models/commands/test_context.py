"""What figures say about the context that a model was given."""

from types import SimpleNamespace
from typing import Any

import pytest

from models.commands.context import Setting
from models.config import ContextWindow


@pytest.mark.parametrize(
    ("window", "sentences", "counted"),
    [
        (ContextWindow(size=2), None, 2),
        (ContextWindow(size=2), 0, 0),
        (ContextWindow(following=1), None, 1),
        (ContextWindow(following=1), 0, 0),
        (ContextWindow(kind="block", size=19, following=19), 3, 3),
    ],
)
def test_figures_count_the_sentences_on_a_side(window: ContextWindow, sentences: int | None, counted: int) -> None:
    """A model that reads only following sentences does read context, and with 0 sentences no model does."""
    runtime: Any = SimpleNamespace(manifest=SimpleNamespace(name="m", window=window))
    setting = Setting(runtime, "real", sentences=sentences)
    assert setting.figures["context_sentences"] == counted
    assert (setting.window == ContextWindow(kind=window.kind)) == (counted == 0)
