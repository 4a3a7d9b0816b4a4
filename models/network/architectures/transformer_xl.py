"""Relative positions and a memory of the previous sentence in a decoder: Dai et al. 2019, "Transformer-XL", section 3.

Keys and values are those of the memory, followed by those of the current sentence. The score of key j for query i is

    ((q_i + u) k_j + (q_i + v) W_r R_{i-j}) / sqrt(D/H)

with R_d a sinusoid of the distance d, W_r a matrix per layer, and u and v vectors that all layers share. The
projections are those of the backbone's self-attention, so a sentence model can be taken over, although its decoder
uses other positions. A warm start, which is not in the paper, keeps those, lets distances count for nothing at first,
and adds b D/H to the scores of the memory's keys, with a number b per layer and head that starts at -1: a word of the
memory then weighs e^-sqrt(D/H) of what it would within the sentence, until training raises it. (One b for each term of
the product of q and k, since a single bias would hardly move at the learning rate of the other parameters.)
"""

import math

import torch
from torch import Tensor, nn

from models.config import BackboneConfig
from models.data.batches import Memory
from models.data.tokenizer import EOS, PAD
from models.kernels.relative import Distances, Remembered, attend_relative
from models.network.attention import Attention
from models.network.layers import Residual
from models.network.positions import sinusoidal_positions
from models.network.state import ROOM, State


