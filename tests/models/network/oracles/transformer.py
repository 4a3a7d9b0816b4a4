"""The sentence Transformer written out: one vector at a time, no batch, no cache, no padding.

A sequence is a list of vectors. Weights are read from the module under test; none of its code is used.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from models.network.attention import Attention
from models.network.layers import FeedForward, Residual
from models.network.transformer import DecoderLayer, EncoderLayer, Transformer

Sequence = list[Tensor]
Sublayer = Callable[[Sequence], Sequence]
Heads = list[tuple[Sequence, Sequence]]
"""The keys and the values that each head reads."""


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """W x + b."""
    return layer.weight @ x + (layer.bias if layer.bias is not None else 0)


def norm(layer: nn.Module, x: Tensor) -> Tensor:
    """(x - mean) / standard deviation, scaled and shifted; an identity stays one."""
    if not isinstance(layer, nn.LayerNorm):
        return x
    centred = x - x.mean()
    return centred / torch.sqrt((centred**2).mean() + layer.eps) * layer.weight + layer.bias


def softmax(scores: list[Tensor]) -> list[Tensor]:
    """exp(s) / sum of exp(s)."""
    together = torch.stack(scores)
    exponentials = torch.exp(together - together.max())
    return list(exponentials / exponentials.sum())


def attend(attention: Attention, x: Tensor, memory: Sequence) -> Tensor:
    """Multi-head attention of one query to a memory."""
    return attended(attention, x, keys_and_values(attention, memory))


def keys_and_values(attention: Attention, memory: Sequence) -> Heads:
    """The keys and values of a memory."""
    pairs = [linear(attention.key_value, m).chunk(2) for m in memory]
    keys, values = ([each.chunk(attention.heads) for each in side] for side in zip(*pairs, strict=True))
    return [([key[h] for key in keys], [value[h] for value in values]) for h in range(attention.heads)]


def attended(attention: Attention, x: Tensor, both: Heads) -> Tensor:
    """Multi-head attention of one query to keys and values (Vaswani et al. 2017, section 3.2.2)."""
    queries = linear(attention.query, x).chunk(attention.heads)
    found = []
    for query, (keys, values) in zip(queries, both, strict=True):
        weights = softmax([query @ key / math.sqrt(len(query)) for key in keys])
        found.append(sum(weight * value for weight, value in zip(weights, values, strict=True)))
    return linear(attention.output, torch.cat(found))


def over(attention: Attention, memory: Sequence) -> Sublayer:
    """Attention of every position to a memory."""
    both = keys_and_values(attention, memory)
    return lambda sequence: [attended(attention, x, both) for x in sequence]


def over_itself(attention: Attention) -> Sublayer:
    """Attention of every position to all positions."""
    return lambda sequence: over(attention, sequence)(sequence)


def over_past(attention: Attention) -> Sublayer:
    """Attention of every position to itself and those before it."""

    def read(sequence: Sequence) -> Sequence:
        both = keys_and_values(attention, sequence)
        until = ([(keys[: t + 1], values[: t + 1]) for keys, values in both] for t in range(len(sequence)))
        return [attended(attention, x, past) for x, past in zip(sequence, until, strict=True)]

    return read


def feed_forward(layer: FeedForward) -> Sublayer:
    """W2 activation(W1 x + b1) + b2 at every position."""
    return lambda sequence: [linear(layer.outer, layer.activation(linear(layer.inner, x))) for x in sequence]


def residual(connection: Residual, sequence: Sequence, sublayer: Sublayer) -> Sequence:
    """X + f(LN(x)) if the norm comes first, otherwise LN(x + f(x))."""
    if connection.pre:
        return [x + y for x, y in zip(sequence, sublayer([norm(connection.norm, x) for x in sequence]), strict=True)]
    return [norm(connection.norm, x + y) for x, y in zip(sequence, sublayer(sequence), strict=True)]


def embed(backbone: Transformer, embedding: nn.Embedding, tokens: list[int]) -> Sequence:
    """E[x] sqrt(D) + position, where position p (from 1) is [sin(p / 10000^(i / (D/2 - 1))) | cos(...)]."""
    width = backbone.config.width
    half = width // 2
    rates = [10000 ** (-i / max(half - 1, 1)) for i in range(half)]

    def position(p: int) -> Tensor:
        angles = torch.tensor([(p + 1) * rate for rate in rates], dtype=embedding.weight.dtype)
        return torch.cat([torch.sin(angles), torch.cos(angles)])

    return [embedding.weight[token] * math.sqrt(width) + position(p) for p, token in enumerate(tokens)]


def encoder_layer(layer: EncoderLayer, sequence: Sequence) -> Sequence:
    """Self-attention and feed-forward sub-layers."""
    sequence = residual(layer.self_residual, sequence, over_itself(layer.self_attention))
    return residual(layer.feed_residual, sequence, feed_forward(layer.feed_forward))


def decoder_layer(layer: DecoderLayer, sequence: Sequence, memory: Sequence) -> Sequence:
    """Self-attention to the past, attention to the source, and feed-forward sub-layers."""
    sequence = residual(layer.self_residual, sequence, over_past(layer.self_attention))
    sequence = residual(layer.source_residual, sequence, over(layer.source_attention, memory))
    return residual(layer.feed_residual, sequence, feed_forward(layer.feed_forward))


def log_probabilities(backbone: Transformer, hidden: Sequence) -> Tensor:
    """Log softmax of the output projection at every position, (T, V)."""
    return torch.stack([torch.log(torch.stack(softmax(list(linear(backbone.output, x))))) for x in hidden])


def sentence_model(backbone: Transformer, source: list[int], target: list[int]) -> Tensor:
    """Log-probabilities (T, V) after each token of `target`, which begins with <s>; `source` ends with </s>."""
    memory = embed(backbone, backbone.source_embedding, source)
    for layer in backbone.encoder:
        assert isinstance(layer, EncoderLayer)
        memory = encoder_layer(layer, memory)
    memory = [norm(backbone.encoder_norm, x) for x in memory]
    hidden = embed(backbone, backbone.target_embedding, target)
    for layer in backbone.decoder:
        assert isinstance(layer, DecoderLayer)
        hidden = decoder_layer(layer, hidden, memory)
    return log_probabilities(backbone, [norm(backbone.decoder_norm, x) for x in hidden])
