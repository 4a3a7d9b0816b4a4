"""Conversion of a Marian model's weights to the names of ours."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import torch
from torch import Tensor

from models.config import BackboneConfig
from models.data.tokenizer import BOS, PAD
from models.errors import DataError
from models.network.positions import position_table

_SAID_BY_NOBODY: Final = -100.0
"""Output bias of pieces that no translation has: their probability is lost in rounding."""
_SHARED: Final = "model.shared.weight"
_OUTPUT: Final = "lm_head.weight"
_BIAS: Final = "final_logits_bias"
_POSITIONS: Final = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
_EMBEDDINGS: Final[Mapping[str, Sequence[str]]] = {
    "source": ("model.encoder.embed_tokens.weight", _SHARED),
    "target": ("model.decoder.embed_tokens.weight", _SHARED, _OUTPUT),
}
"""Names that each matrix may have; tied ones are not always stored under all of them."""
_PARTS: Final[Mapping[str, Sequence[str]]] = {
    "self_attention.query": ("self_attn.q_proj",),
    "self_attention.key_value": ("self_attn.k_proj", "self_attn.v_proj"),
    "self_attention.output": ("self_attn.out_proj",),
    "self_residual.norm": ("self_attn_layer_norm",),
    "feed_forward.inner": ("fc1",),
    "feed_forward.outer": ("fc2",),
    "feed_residual.norm": ("final_layer_norm",),
}
"""Parts of a layer, and Marian's parts that each consists of, row after row."""
_DECODER_PARTS: Final[Mapping[str, Sequence[str]]] = {
    **_PARTS,
    "source_attention.query": ("encoder_attn.q_proj",),
    "source_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "source_attention.output": ("encoder_attn.out_proj",),
    "source_residual.norm": ("encoder_attn_layer_norm",),
}


def weights_of(
    stored: Mapping[str, Tensor],
    config: BackboneConfig,
    source_rows: Sequence[int | None],
    target_rows: Sequence[int | None],
) -> dict[str, Tensor]:
    """Return the weights of a sentence model, by their names in `TranslationModel`.

    Args:
        stored: Marian's weights, by their names in `transformers`.
        config: config of the model.
        source_rows: row in Marian's embeddings for each id of the source, or None.
        target_rows: the same for the target.

    Raises:
        DataError: a tensor is missing, superfluous, of another shape or not finite, or positions are not Marian's
            sinusoids.
    """
    left = dict(stored)
    target, source = (_embedding(left, side, config.width) for side in ("target", "source"))
    left.setdefault(_BIAS, torch.zeros(1, len(target)))
    weights = {
        "source_embedding.weight": _rows(source, source_rows),
        "target_embedding.weight": _rows(target, target_rows),
        "output.bias": _output_bias(_checked(left, _BIAS, 1, len(target)), target_rows),
    }
    if not torch.equal(left.get(_OUTPUT, target), target):
        raise DataError(f"the weights have {_OUTPUT}, which is not the embeddings of the target")
    for name in {_BIAS, *chain(*_EMBEDDINGS.values())}:
        left.pop(name, None)
    _check_positions(left, config)
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for index in range(depth):
            weights |= _layer(left, config, side, index)
    if left:
        raise DataError(f"the weights have {min(left)}, which no model of this kind has")
    return {f"backbone.{name}": tensor for name, tensor in weights.items()}


def _checked(stored: Mapping[str, Tensor], name: str, *shape: int) -> Tensor:
    if (tensor := stored.get(name)) is None:
        raise DataError(f"the weights have no {name}")
    if tensor.shape != shape:
        raise DataError(f"the weights have {name} with the shape {list(tensor.shape)}, not {list(shape)}")
    if not tensor.isfinite().all():
        raise DataError(f"the weights have {name} with numbers that are not finite")
    return tensor


def _embedding(stored: Mapping[str, Tensor], side: str, width: int) -> Tensor:
    for name in _EMBEDDINGS[side]:
        if name in stored:
            return _checked(stored, name, *stored[name].shape[:1], width)
    raise DataError(f"the weights have no embeddings of the {side}")


def _rows(matrix: Tensor, rows: Sequence[int | None]) -> Tensor:
    """Return rows of a matrix, (len(rows), D), zero for None."""
    if (most := max(row for row in rows if row is not None)) >= len(matrix):
        raise DataError(f"a piece has the number {most}, but there are embeddings for {len(matrix)} pieces")
    return torch.stack([matrix.new_zeros(matrix.size(1)) if row is None else matrix[row] for row in rows])


def _output_bias(bias: Tensor, rows: Sequence[int | None]) -> Tensor:
    """Return the bias of each piece of the target, (V,), from that of both languages' pieces, (1, V')."""
    found = _rows(bias.T, rows)[:, 0]
    found[[PAD, BOS]] = _SAID_BY_NOBODY
    return found


def _check_positions(left: dict[str, Tensor], config: BackboneConfig) -> None:
    """Check and drop the position tables, which files of older versions contain."""
    for name in _POSITIONS:
        if name in left:
            table = _checked(left, name, config.max_length, config.width)
            if not torch.allclose(table, position_table(config), atol=1e-4):
                raise DataError(f"the weights have {name}, which are not Marian's sinusoids")
            del left[name]


def _layer(left: dict[str, Tensor], config: BackboneConfig, side: str, index: int) -> Iterator[tuple[str, Tensor]]:
    parts = _PARTS if side == "encoder" else _DECODER_PARTS
    for ours, theirs in parts.items():
        for kind in ("weight", "bias"):
            shape = _shape(ours, config) if kind == "weight" else _shape(ours, config)[:1]
            names = [f"model.{side}.layers.{index}.{part}.{kind}" for part in theirs]
            yield f"{side}.{index}.{ours}.{kind}", torch.cat([_checked(left, name, *shape) for name in names])
            for name in names:
                del left[name]


def _shape(part: str, config: BackboneConfig) -> tuple[int, ...]:
    """Return the shape of the weight of each of Marian's parts that this part consists of."""
    if part.endswith("norm"):
        return (config.width,)
    rows = config.feed_forward if part == "feed_forward.inner" else config.width
    return rows, config.feed_forward if part == "feed_forward.outer" else config.width
