"""Exact conversion of the sentence Transformer to a CTranslate2 model.

The converted model takes source pieces without control tokens: with `add_source_eos` it appends </s> itself, so that
users of the folder cannot forget it. Decoding starts with <s>. Positions come from the backbone's own table, so both
engines have the same rows; CTranslate2 raises an error beyond the last one.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from ctranslate2.specs import TransformerSpec, common_spec
from ctranslate2.specs.model_spec import index_spec
from numpy.typing import NDArray
from torch import Tensor, nn

from models.bundle.layout import layout_of
from models.bundle.manifest import Quantization
from models.config import Activation
from models.data.tokenizer import BOS, EOS, UNK
from models.network.transformer import Transformer

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
        folder: created if it does not exist.
        quantization: the type of the stored weights; CTranslate2 may compute in another type.

    Raises:
        ValueError: a vocabulary and its embeddings differ in size.
    """
    config = backbone.config
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=_ACTIVATIONS[config.activation],
    )
    _fill(spec, backbone)
    source_tokens, target_tokens = vocabulary_tokens(source_pieces), vocabulary_tokens(target_pieces)
    spec.register_source_vocabulary(source_tokens)
    spec.register_target_vocabulary(target_tokens)
    spec.config.unk_token = target_tokens[UNK]
    spec.config.bos_token = spec.config.decoder_start_token = target_tokens[BOS]
    spec.config.eos_token = target_tokens[EOS]
    spec.config.add_source_bos = False
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = _EPSILON
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def vocabulary_tokens(pieces: Sequence[str]) -> list[str]:
    """Return the strings by which CTranslate2 knows the ids of a vocabulary: its pieces, made unique.

    CTranslate2 looks up the ids of strings, and finds only the first if a string occurs twice. So a repeated piece gets
    its id appended; otherwise two ids would become one.
    """
    count = Counter(pieces)
    tokens = [piece if count[piece] == 1 else f"{piece}\0{i}" for i, piece in enumerate(pieces)]
    assert len(set(tokens)) == len(tokens)
    return tokens


def _fill(spec: TransformerSpec, backbone: Transformer) -> None:
    """Copy all weights of a backbone; CTranslate2 itself detects which are tied."""
    parameters = dict(backbone.named_parameters())
    layout = layout_of(backbone.config)
    assert set(chain.from_iterable(layout.values())) == parameters.keys()
    assert {norm.eps for norm in backbone.modules() if isinstance(norm, nn.LayerNorm)} == {_EPSILON}
    for name, parts in layout.items():
        place, _, attribute = name.rpartition("/")
        setattr(index_spec(spec, place), attribute, _array(torch.cat([parameters[part] for part in parts])))
    for side in (spec.encoder, spec.decoder):
        side.scale_embeddings = True  # by the square root of the width
        side.position_encodings.encodings = _array(backbone.positions)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    # A copy, because quantization scales the array in place.
    return tensor.detach().to("cpu", torch.float32, copy=True).numpy()
