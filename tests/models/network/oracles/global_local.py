"""Zheng et al. 2020 written out for one block of a document, sentence by sentence and word by word."""

import math

import torch
from torch import Tensor, nn

from models.network.architectures.global_local import GlobalLocal
from models.network.architectures.segment_attention import Fusion, GlobalAttention, GlobalLayer, SegmentAttention
from models.network.architectures.transformer_xl import RelativeAttention
from models.network.attention import Attention
from models.network.layers import Residual
from models.network.model import TranslationModel
from models.network.transformer import DecoderLayer, Transformer
from tests.models.network.oracles.transformer import (
    Heads,
    Sequence,
    Sublayer,
    attended,
    embed,
    encoder_layer,
    feed_forward,
    keys_and_values,
    linear,
    log_probabilities,
    norm,
    over,
    over_past,
    residual,
    softmax,
)


def global_local(
    model: TranslationModel, sources: list[list[int]], targets: list[list[int]], *, causal: bool
) -> list[Tensor]:
    """Log-probabilities (T, V) after each token of each target, which begins with <s>; sources end with </s>."""
    backbone, architecture = model.backbone, model.architecture
    assert isinstance(architecture, GlobalLocal)
    memories = _encode(backbone, architecture, sources, causal=causal)
    remembered: list[Sequence] = [[] for _ in backbone.decoder]
    found = []
    for memory, target in zip(memories, targets, strict=True):
        hidden, remembered = _decode(backbone, architecture, memory, target, remembered)
        found.append(log_probabilities(backbone, hidden))
    return found


def _encode(
    backbone: Transformer, architecture: GlobalLocal, sources: list[list[int]], *, causal: bool
) -> list[Sequence]:
    """What the decoder reads of each sentence."""
    layers = list(backbone.encoder)[: architecture.local_layers]
    local, before = [], 0
    for place, source in enumerate(sources):
        states = _embed(backbone, architecture, source, place, 0 if architecture.resets else before)
        for layer in layers:
            states = encoder_layer(layer, states)
        local.append(states)
        before += len(source)
    memories = []
    for place, states in enumerate(local):
        seen = local[: place + 1] if causal else local
        if architecture.global_layer is None or (len(seen) == 1 and not architecture.alone):
            memories.append([norm(backbone.encoder_norm, x) for x in states])
            continue
        whole = _global(architecture.global_layer, states, place, seen)
        assert architecture.fusion is not None
        fused = [_fuse(architecture.fusion, x, o) for x, o in zip(states, whole, strict=True)]
        memories.append([norm(backbone.encoder_norm, x) for x in fused])
    return memories


def _embed(backbone: Transformer, architecture: GlobalLocal, source: list[int], place: int, before: int) -> Sequence:
    """(E[x] + E_segment[k]) sqrt(D) + position."""
    width = backbone.config.width
    half = width // 2
    embedded = []
    for index, token in enumerate(source):
        word = backbone.source_embedding.weight[token]
        if architecture.segments is not None:
            word = word + architecture.segments.weight[place]
        angles = [(before + index + 1) / 10000 ** (i / max(half - 1, 1)) for i in range(half)]
        position = [math.sin(a) for a in angles] + [math.cos(a) for a in angles]
        embedded.append(word * math.sqrt(width) + torch.tensor(position))
    return embedded


def _global(layer: GlobalLayer | GlobalAttention, states: Sequence, place: int, seen: list[Sequence]) -> Sequence:
    if isinstance(layer, GlobalAttention):
        normed = [[norm(layer.norm, x) for x in sentence] for sentence in seen]
        attend = _over_segments(layer.attention, place, normed)
        return attend([norm(layer.norm, x) for x in states])
    first = layer.self_residual
    keys = [[norm(first.norm, x) for x in sentence] for sentence in seen] if first.pre else seen
    states = residual(first, states, _over_segments(layer.attention, place, keys))
    return residual(layer.feed_residual, states, feed_forward(layer.feed_forward))


def _over_segments(layer: SegmentAttention, place: int, seen: list[Sequence]) -> Sublayer:
    """E = q (k + a_r) / sqrt(D/H), z = sum softmax(e) (v + b_r), r = clip(kappa - k, -20, 20) + 20."""
    both: Heads = [([], []) for _ in range(layer.attention.heads)]
    for other, sentence in enumerate(seen):
        r, a, b = max(-20, min(20, other - place)) + 20, 0, 0
        if layer.key_distances is not None and layer.value_distances is not None:
            a, b = layer.key_distances.weight[r], layer.value_distances.weight[r]
        for h, (keys, values) in enumerate(keys_and_values(layer.attention, sentence)):
            both[h][0].extend(key + a for key in keys)
            both[h][1].extend(value + b for value in values)
    return lambda sequence: [attended(layer.attention, x, both) for x in sequence]


