"""The kinds of pictures."""

from enum import StrEnum


class Picture(StrEnum):
    """A kind of picture; its value is the name of its files."""

    ATTENTION = "attention"
    GATES = "gates"
    LAYER_WEIGHTS = "layer-weights"
    CURVES = "curves"
    CONTEXT_SIZES = "context-sizes"
    CONTEXT_KINDS = "context-kinds"
