"""The weights for decoding with context, in one file: tensors of floats, and matrices that may be int8.

The file has the weights that are in none of the bundle's CTranslate2 models: all of its model's, or only those of the
context modules.

An int8 matrix is stored with the float32 scales of its rows, and is rounded as in `Int8Linear`: rounding what was read
from this file yields the same integers and scales again. (CTranslate2 stores inverse scales, which may come back with a
different last bit.)
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
"""Prefix of the names of the backbone's weights."""
_SCALES: Final = ".scales"
"""Suffix of the name of an int8 matrix's scales."""


def write_weights(folder: Path, weights: Mapping[str, Tensor], quantization: Quantization) -> None:
    """Write weights into a folder's file.

    In int8, only matrices of linear layers and embeddings are rounded; everything else is less than 1 % of a model.

    Raises:
        OSError: they cannot be written.
    """
    stored = {name: tensor.contiguous() for name, tensor in _stored(weights, quantization)}
    (folder / WEIGHTS).write_bytes(save(stored))  # `save_file` would make it unreadable for other users


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Read the weights in a folder's file, as floats; each tensor is read by its own type, whatever the bundle's.

    Raises:
        BundleError: the file cannot be read, or an int8 matrix has no matching scales.
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
                f"{folder}: {WEIGHTS} is malformed: {name} is not an int8 matrix with a scale for each row"
            )
        weights[name] = matrix * scales[:, None]
    return weights


def model_weights(folder: Path, manifest: Manifest, model: TranslationModel) -> dict[str, Tensor]:
    """Read all weights of a bundle's model, as floats, wherever the bundle stores them.

    Args:
        folder: the bundle's folder, with intact files.
        manifest: the bundle's manifest.
        model: a model with the bundle's backbone, which provides the weights' names; it is not changed.

    Raises:
        BundleError: a file cannot be read, or does not hold what it should.
    """
    weights = read_weights(folder) if WEIGHTS in manifest.files else {}
    if any(name.startswith(_OF_BACKBONE) for name in weights):
        return weights
    backbone = read_backbone(folder / manifest.own_backbone, model.backbone)
    return weights | {_OF_BACKBONE + name: tensor for name, tensor in backbone.items()}


def without_backbone(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a model's context modules, which its backbone in CTranslate2 does not have."""
    return {name: tensor for name, tensor in weights.items() if not name.startswith(_OF_BACKBONE)}


def _stored(weights: Mapping[str, Tensor], quantization: Quantization) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in weights.items():
        if quantization == "int8" and tensor.dim() == 2 and name.endswith(".weight"):
            rounded, scales = round_rows(tensor)
            yield name, rounded
            yield name + _SCALES, scales
        else:
            yield name, tensor.to(torch.float16 if quantization == "float16" else torch.float32)
