"""The weights for decoding with context, in a file of tensors: each in floats, or a matrix in int8.

A bundle has there what none of its CTranslate2 models has: all of its model's weights, or those of the context alone.

A matrix in int8 is beside the scales of its rows, in float32, and is rounded as `Int8Linear` rounds it: rounding what
was read from this file gives the very same integers and scales again. (CTranslate2 keeps inverses of scales, which may
come back otherwise in the last bit.)
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from models.bundle.converted import read_backbone
from models.bundle.manifest import WEIGHTS, Manifest, Quantization
from models.errors import BundleError
from models.network.inference.int8 import round_rows
from models.network.model import TranslationModel

_OF_BACKBONE: Final = "backbone."
"""What the names of the backbone's weights begin with."""
_SCALES: Final = ".scales"
"""What is appended to the name of a matrix in int8 for that of its scales."""


def write_weights(folder: Path, weights: Mapping[str, Tensor], quantization: Quantization) -> None:
    """Write weights into a folder's file.

    In int8, only matrices of linear layers and embeddings are rounded: all else together is less than 1 % of a model.

    Raises:
        OSError: they cannot be written.
    """
    stored = {name: tensor.contiguous() for name, tensor in _stored(weights, quantization)}
    (folder / WEIGHTS).write_bytes(save(stored))  # `save_file` would let nobody else read it


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights in a folder's file, in floats; each tensor is read by its own type, whatever the bundle's.

    Raises:
        BundleError: the file cannot be read, or a matrix in int8 has no scales that fit.
    """
    try:
        stored = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise BundleError(f"{folder}: {WEIGHTS} cannot be read: {error}") from error
    weights = {name: tensor for name, tensor in stored.items() if tensor.is_floating_point()}
    for name in sorted(stored.keys() - weights.keys()):
        matrix, scales = stored[name], weights.pop(name + _SCALES, None)
        if scales is None or matrix.dtype != torch.int8 or matrix.dim() != 2 or scales.shape != matrix.shape[:1]:
            raise BundleError(
                f"{folder}: {WEIGHTS} is malformed: {name} is no matrix in int8 with a scale for each row"
            )
        weights[name] = matrix * scales[:, None]
    return weights


def model_weights(folder: Path, manifest: Manifest, model: TranslationModel) -> dict[str, Tensor]:
    """All weights of a bundle's model, in floats, wherever the bundle has them.

    Args:
        folder: of the bundle.
        manifest: of the bundle, whose files are whole.
        model: with the bundle's backbone, by whose names they are asked for; it is not changed.

    Raises:
        BundleError: a file cannot be read, or does not hold what it should.
    """
    weights = read_weights(folder) if WEIGHTS in manifest.files else {}
    if any(name.startswith(_OF_BACKBONE) for name in weights):
        return weights
    backbone = read_backbone(folder / manifest.own_backbone, model.backbone)
    return weights | {_OF_BACKBONE + name: tensor for name, tensor in backbone.items()}


def without_backbone(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a model's context modules: what its backbone in CTranslate2 does not have."""
    return {name: tensor for name, tensor in weights.items() if not name.startswith(_OF_BACKBONE)}


def _stored(weights: Mapping[str, Tensor], quantization: Quantization) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in weights.items():
        if quantization == "int8" and tensor.dim() == 2 and name.endswith(".weight"):
            rounded, scales = round_rows(tensor)
            yield name, rounded
            yield name + _SCALES, scales
        else:
            yield name, tensor.to(torch.float16 if quantization == "float16" else torch.float32)