def _fuse(fusion: Fusion, local: Tensor, whole: Tensor) -> Tensor:
    """LN((1 - g) * l + g * o), g = sigmoid(W [l; o] + b)."""
    if fusion.gate is None:
        return norm(fusion.norm, local + whole if fusion.adds else whole)
    g = 1 / (1 + torch.exp(-linear(fusion.gate, torch.cat([local, whole]))))
    return norm(fusion.norm, (1 - g) * local + g * whole)


def _decode(
    backbone: Transformer,
    architecture: GlobalLocal,
    memory: Sequence,
    target: list[int],
    remembered: list[Sequence],
) -> tuple[Sequence, list[Sequence]]:
    """The hidden states, and the inputs of every layer, which the next sentence remembers."""
    relative = architecture.memory
    if relative is None or architecture.warm:
        hidden = embed(backbone, backbone.target_embedding, target)
    else:
        scale = math.sqrt(backbone.config.width)
        hidden = [backbone.target_embedding.weight[token] * scale for token in target]
    inputs = []
    for index, layer in enumerate(backbone.decoder):
        assert isinstance(layer, DecoderLayer)
        inputs.append(hidden)
        if relative is None:
            hidden = residual(layer.self_residual, hidden, over_past(layer.self_attention))
        else:
            hidden = _remember(relative, index, layer.self_attention, layer.self_residual, remembered[index], hidden)
        hidden = residual(layer.source_residual, hidden, over(layer.source_attention, memory))
        hidden = residual(layer.feed_residual, hidden, feed_forward(layer.feed_forward))
    return [norm(backbone.decoder_norm, x) for x in hidden], inputs


def _remember(
    relative: RelativeAttention,
    index: int,
    attention: Attention,
    connection: Residual,
    remembered: Sequence,
    hidden: Sequence,
) -> Sequence:
    """Self-attention over the memory and the past words of the current sentence."""
    before = [norm(connection.norm, x) for x in remembered] if connection.pre else remembered

    def attend(xs: Sequence) -> Sequence:
        heads = keys_and_values(attention, [*before, *xs])
        distances = _distances(relative, index, len(before) + len(xs))
        queries = enumerate((linear(attention.query, x) for x in xs), start=len(before))
        return [_attend_relative(relative, index, query, heads, distances[i::-1], len(before)) for i, query in queries]

    return residual(connection, hidden, lambda xs: [linear(attention.output, x) for x in attend(xs)])


def _distances(relative: RelativeAttention, index: int, count: int) -> list[tuple[Tensor, ...]]:
    """W_r R_d for each head and each distance d from 0."""
    projection, width = relative.positions[index], relative.content_bias.numel()
    assert isinstance(projection, nn.Linear)
    return [linear(projection, _sinusoid(d, width)).chunk(len(relative.content_bias)) for d in range(count)]


def _attend_relative(
    relative: RelativeAttention,
    index: int,
    query: Tensor,
    heads: Heads,
    distances: list[tuple[Tensor, ...]],
    remembered: int,
) -> Tensor:
    """((q_i + u) k_j + (q_i + v) W_r R_{i-j}) / sqrt(D/H) over all j up to i; and b sqrt(D/H) for the memory's."""
    found = []
    for h, (own, (keys, values)) in enumerate(zip(query.chunk(len(heads)), heads, strict=True)):
        to_content, to_position = own + relative.content_bias[h], own + relative.position_bias[h]
        scores = []
        for j, distance in enumerate(distances):
            bias = relative.memory_biases[index][h] * len(own) if relative.warm_start and j < remembered else 0
            scores.append((to_content @ keys[j] + to_position @ distance[h] + bias) / math.sqrt(len(own)))
        weights = softmax(scores)
        found.append(sum(weight * value for weight, value in zip(weights, values[: len(weights)], strict=True)))
    return torch.cat(found)


def _sinusoid(distance: int, width: int) -> Tensor:
    half = width // 2
    angles = [distance / 10000 ** (i / max(half - 1, 1)) for i in range(half)]
    return torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles])
