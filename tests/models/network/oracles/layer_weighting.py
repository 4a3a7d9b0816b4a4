"""Xu et al. 2021 written out for one sentence."""

import torch
from torch import Tensor, nn

from models.config import LayerWeightingConfig
from models.data.tokenizer import BOS, EOS
from models.network.architectures.aware_layers import (
    AwareDecoderLayer,
    AwareSourceLayer,
    Gate,
    GatedAttention,
    Mixture,
    SourceContextLayer,
)
from models.network.architectures.layer_weighting import LayerWeighting
from models.network.model import TranslationModel
from models.network.transformer import EncoderLayer, Transformer
from tests.models.network.oracles.transformer import (
    Sequence,
    attended,
    decoder_layer,
    embed,
    encoder_layer,
    feed_forward,
    keys_and_values,
    linear,
    log_probabilities,
    norm,
    over_itself,
    over_past,
    residual,
)


def layer_weighting(
    model: TranslationModel,
    config: LayerWeightingConfig,
    source: list[int],
    target: list[int],
    preceding: list[tuple[list[int], list[int]]],
) -> Tensor:
    """Log-probabilities (T, V) after each token of `target`; `preceding` has sources and translations."""
    backbone, architecture = model.backbone, model.architecture
    assert isinstance(architecture, LayerWeighting)
    encoded = _encode(backbone, source)
    memory = [norm(backbone.encoder_norm, x) for x in encoded[-1]]
    decoded = _decode(backbone, target, memory)[-1]
    frozen = [norm(backbone.decoder_norm, x) for x in decoded]
    if not preceding:
        return log_probabilities(backbone, frozen)
    pre = backbone.config.norm == "pre"
    context = {"source": _source_context(architecture, config, backbone, memory, preceding)}
    if config.target_context:
        context["target"] = _target_context(architecture, backbone, preceding)
    context["aware"] = _aware_source(architecture.aware_source, encoded[-1] if pre else memory, context["source"], pre)
    hidden = decoded if pre else frozen
    for layer in architecture.decoder:
        assert isinstance(layer, AwareDecoderLayer)
        hidden = _aware_decoder_layer(layer, hidden, context, pre)
    return log_probabilities(backbone, [norm(backbone.decoder_norm, x) for x in hidden] if pre else hidden)


def _encode(backbone: Transformer, source: list[int]) -> list[Sequence]:
    """o_0, the embeddings, to o_6."""
    outputs = [embed(backbone, backbone.source_embedding, source)]
    for layer in backbone.encoder:
        outputs.append(encoder_layer(layer, outputs[-1]))
    return outputs


def _decode(backbone: Transformer, target: list[int], memory: Sequence) -> list[Sequence]:
    outputs = [embed(backbone, backbone.target_embedding, target)]
    for layer in backbone.decoder:
        outputs.append(decoder_layer(layer, outputs[-1], memory))
    return outputs


def _mix(mixture: Mixture | None, outputs: list[Sequence]) -> Sequence:
    """I = sum_j p_j o_j, p = softmax(w); the last output if there are no weights."""
    if mixture is None:
        return outputs[-1]
    exponentials = [torch.exp(w) for w in mixture.weights]
    weights = [each / sum(exponentials) for each in exponentials]
    return [sum(p * o[t] for p, o in zip(weights, outputs, strict=True)) for t in range(len(outputs[0]))]


def _source_context(
    architecture: LayerWeighting,
    config: LayerWeightingConfig,
    backbone: Transformer,
    memory: Sequence,
    preceding: list[tuple[list[int], list[int]]],
) -> Sequence:
    """Each sentence alone through the layers, plus its offset (0 is the sentence before), joined one after another."""
    states: Sequence = []
    for offset, (source, _) in enumerate(reversed(preceding)):
        outputs = _encode(backbone, [*source, EOS])
        closed = [*outputs[:-1], [norm(backbone.encoder_norm, x) for x in outputs[-1]]]
        x = _mix(architecture.mixture, closed)
        for layer in architecture.source_layers:
            assert isinstance(layer, SourceContextLayer)
            x = _source_layer(layer, x, memory, gating=config.input_gating)
        states += [vector + architecture.source_offset.weight[offset] for vector in x]
    return states


def _source_layer(layer: SourceContextLayer, x: Sequence, memory: Sequence, *, gating: bool) -> Sequence:
    """A = SelfAttn(i); c = CrossAttn(a, O_src); g = sigmoid(W1 [a; c] + b1); FFN over a * g."""
    a = residual(layer.self_residual, x, over_itself(layer.self_attention))
    if gating:
        assert layer.input_attention is not None
        assert layer.gate is not None
        queries = [norm(layer.input_norm, vector) for vector in a]
        both = keys_and_values(layer.input_attention, memory)
        c = [attended(layer.input_attention, query, both) for query in queries]
        a = [vector * _gate(layer.gate, q, each) for vector, q, each in zip(a, queries, c, strict=True)]
    return residual(layer.feed_residual, a, feed_forward(layer.feed_forward))


def _target_context(
    architecture: LayerWeighting, backbone: Transformer, preceding: list[tuple[list[int], list[int]]]
) -> Sequence:
    """[decoder input embedding; last frozen decoder output] of each translation, which attends to its own source."""
    states: Sequence = []
    assert architecture.target_offset is not None
    for offset, (source, target) in enumerate(reversed(preceding)):
        memory = [norm(backbone.encoder_norm, x) for x in _encode(backbone, [*source, EOS])[-1]]
        outputs = _decode(backbone, [BOS, *target], memory)
        closed = [*outputs[:-1], [norm(backbone.decoder_norm, x) for x in outputs[-1]]]
        mixed = _mix(architecture.target_mixture, closed)
        both = [torch.cat(pair) for pair in zip(outputs[0], mixed, strict=True)]
        states += [vector + architecture.target_offset.weight[offset] for vector in both]
    return states


def _aware_source(layer: AwareSourceLayer, x: Sequence, context: Sequence, pre: bool) -> Sequence:
    x = residual(layer.self_residual, x, over_itself(layer.self_attention))
    x = _gated(layer.context, x, context, pre)
    return [norm(layer.norm, vector) for vector in _feed(layer, x)]


def _aware_decoder_layer(layer: AwareDecoderLayer, x: Sequence, context: dict[str, Sequence], pre: bool) -> Sequence:
    x = residual(layer.self_residual, x, over_past(layer.self_attention))
    for part in ("aware", "source", "target"):
        if part in context:
            sublayer = layer.reads[part]
            assert isinstance(sublayer, GatedAttention)
            x = _gated(sublayer, x, context[part], pre)
    return _feed(layer, x)


def _feed(layer: EncoderLayer, x: Sequence) -> Sequence:
    return residual(layer.feed_residual, x, feed_forward(layer.feed_forward))


def _gated(sublayer: GatedAttention, sequence: Sequence, context: Sequence, pre: bool) -> Sequence:
    """O = g * x + (1 - g) * y, g = sigmoid(W2 [x; y] + b2); in a pre-norm backbone x + (1 - g) * y."""
    both, mixed = keys_and_values(sublayer.attention, context), []
    for x in sequence:
        query = norm(sublayer.norm, x) if pre else x
        y = attended(sublayer.attention, query, both)
        g = _gate(sublayer.gate, query, y)
        mixed.append(x + (1 - g) * y if pre else norm(sublayer.norm, g * x + (1 - g) * y))
    return mixed


def _gate(gate: Gate, x: Tensor, y: Tensor) -> Tensor:
    weights: nn.Linear = gate.both
    return 1 / (1 + torch.exp(-linear(weights, torch.cat([x, y]))))
