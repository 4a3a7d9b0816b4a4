"""A residual connection that passes itself to its sub-layer, which computes both together."""

from collections.abc import Callable
from typing import Any, Final

from torch import Tensor, nn

from models.network.layers import Residual


class FramedResidual(Residual):
    """A residual connection that is computed together with its sub-layer where possible."""

    def __init__(self, residual: Residual, frame: Any) -> None:  # noqa: ANN401 - each kind of sub-layer has its own
        """Replace `residual`.

        Args:
            residual: the connection to replace.
            frame: describes the connection to sub-layers that have an `inside` (`models.network.layers.Framed`).
        """
        nn.Module.__init__(self)
        self.norm, self.dropout, self.pre = residual.norm, residual.dropout, residual.pre
        self._frame: Final = frame

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `sublayer` to (..., D) inside the connection."""
        inside = getattr(sublayer, "inside", None)
        found: Tensor | None = None if inside is None else inside(x, self._frame)
        return super().forward(x, sublayer) if found is None else found
