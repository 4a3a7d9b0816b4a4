"""Zhang et al. 2018 written out for one sentence."""

import torch
from torch import Tensor, nn

from models.data.tokenizer import EOS
from models.network.architectures.context_attention import ContextAttention
from models.network.architectures.doc_transformer import DocTransformer
from models.network.model import TranslationModel
from models.network.transformer import DecoderLayer, EncoderLayer
from tests.models.network.oracles.transformer import (
    Heads,
    Sequence,
    attended,
    embed,
    encoder_layer,
    feed_forward,
    keys_and_values,
    linear,
    log_probabilities,
    norm,
    over,
    over_itself,
    over_past,
    residual,
)


def doc_transformer(
    model: TranslationModel, source: list[int], target: list[int], preceding: list[list[int]]
) -> Tensor:
    """Log-probabilities (T, V) after each token of `target`; the preceding sentences are oldest first."""
    backbone, architecture = model.backbone, model.architecture
    assert isinstance(architecture, DocTransformer)
    context = _context(architecture, model, preceding)
    memory = embed(backbone, backbone.source_embedding, source)
    for index, layer in enumerate(backbone.encoder):
        assert isinstance(layer, EncoderLayer)
        memory = residual(layer.self_residual, memory, over_itself(layer.self_attention))
        memory = _mixed(architecture.encoder, index, memory, context)
        memory = residual(layer.feed_residual, memory, feed_forward(layer.feed_forward))
    memory = [norm(backbone.encoder_norm, x) for x in memory]
    hidden = embed(backbone, backbone.target_embedding, target)
    for index, layer in enumerate(backbone.decoder):
        assert isinstance(layer, DecoderLayer)
        hidden = residual(layer.self_residual, hidden, over_past(layer.self_attention))
        hidden = _mixed(architecture.decoder, index, hidden, context)
        hidden = residual(layer.source_residual, hidden, over(layer.source_attention, memory))
        hidden = residual(layer.feed_residual, hidden, feed_forward(layer.feed_forward))
    return log_probabilities(backbone, [norm(backbone.decoder_norm, x) for x in hidden])


def _context(architecture: DocTransformer, model: TranslationModel, preceding: list[list[int]]) -> Sequence:
    """All preceding sentences as one sequence that ends with </s>, through the context encoder (eq. 1 to 3)."""
    encoder = architecture.context_encoder
    if encoder is None:
        return []
    tokens = [*(token for sentence in preceding for token in sentence), EOS]
    states = embed(model.backbone, model.backbone.source_embedding, tokens)
    for layer in encoder.layers:
        assert isinstance(layer, EncoderLayer)
        states = encoder_layer(layer, states)
    return [norm(encoder.norm, x) for x in states]


def _mixed(sublayers: nn.ModuleList, index: int, sequence: Sequence, context: Sequence) -> Sequence:
    """The context sub-layer of a layer, if it has one (eq. 4, 8)."""
    if not len(sublayers):
        return sequence
    sublayer = sublayers[index]
    assert isinstance(sublayer, ContextAttention)
    both = keys_and_values(sublayer.attention, context)
    return [_mix(sublayer, x, both) for x in sequence]


def _mix(sublayer: ContextAttention, x: Tensor, context: Heads) -> Tensor:
    """LN(g * x + (1 - g) * y), g = sigmoid(W_i x + W_s y) (eq. 12, 13); x + (1 - g) * y in a pre-norm backbone.

    Without a gate, y is added as a whole.
    """
    pre = sublayer.order == "pre"
    query = norm(sublayer.norm, x) if pre else x
    y = attended(sublayer.attention, query, context)
    mixed = x + y
    if sublayer.gate is not None:
        g = 1 / (1 + torch.exp(-(linear(sublayer.gate.sentence, query) + linear(sublayer.gate.context, y))))
        mixed = (x if pre else g * x) + (1 - g) * y
    return mixed if pre else norm(sublayer.norm, mixed)
