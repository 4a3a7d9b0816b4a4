"""The global layer of `global_local`: attention over a block by distance in sentences, and its fusion."""

import torch
from torch import Tensor, nn

from models.config import BackboneConfig, GlobalLocalConfig
from models.kernels.segments import attend_segments
from models.network.attention import Attention
from models.network.layers import FeedForward, Residual, final_norm

REACH = 20
"""Largest distance in sentences that is distinguished; greater ones count as this."""


class SegmentAttention(nn.Module):
    """Attention over a block: e = q (k + a_r) / sqrt(D/H), z = sum softmax(e) (v + b_r), r the distance in sentences.

    `a` and `b` are tables that the heads share; without them (not `relative`) it is plain attention.
    """

    def __init__(self, width: int, heads: int, *, relative: bool) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.key_distances = nn.Embedding(2 * REACH + 1, width // heads) if relative else None
        self.value_distances = nn.Embedding(2 * REACH + 1, width // heads) if relative else None

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor, distance: Tensor) -> Tensor:
        """Attend from N sentences of each of G blocks to the block's K sentences.

        Args:
            x: (G, N, S, D).
            keys: (G, K, H, M, D/H).
            values: (G, K, H, M, D/H).
            mask: (G, N, K, M), true where a key may be seen.
            distance: (G, N, K), sentences from query to key.

        Returns:
            (G, N, S, D).
        """
        if self.attention.kernel is None:
            mixed = self._mix(x, keys, values, mask, distance)
        else:  # gives a sentence the same result in any batch
            mixed = attend_segments(self._queries(x), keys, values, mask, _row(distance), self._tables())
        output: Tensor = self.attention.output(mixed.flatten(-2))
        return output

    def _mix(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor, distance: Tensor) -> Tensor:
        weights = self.weights(x, keys, mask, distance)
        mixed = torch.einsum("ghnskm,gkhmd->gnshd", weights, values)
        if self.value_distances is not None:
            by_distance = self.value_distances(_row(distance))
            mixed = mixed + torch.einsum("ghnsk,gnkd->gnshd", weights.sum(-1), by_distance)
        return mixed

    def _queries(self, x: Tensor) -> Tensor:
        """Project to queries (G, N, S, H, D/H)."""
        queries: Tensor = self.attention.query(x)
        return queries.unflatten(-1, (self.attention.heads, -1))

    def _tables(self) -> tuple[Tensor, Tensor] | None:
        if self.key_distances is None or self.value_distances is None:
            return None
        return self.key_distances.weight.detach(), self.value_distances.weight.detach()

    def weights(self, x: Tensor, keys: Tensor, mask: Tensor, distance: Tensor) -> Tensor:
        """Return the weights by which the values are mixed, (G, H, N, S, K, M)."""
        queries = self._queries(x)
        scores = torch.einsum("gnshd,gkhmd->ghnskm", queries, keys)
        if self.key_distances is not None:
            by_distance = self.key_distances(_row(distance))
            scores = scores + torch.einsum("gnshd,gnkd->ghnsk", queries, by_distance)[..., None]
        # Not infinity: a row that is never read may see nothing at all.
        scores = (scores * queries.size(-1) ** -0.5).masked_fill(~mask[:, None, :, None], torch.finfo(scores.dtype).min)
        return scores.flatten(-2).softmax(-1).unflatten(-1, scores.shape[-2:])


def _row(distance: Tensor) -> Tensor:
    """Return the row of a distance in the tables."""
    return distance.clamp(-REACH, REACH) + REACH


class GlobalLayer(nn.Module):
    """One more encoder layer, over the block (`code`)."""

    def __init__(self, config: GlobalLocalConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__()
        self.attention = SegmentAttention(backbone.width, backbone.heads, relative=config.segment_relative)
        self.self_residual = Residual(backbone.width, backbone.norm, dropout)
        self.feed_forward = FeedForward(backbone.width, backbone.feed_forward, backbone.activation)
        self.feed_residual = Residual(backbone.width, backbone.norm, dropout)

    def keys_values(self, local: Tensor) -> tuple[Tensor, Tensor]:
        """Compute keys and values of the local states (U, M, D): each (U, H, M, D/H)."""
        normed = self.self_residual.norm(local) if self.self_residual.pre else local
        return self.attention.attention.keys_values(normed)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor, distance: Tensor) -> Tensor:
        """Compute global states (G, N, S, D) from local ones; arguments as in `SegmentAttention`."""
        x = self.self_residual(x, lambda y: self.attention(y, keys, values, mask, distance))
        output: Tensor = self.feed_residual(x, self.feed_forward)
        return output

    def start_at_zero(self) -> None:
        """Make the layer add nothing to a pre-norm stream."""
        if self.self_residual.pre:
            nn.init.zeros_(self.attention.attention.output.weight)
            nn.init.zeros_(self.feed_forward.outer.weight)


class GlobalAttention(nn.Module):
    """The attention of a `GlobalLayer` alone, without a residual connection (`paper`)."""

    def __init__(self, config: GlobalLocalConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__()
        self.attention = SegmentAttention(backbone.width, backbone.heads, relative=config.segment_relative)
        self.norm = final_norm(backbone.width, backbone.norm)
        self.dropout = nn.Dropout(dropout)

    def keys_values(self, local: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the same as in `GlobalLayer`."""
        return self.attention.attention.keys_values(self.norm(local))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor, distance: Tensor) -> Tensor:
        """Compute the same as in `GlobalLayer`."""
        attended: Tensor = self.dropout(self.attention(self.norm(x), keys, values, mask, distance))
        return attended


class Fusion(nn.Module):
    """h = LN((1 - g) * l + g * o) with g = sigmoid(W [l; o] + b) of local states l and global ones o.

    Without a gate, h = LN(o), to which l is added where the global layer has not done so (`paper`).
    """

    def __init__(self, config: GlobalLocalConfig, backbone: BackboneConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(2 * backbone.width, backbone.width) if config.gate else None
        self.open = nn.Sigmoid()
        self.adds = config.depth == "paper"
        # A pre-norm backbone closes its encoder itself.
        self.norm = nn.LayerNorm(backbone.width) if backbone.norm == "post" else nn.Identity()

    def forward(self, local: Tensor, whole: Tensor) -> Tensor:
        """Fuse local and global states, both (B, S, D)."""
        if self.gate is not None:
            g = self.open(self.gate(torch.cat([local, whole], dim=-1)))
            mixed = (1 - g) * local + g * whole
        else:
            mixed = local + whole if self.adds else whole
        normed: Tensor = self.norm(mixed)
        return normed
