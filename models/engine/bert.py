"""BERT in a bundle: converted to `ctranslate2.Encoder`, with its vocabulary; needs no `transformers` to be served.

Token types are all 0, so their embedding is added to the positions', and the converted model reads ids alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import ctranslate2
import numpy as np
import torch
import torch.nn.functional as F
from ctranslate2.specs import common_spec, transformer_spec
from torch import Tensor

from models.bundle.specs import array, fill_joined, fill_linear, fill_norm, write
from models.data.batches import pad
from models.data.wordpiece import UNKNOWN, WordPiece
from models.engine.computation import ctranslate2_type
from models.errors import BundleError, ConfigError, DataError
from models.network.architectures.bert import FrozenBert
from models.network.pretrained import PretrainedEncoder

EXACT_STATES: Final = 1e-4
"""The most by which a state may differ from torch's, in float32; measured: 4e-6."""

PROBED: Final = 48
"""Pieces of a text that are compared; a BERT may have few positions."""

_ACTIVATIONS: Final = {
    "gelu": common_spec.Activation.GELU,
    "gelu_new": common_spec.Activation.GELUTanh,
    "gelu_pytorch_tanh": common_spec.Activation.GELUTanh,
    "relu": common_spec.Activation.RELU,
    "silu": common_spec.Activation.SWISH,
    "swish": common_spec.Activation.SWISH,
}


class ConvertedBert:
    """A folder that `convert_bert` has written; satisfies `PretrainedEncoder`."""

    def __init__(self, folder: Path, device: str, compute_type: str, threads: int) -> None:
        """Load it.

        Args:
            folder: of the converted model.
            device: a name of torch's, as `cpu` or `cuda:1`.
            compute_type: one of CTranslate2's; float32 where the device does not offer it (`ctranslate2_type`).
            threads: that compute, on a CPU.

        Raises:
            BundleError: it cannot be loaded, or the package `tokenizers` is not installed.
        """
        place = torch.device(device)
        try:
            self.wordpiece: Final = WordPiece.load(folder)
            self._encoder = ctranslate2.Encoder(
                str(folder),
                place.type,
                device_index=place.index or 0,
                compute_type=ctranslate2_type(compute_type, device),
                intra_threads=threads,
            )
        except (ConfigError, DataError, RuntimeError, ValueError) as error:
            raise BundleError(f"{folder}: cannot be loaded: {error}") from error

    def states(self, tokens: Tensor) -> Tensor:
        """States (B, M, E) of padded ids (B, M) from 1, zero at padding."""
        real = tokens.ne(0)
        rows = [row[kept].sub(1).tolist() for row, kept in zip(tokens.cpu(), real.cpu(), strict=True)]
        # On a CPU a text alone costs what it costs in a batch, and its states depend on no other, to the bit.
        batches = [[row] for row in rows] if tokens.device.type == "cpu" else [rows]
        states = torch.cat([self._encode(batch, tokens.size(1)) for batch in batches]).to(tokens.device)
        # In padded places there is anything, no numbers too.
        return torch.where(real[:, :, None], states, 0.0)

    def _encode(self, rows: list[list[int]], length: int) -> Tensor:
        """States (B, length, E) on the CPU."""
        found = self._encoder.forward_batch(rows).last_hidden_state
        exact = found.to_device(ctranslate2.Device.cpu).to(ctranslate2.DataType.float32)
        states = torch.from_numpy(np.array(exact))
        return F.pad(states, (0, 0, 0, length - states.size(1)))


def convert_bert(encoder: FrozenBert, folder: Path, quantization: Literal["float32", "float16"]) -> None:
    """Write a BERT for `ConvertedBert`, its vocabulary included.

    Args:
        encoder: in float32; it is not changed.
        folder: made if it is not there.
        quantization: of the stored weights.

    Raises:
        BundleError: CTranslate2 does not know its activation.
        ConfigError: its folder cannot be read.
    """
    model: Any = encoder.model
    activation = _ACTIVATIONS.get(model.config.hidden_act)
    if activation is None:
        raise BundleError(f"the activation {model.config.hidden_act!r} of this BERT cannot be converted")
    layers = transformer_spec.TransformerEncoderSpec(
        model.config.num_hidden_layers,
        model.config.num_attention_heads,
        pre_norm=False,
        activation=activation,
        layernorm_embedding=True,
    )
    spec = transformer_spec.TransformerEncoderModelSpec(layers)
    _fill_embeddings(layers, model.embeddings)
    for layer_spec, layer in zip(layers.layer, model.encoder.layer, strict=True):
        _fill_layer(layer_spec, layer)
    spec.register_vocabulary(_tokens(encoder.wordpiece, model.config.vocab_size))
    spec.config.unk_token = UNKNOWN
    spec.config.layer_norm_epsilon = model.config.layer_norm_eps
    write(spec, folder, quantization)
    encoder.wordpiece.save(folder)


def states_differ(one: PretrainedEncoder, other: PretrainedEncoder, texts: Sequence[str]) -> float:
    """The most by which two encoders differ in a state of some texts (their beginnings), alone and all together."""
    rows = [[1 + number for number in (one.wordpiece.begin, *ids[:PROBED])] for ids in one.wordpiece.encode(texts)]
    batches = [*([row] for row in rows), rows]
    return max(float((one.states(pad(batch)) - other.states(pad(batch))).abs().max()) for batch in batches)


def _fill_embeddings(spec: transformer_spec.TransformerEncoderSpec, embeddings: Any) -> None:  # noqa: ANN401
    spec.scale_embeddings = False
    spec.embeddings[0].weight = array(embeddings.word_embeddings.weight)
    types = embeddings.token_type_embeddings.weight[0]
    spec.position_encodings.encodings = array(embeddings.position_embeddings.weight + types)
    fill_norm(spec.layernorm_embedding, embeddings.LayerNorm)


def _fill_layer(spec: Any, layer: Any) -> None:  # noqa: ANN401 - neither package has types for its parts
    own = layer.attention.self
    fill_joined(spec.self_attention.linear[0], (own.query, own.key, own.value))
    fill_linear(spec.self_attention.linear[1], layer.attention.output.dense)
    fill_norm(spec.self_attention.layer_norm, layer.attention.output.LayerNorm)
    fill_linear(spec.ffn.linear_0, layer.intermediate.dense)
    fill_linear(spec.ffn.linear_1, layer.output.dense)
    fill_norm(spec.ffn.layer_norm, layer.output.LayerNorm)


def _tokens(wordpiece: WordPiece, count: int) -> list[str]:
    """What CTranslate2 calls the ids; BERT may have embeddings that its vocabulary does not use."""
    pieces = wordpiece.pieces
    return [*pieces, *(f"\0{number}" for number in range(len(pieces), count))]
