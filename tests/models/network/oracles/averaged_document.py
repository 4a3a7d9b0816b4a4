"""Stojanovski and Fraser 2019 written out for one sentence."""

import math

import torch
from torch import Tensor

from models.data.tokenizer import BOS, EOS
from models.network.architectures.averaged_document import AveragedDocument, ContextAttention
from models.network.model import TranslationModel
from models.network.transformer import DecoderLayer
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
    over_past,
    residual,
)


def averaged_document(
    model: TranslationModel, source: list[int], target: list[int], preceding: list[list[int]]
) -> Tensor:
    """Log-probabilities (T, V) after each token of `target`; the preceding sentences are oldest first."""
    backbone, architecture = model.backbone, model.architecture
    assert isinstance(architecture, AveragedDocument)
    memory = embed(backbone, backbone.source_embedding, source)
    if architecture.document is not None:
        added = _document(architecture, model, preceding)
        memory = [x + added for x in memory]
    for layer in backbone.encoder:
        memory = encoder_layer(layer, memory)
    memory = [norm(backbone.encoder_norm, x) for x in memory]
    context = _previous(architecture, model, preceding)
    hidden = embed(backbone, backbone.target_embedding, target)
    for index, layer in enumerate(backbone.decoder):
        assert isinstance(layer, DecoderLayer)
        hidden = residual(layer.self_residual, hidden, over_past(layer.self_attention))
        hidden = residual(layer.source_residual, hidden, over(layer.source_attention, memory))
        if context:
            both = keys_and_values(architecture.decoder[index].attention, context)
            hidden = [_mix(architecture.decoder[index], c, both) for c in hidden]
        hidden = residual(layer.feed_residual, hidden, feed_forward(layer.feed_forward))
    return log_probabilities(backbone, [norm(backbone.decoder_norm, x) for x in hidden])


def _mix(sublayer: ContextAttention, c: Tensor, context: Heads) -> Tensor:
    """S = g * c + (1 - g) * cc, g = sigmoid(W_e c + W_c cc); c + (1 - g) * cc with a warm start."""
    cc = attended(sublayer.attention, norm(sublayer.norm, c), context)
    g = 1 / (1 + torch.exp(-(linear(sublayer.source, c) + linear(sublayer.context, cc))))
    return (c if sublayer.warm_start else g * c) + (1 - g) * cc


def _previous(architecture: AveragedDocument, model: TranslationModel, preceding: list[list[int]]) -> Sequence:
    """The sentence before, with its mark, through all shared layers but the last, and then the context's own layer."""
    if architecture.context_layer is None:
        return []
    tokens = [BOS, *preceding[-1], EOS] if preceding else [BOS]
    states = embed(model.backbone, model.backbone.source_embedding, tokens)
    for layer in list(model.backbone.encoder)[:-1]:
        states = encoder_layer(layer, states)
    states = encoder_layer(architecture.context_layer, states)
    return [norm(architecture.context_layer.norm, x) for x in states]


def _document(architecture: AveragedDocument, model: TranslationModel, preceding: list[list[int]]) -> Tensor:
    """V = FFN(mean of the embeddings of all tokens of the document), zero without tokens."""
    width = model.backbone.config.width
    tokens = [token for sentence in preceding for token in sentence]
    if not tokens:
        return torch.zeros(width)
    mean = sum(model.backbone.source_embedding.weight[token] * math.sqrt(width) for token in tokens) / len(tokens)
    assert architecture.document is not None
    return feed_forward(architecture.document)([mean])[0]
