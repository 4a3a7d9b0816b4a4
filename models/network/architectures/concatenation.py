"""Concatenation: Tiedemann and Scherrer 2017, "Neural Machine Translation with Extended Context", section 3.1.

The preceding sentences and the current one form one source, with separators between them; the target is the translation
of the current sentence alone (their "2+1"). This is a plain Transformer without parameters of its own: it learns what
to do with the longer source. Step two trains all of it.
"""

from itertools import chain
from typing import ClassVar, Literal

from models.config import BackboneConfig, ConcatenationConfig, ContextWindow
from models.data.batches import Example, Tokens, latest
from models.data.tokenizer import BOS
from models.network.context import Architecture

SEPARATOR = BOS
"""A token that otherwise occurs in no source."""


class Concatenation(Architecture):
    """The sentence model on a longer source."""

    no_context: ClassVar[Literal["module", "backbone"]] = "module"
    joins_source: ClassVar[bool] = True

    def __init__(self, config: ConcatenationConfig, backbone: BackboneConfig) -> None:
        super().__init__()
        self.window = ContextWindow(size=config.context_sentences)
        self.max_length = backbone.max_length

    def trains(self, parameter: str) -> bool:
        """Whether step two trains it: everything."""
        return True

    def select(self, example: Example) -> Example:
        """Select the latest sentences that fit into the position table with separators and the sentence itself."""
        room = self.max_length - 1 - len(example.source)
        with_separator = [range(len(tokens) + 1) for tokens in example.preceding]
        count = len(latest(with_separator, self.window.size, room))
        return Example(example.source, preceding=example.preceding[len(example.preceding) - count :])

    def source(self, example: Example) -> Tokens:
        """Return the preceding sentences, each followed by a separator, and the sentence."""
        return [*chain.from_iterable((*tokens, SEPARATOR) for tokens in example.preceding), *example.source]
