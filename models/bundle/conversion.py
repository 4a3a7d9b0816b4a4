"""The sentence Transformer as a CTranslate2 model, exactly.

The converted model takes source pieces without control tokens: `add_source_eos` makes it append </s> itself, so that
nobody who uses the folder can forget it. Decoding starts at <s>. Positions come from the backbone's own table, so
neither engine has a row that the other lacks; CTranslate2 raises beyond its last row.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ctranslate2.specs import TransformerSpec, attention_spec, common_spec, transformer_spec
from torch import nn

from models.bundle.specs import array, fill_joined, fill_linear, fill_norm, write
from models.config import Activation
from models.data.tokenizer import BOS, EOS, UNK
from models.network.layers import Attention, FeedForward
from models.network.transformer import DecoderLayer, EncoderLayer, Transformer

Quantization = Literal["float32", "float16", "int8"]

_ACTIVATIONS: dict[Activation, common_spec.Activation] = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_tanh": common_spec.Activation.GELUTanh,
    "swish": common_spec.Activation.SWISH,
}
_EPSILON = 1e-5  # torch's LayerNorm


def convert_backbone(
    backbone: Transformer,
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    folder: Path,
    quantization: Quantization,
) -> None:
    """Write a backbone as a CTranslate2 model.

    Args:
        backbone: in float32; it is not changed.
        source_pieces: source vocabulary in the order of its ids.
        target_pieces: target vocabulary in the order of its ids.
        folder: made if it is not there.
        quantization: of the stored weights; CTranslate2 may compute in another type.

    Raises:
        ValueError: a vocabulary has another size than its embeddings.
    """
    config = backbone.config
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=_ACTIVATIONS[config.activation],
    )
    _fill_encoder(spec.encoder, backbone)
    _fill_decoder(spec.decoder, backbone)
    source_tokens, target_tokens = vocabulary_tokens(source_pieces), vocabulary_tokens(target_pieces)
    spec.register_source_vocabulary(source_tokens)
    spec.register_target_vocabulary(target_tokens)
    spec.config.unk_token = target_tokens[UNK]
    spec.config.bos_token = spec.config.decoder_start_token = target_tokens[BOS]
    spec.config.eos_token = target_tokens[EOS]
    spec.config.add_source_bos = False
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = _EPSILON
    write(spec, folder, quantization)


def vocabulary_tokens(pieces: Sequence[str]) -> list[str]:
    """The strings by which CTranslate2 knows the ids of a vocabulary: its pieces, each of them once.

    CTranslate2 takes strings and looks up their ids, the first where a string occurs twice, so a repeated piece gets
    its id appended; otherwise two ids would become one.
    """
    count = Counter(pieces)
    tokens = [piece if count[piece] == 1 else f"{piece}\0{i}" for i, piece in enumerate(pieces)]
    assert len(set(tokens)) == len(tokens)
    return tokens


def _fill_encoder(spec: transformer_spec.TransformerEncoderSpec, backbone: Transformer) -> None:
    spec.scale_embeddings = True  # by the square root of the width
    spec.embeddings[0].weight = array(backbone.source_embedding.weight)
    spec.position_encodings.encodings = array(backbone.positions)
    _fill_final_norm(spec, backbone.encoder_norm)
    for layer_spec, layer in zip(spec.layer, backbone.encoder, strict=True):
        assert isinstance(layer, EncoderLayer)
        _fill_self_attention(layer_spec.self_attention, layer)
        _fill_feed_forward(layer_spec.ffn, layer)


def _fill_decoder(spec: transformer_spec.TransformerDecoderSpec, backbone: Transformer) -> None:
    spec.scale_embeddings = True
    spec.embeddings.weight = array(backbone.target_embedding.weight)
    spec.position_encodings.encodings = array(backbone.positions)
    spec.projection.weight = array(backbone.output.weight)
    _fill_final_norm(spec, backbone.decoder_norm)
    for layer_spec, layer in zip(spec.layer, backbone.decoder, strict=True):
        assert isinstance(layer, DecoderLayer)
        _fill_self_attention(layer_spec.self_attention, layer)
        _fill_source_attention(layer_spec.attention, layer)
        _fill_feed_forward(layer_spec.ffn, layer)


def _fill_self_attention(spec: attention_spec.MultiHeadAttentionSpec, layer: EncoderLayer) -> None:
    attention: Attention = layer.self_attention
    _fill_norm(spec.layer_norm, layer.self_residual.norm)
    fill_joined(spec.linear[0], (attention.query, attention.key_value))  # [queries; keys; values]
    fill_linear(spec.linear[1], attention.output)


def _fill_source_attention(spec: attention_spec.MultiHeadAttentionSpec, layer: DecoderLayer) -> None:
    attention: Attention = layer.source_attention
    _fill_norm(spec.layer_norm, layer.source_residual.norm)
    for linear_spec, linear in zip(spec.linear, (attention.query, attention.key_value, attention.output), strict=True):
        fill_linear(linear_spec, linear)


def _fill_feed_forward(spec: transformer_spec.FeedForwardSpec, layer: EncoderLayer) -> None:
    feed_forward: FeedForward = layer.feed_forward
    _fill_norm(spec.layer_norm, layer.feed_residual.norm)
    fill_linear(spec.linear_0, feed_forward.inner)
    fill_linear(spec.linear_1, feed_forward.outer)


def _fill_final_norm(
    spec: transformer_spec.TransformerEncoderSpec | transformer_spec.TransformerDecoderSpec, norm: nn.Module
) -> None:
    if isinstance(norm, nn.LayerNorm):  # a post-norm stack ends without one
        _fill_norm(spec.layer_norm, norm)


def _fill_norm(spec: common_spec.LayerNormSpec, norm: nn.LayerNorm) -> None:
    assert norm.eps == _EPSILON
    fill_norm(spec, norm)
