"""The context sub-layer of Zhang et al. 2018: attention behind a gate (eq. 4, 8, 12 and 13)."""

from torch import Tensor, nn

from models.config import BackboneConfig, Norm
from models.network.attention import Attention
from models.network.layers import Gate


class ContextAttention(nn.Module):
    """Attention to the context states, its gate, and its own norm."""

    def __init__(self, config: BackboneConfig, dropout: float, *, gating: bool) -> None:
        super().__init__()
        self.attention = Attention(config.width, config.heads)
        self.norm = nn.LayerNorm(config.width)
        self.gate = Gate(config.width) if gating else None
        self.dropout = nn.Dropout(dropout)
        self.order: Norm = config.norm

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor, real: Tensor | None = None) -> Tensor:
        """Mix the context into x (R, T, D).

        Args:
            x: (R, T, D).
            keys: as in `Attention`.
            values: as in `Attention`.
            mask: as in `Attention`.
            real: (R, 1, 1, T), false where x is padding, which need not be computed.
        """
        query = self.norm(x) if self.order == "pre" else x
        y = self.attention(query, keys, values, mask)
        if self.gate is None:
            y = x + self.dropout(y)
        else:
            g = self.gate(query, y)
            y = x + (1 - g) * y if self.order == "pre" else g * x + (1 - g) * y
        return y if self.order == "pre" else self.norm(y)
