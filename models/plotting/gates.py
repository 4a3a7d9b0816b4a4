"""How much context the gates of each layer let in, over the tokens of a document."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from torch import Tensor

from models.data.documents import Document
from models.engine.runtime import Runtime
from models.errors import PictureError
from models.plotting.passage import name_of, read_passage

QUANTILES: Final = (0.05, 0.25, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class GateValues:
    """The weight that a layer's gate gives to the context, over all tokens and units, between 0 and 1."""

    part: str
    layer: int
    """The layer's number in the part, from 1."""
    mean: float
    quantiles: tuple[float, ...]
    """The quantiles at 5, 25, 75 and 95 %."""
    tokens: int


def gate_values(runtime: Runtime, document: Document) -> list[GateValues]:
    """Return the values of every gate that was used.

    Raises:
        DataError: no sentence is short enough for the model.
        PictureError: the model has no gates, or the document has no sentence with context.
    """
    passage = read_passage(runtime, document)
    watched = passage.model.architecture.gates(passage.batch)
    if not watched:
        raise PictureError(f"{name_of(runtime)} has no gates to draw")
    values = passage.observe(watched)
    found = [_of(gate.part, gate.layer + 1, each) for gate, each in zip(watched, values, strict=True) if len(each)]
    if not found:
        raise PictureError(f"{name_of(runtime)} used none of its gates: {document.name} has no sentence with context")
    return found


def _of(part: str, layer: int, values: Tensor) -> GateValues:
    """Summarize a gate's values (tokens, D)."""
    flat = values.float().flatten().cpu().numpy()
    return GateValues(part, layer, float(flat.mean()), tuple(map(float, np.quantile(flat, QUANTILES))), len(values))
