"""The weights for decoding with context, as a bundle's file holds them: each tensor in floats, or a matrix in int8.

A matrix in int8 is beside the scales of its rows, in float32, and is rounded as `Int8Linear` rounds it: rounding what
was read from the file gives the very same integers and scales again.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from models.bundle.manifest import WEIGHTS, Quantization
from models.errors import BundleError
from models.network.inference.int8 import round_rows

_SCALES: Final = ".scales"
"""What is appended to the name of a matrix in int8 for that of its scales."""


def write_weights(folder: Path, weights: Mapping[str, Tensor], quantization: Quantization) -> None:
    """Write a model's weights into a bundle's folder.

    In int8, only matrices of linear layers and embeddings are rounded: all else together is less than 1 % of a model.

    Raises:
        OSError: they cannot be written.
    """
    stored = {name: tensor.contiguous() for name, tensor in _stored(weights, quantization)}
    (folder / WEIGHTS).write_bytes(save(stored))  # `save_file` would let nobody else read it


def read_weights(folder: Path) -> dict[str, Tensor]:
    """A model's weights from a bundle's folder, in floats; each tensor is read by its own type, whatever the bundle's.

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


def _stored(weights: Mapping[str, Tensor], quantization: Quantization) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in weights.items():
        if quantization == "int8" and tensor.dim() == 2 and name.endswith(".weight"):
            rounded, scales = round_rows(tensor)
            yield name, rounded
            yield name + _SCALES, scales
        else:
            yield name, tensor.to(torch.float16 if quantization == "float16" else torch.float32)
