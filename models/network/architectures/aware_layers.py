"""The layers of `layer_weighting`: over the context, over the context-aware source, and over the decoder."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.config import BackboneConfig, Norm
from models.network.attention import Attention
from models.network.context import Context, over_past
from models.network.layers import final_norm
from models.network.state import State
from models.network.transformer import EncoderLayer


class Gate(nn.Module):
    """g = sigmoid(W [x; y] + b), one vector per position."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.Linear(2 * width, width)
        self.open = nn.Sigmoid()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Compute the gate of x and y, both (B, S, D)."""
        opened: Tensor = self.open(self.both(torch.cat([x, y], dim=-1)))
        return opened


class GatedAttention(nn.Module):
    """o = g * x + (1 - g) * y, where y is what attention to a context finds for x."""

    def __init__(self, config: BackboneConfig, dropout: float, memory_width: int | None = None) -> None:
        super().__init__()
        self.attention = Attention(config.width, config.heads, memory_width, bias=False)
        self.gate = Gate(config.width)
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(dropout)
        self.order: Norm = config.norm

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Mix the context into x (R, T, D); other arguments as in `Attention`."""
        query = self.norm(x) if self.order == "pre" else x
        y = self.dropout(self.attention(query, keys, values, mask))
        g = self.gate(query, y)
        return x + (1 - g) * y if self.order == "pre" else self.norm(g * x + (1 - g) * y)


class SourceContextLayer(EncoderLayer):
    """A layer over one context sentence, whose states the current sentence gates."""

    def __init__(self, config: BackboneConfig, dropout: float, *, gating: bool) -> None:
        super().__init__(config, dropout, bias=False)
        self.input_attention = Attention(config.width, config.heads, bias=False) if gating else None
        self.input_norm = final_norm(config.width, config.norm) if gating else nn.Identity()
        self.gate = Gate(config.width) if gating else None

    def alone(self, x: Tensor, mask: Tensor) -> Tensor:
        """Compute A = SelfAttn(i), the part that does not depend on the current sentence, of (U, M, D)."""
        return self.self_residual(x, self.self_attention.over_itself(mask))

    def aware(self, a: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Compute FFN(a * g), g = sigmoid(W [a; CrossAttn(a, memory)] + b); a (B, K x M, D), memory (B, S, D)."""
        if self.input_attention is not None and self.gate is not None:
            query = self.input_norm(a)
            c = self.input_attention(query, *self.input_attention.known(memory, mask), mask)
            a = a * self.gate(query, c)
        return self.feed_residual(a, self.feed_forward)


class AwareSourceLayer(EncoderLayer):
    """A layer that makes the current source aware of its context."""

    def __init__(self, config: BackboneConfig, dropout: float) -> None:
        super().__init__(config, dropout, bias=False)
        self.context = GatedAttention(config, dropout)
        self.norm = final_norm(config.width, config.norm)

    def forward(self, x: Tensor, mask: Tensor, states: Tensor, visible: Tensor) -> Tensor:
        """Compute it from the last encoder layer's output (B, S, D) and the source context (B, K x M, D)."""
        x = self.self_residual(x, self.self_attention.over_itself(mask))
        x = self.context(x, *self.context.attention.known(states, visible), visible)
        return self.norm(self.feed_residual(x, self.feed_forward.over(mask)))


class AwareDecoderLayer(EncoderLayer):
    """A decoder layer that reads, in this order, the context-aware source, the source and the target context."""

    def __init__(self, config: BackboneConfig, dropout: float, *, target: bool) -> None:
        super().__init__(config, dropout, bias=False)
        widths = {"aware": config.width, "source": config.width} | ({"target": 2 * config.width} if target else {})
        self.reads = nn.ModuleDict({part: GatedAttention(config, dropout, width) for part, width in widths.items()})

    def prepare(self, index: int, context: Context, state: State) -> None:
        """Compute keys and values of what is read, once per sentence."""
        for part, sublayer in self.reads.items():
            assert isinstance(sublayer, GatedAttention)
            visible = context[f"{part}.visible"]
            state.fix(f"context.{part}", index, sublayer.attention.known(context[part], visible), visible)

    def forward(self, x: Tensor, index: int, state: State) -> Tensor:
        """Apply the layer to the output of the decoder, or of the layer below, (R, T, D)."""
        x = self.self_residual(x, over_past(f"context.{index}", self.self_attention, state))
        for part, sublayer in self.reads.items():
            x = sublayer(x, *state.known(f"context.{part}", index))
        return self.feed_residual(x, self.feed_forward)

    def start_at_zero(self) -> None:
        """Make the layer add nothing to a pre-norm stream."""
        nn.init.zeros_(self.self_attention.output.weight)
        nn.init.zeros_(self.feed_forward.outer.weight)
        for sublayer in self.reads.values():
            assert isinstance(sublayer, GatedAttention)
            nn.init.zeros_(sublayer.attention.output.weight)


class Mixture(nn.Module):
    """sum_j p_j o_j with p = softmax(w): one weight per layer output, embeddings included."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers + 1))

    def shares(self) -> Tensor:
        """Return p, one share per output."""
        return self.weights.softmax(0)

    def forward(self, outputs: Sequence[Tensor]) -> Tensor:
        """Mix outputs of (U, M, D) each."""
        return (torch.stack(list(outputs), dim=-1) * self.shares()).sum(-1)