class RelativeAttention(nn.Module):
    """Self-attention of all decoder layers, over the past of the sentence and the memory of the previous one.

    Several words at a time can only be decoded by hypotheses that began together (`State.starts` is not set).

    The memory of a layer is its input at every word of the previous sentence, from <s> to the last word. It is in
    `state.fixed` as `memory.<layer>` (B, M, D) and `memory.real` (B, M), padded on the left, so that a distance is the
    same in all rows; hypotheses share it. What a sentence itself leaves is in `state.past`, or in `state.left`.
    """

    distances: Tensor

    def __init__(self, config: BackboneConfig, *, warm_start: bool) -> None:
        super().__init__()
        self.warm_start = warm_start
        self.content_bias = nn.Parameter(torch.zeros(config.heads, config.width // config.heads))
        self.position_bias = nn.Parameter(torch.zeros_like(self.content_bias))
        self.positions = nn.ModuleList(
            nn.Linear(config.width, config.width, bias=False) for _ in range(config.decoder_layers)
        )
        self.memory_biases = nn.ParameterList(
            nn.Parameter(torch.zeros(config.heads)) for _ in range(config.decoder_layers * warm_start)
        )
        # A sentence and the previous one, both of maximum length.
        table = sinusoidal_positions(2 * config.max_length, config.width, first=0)
        self.register_buffer("distances", table, persistent=False)

    def reset(self) -> None:
        """Initialise u and v as the authors' code does; for a warm start, all parameters."""
        for bias in (self.content_bias, self.position_bias):
            nn.init.zeros_(bias) if self.warm_start else nn.init.normal_(bias, std=0.02)
        for bias in self.memory_biases:
            nn.init.constant_(bias, -1)
        if self.warm_start:
            for weight in self.positions.parameters():
                nn.init.zeros_(weight)

    def see(self, tokens: Tensor, state: State) -> None:
        """Record which of the tokens (R, T), when decoded all at once, are words that will be remembered."""
        if not state.cached:
            state.left["real"] = tokens.ne(PAD) & tokens.ne(EOS)

    def forward(self, layer: int, x: Tensor, attention: Attention, residual: Residual, state: State) -> Tensor:
        """Apply the self-attention sub-layer of a decoder layer, (R, T, D)."""
        left = state.extend(f"left.{layer}", x)
        if not state.cached:
            state.left[str(layer)] = left
        memory = self._memory(layer, attention, residual, state)
        return residual(x, lambda y: self._attend(layer, y, attention, memory, state))

    def finish(self, state: State, rows: Tensor) -> Memory:
        """Return the memory that these hypotheses (R',) leave, without gradients."""
        layers = range(len(self.positions))
        if state.cached:
            left = {str(i): state.past[f"left.{i}"][: state.position, rows].transpose(0, 1) for i in layers}
            here = torch.arange(state.position, device=rows.device).expand(len(rows), -1)
            return {**left, "real": here >= (0 if state.starts is None else state.starts[rows, None])}
        real = state.left["real"][rows]
        places = torch.arange(real.size(1), device=rows.device) - real.size(1) + real.sum(1, keepdim=True)
        inside, places = places.ge(0), places.clamp(min=0)[:, :, None]
        inputs = {str(i): state.left[str(i)][rows].detach() for i in layers}
        aligned = {name: x.gather(1, places.expand_as(x)) * inside[:, :, None] for name, x in inputs.items()}
        return {**aligned, "real": inside}

    def _memory(
        self, layer: int, attention: Attention, residual: Residual, state: State
    ) -> tuple[Tensor, Tensor] | None:
        """Return keys and values of the memory, (B, H, M, D/H), which replace it and are computed once per sentence."""
        names = f"memory.{layer}.keys", f"memory.{layer}.values"
        inputs = state.fixed.pop(f"memory.{layer}", None)
        if inputs is not None:
            normed = residual.norm(inputs) if residual.pre else inputs
            state.fixed |= zip(names, (each.contiguous() for each in attention.keys_values(normed)), strict=True)
        return (state.fixed[names[0]], state.fixed[names[1]]) if names[0] in state.fixed else None

    def _attend(
        self, layer: int, x: Tensor, attention: Attention, memory: tuple[Tensor, Tensor] | None, state: State
    ) -> Tensor:
        projected, keys, values = attention.project(x)
        keys = attention.split(state.extend(f"self.{layer}.keys", keys))
        values = attention.split(state.extend(f"self.{layer}.values", values))
        queries = attention.split(projected)  # (R, H, T, D/H)
        if attention.kernel is None:
            mixed = self._mix(layer, queries, keys, values, memory, state).transpose(1, 2)
        else:
            mixed = self._look_up(layer, (queries, keys, values), memory, state)
        output: Tensor = attention.output(mixed.flatten(2))
        return output

    def _look_up(
        self,
        layer: int,
        words: tuple[Tensor, Tensor, Tensor],
        memory: tuple[Tensor, Tensor] | None,
        state: State,
    ) -> Tensor:
        """Compute `_mix` by a kernel, (R, T, H, D/H), with the same result for a row in any batch."""
        queries, keys, _ = words
        remembered = None if memory is None else Remembered(*memory, state.fixed["memory.real"])
        total = keys.size(2) + (0 if memory is None else memory[0].size(2))
        table = self._projected(layer, total, state).permute(2, 0, 1)
        biases = self.content_bias, self.position_bias, self._memory_bias(layer)
        distances = Distances(table, *(bias.detach() for bias in biases))
        starts = queries.new_zeros(len(queries), dtype=torch.long) if state.starts is None else state.starts
        return attend_relative(*words, starts, distances, remembered)

    def _mix(
        self,
        layer: int,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        memory: tuple[Tensor, Tensor] | None,
        state: State,
    ) -> Tensor:
        """Attend from the words to those before them and to the memory, (R, H, T, D/H)."""
        by_content = queries + self.content_bias[:, None]
        scores = by_content @ keys.transpose(2, 3)
        if queries.size(2) > 1:
            future = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device).triu(1 + state.position)
            scores = scores.masked_fill(future, -math.inf)
        elif (unseen := state.unseen(scores.dtype)) is not None:
            scores = scores + unseen
        if memory is not None:
            real = state.fixed["memory.real"].repeat_interleave(len(queries) // len(memory[0]), 0)[:, None, None]
            remembered = _shared(by_content, memory[0].transpose(2, 3)) + self._memory_bias(layer)[:, None, None]
            remembered = remembered.masked_fill(~real, -math.inf)
            scores = torch.cat([remembered, scores], dim=-1)
        scores = scores + self._by_position(layer, queries, scores.size(-1), keys.size(2), state)
        weights = (scores / math.sqrt(queries.size(-1))).softmax(-1)
        mixed = weights[..., -keys.size(2) :] @ values
        if memory is not None:
            mixed = mixed + _shared(weights[..., : -keys.size(2)], memory[1])
        return mixed

    def _memory_bias(self, layer: int) -> Tensor:
        """Return what is added to the memory's scores, (H,)."""
        heads, size = self.content_bias.shape
        return self.memory_biases[layer] * size if self.warm_start else self.content_bias.new_zeros(heads)

    def _by_position(self, layer: int, queries: Tensor, total: int, own: int, state: State) -> Tensor:
        """Return (q + v) W_r R_d of every key, (R, H, T, total), the last `own` of them the current sentence's."""
        products = (queries + self.position_bias[:, None]) @ self._projected(layer, total, state)
        new = queries.size(2)
        if new == 1 and state.starts is None:
            return products.flip(-1)
        places, keys = state.places(new), torch.arange(-(total - own), own, device=queries.device)
        if isinstance(places, slice):
            distance = torch.arange(places.start, places.stop, device=queries.device)[:, None] - keys
        else:  # the memory ends where the sentence begins, which is not at place 0
            assert state.starts is not None
            distance = places[:, None, :, None] - keys + state.starts[:, None, None, None] * (keys >= 0)
        # Keys that are not there yet, or precede the sentence, may get any distance.
        index = distance.clamp(0, products.size(-1) - 1).expand(*products.shape[:-1], total)
        return products.gather(-1, index)

    def _projected(self, layer: int, count: int, state: State) -> Tensor:
        """Return W_r R_d for the distances d from 0 to `count` - 1, (H, D/H, count)."""
        name = f"distances.{layer}"
        known = state.shared.get(name)
        if known is None or known.size(-1) < count:
            room = -(-count // ROOM) * ROOM if state.cached else count
            projected = self.positions[layer](self.distances[:room])
            known = projected.unflatten(-1, (self.content_bias.size(0), -1)).permute(1, 2, 0)
            state.shared[name] = known
        return known[..., :count]


def _shared(rows: Tensor, matrices: Tensor) -> Tensor:
    """Multiply (R, H, T, X) by (B, H, X, Y), shared by a sentence's N hypotheses, giving (R, H, T, Y)."""
    folded = rows.unflatten(0, (len(matrices), -1)).transpose(1, 2).flatten(2, 3)  # (B, H, N x T, X)
    product = folded @ matrices
    return product.unflatten(2, (-1, rows.size(2))).transpose(1, 2).flatten(0, 1)
