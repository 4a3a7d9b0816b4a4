"""Reading a CTranslate2 model's weights from its file `model.bin`, as floats: the reverse of `conversion`.

The format is that of `ctranslate2.specs.ModelSpec`, which can write such files, but not read them.
"""

import struct
from pathlib import Path
from typing import BinaryIO, Final, Literal

import torch
from torch import Tensor

from models.bundle.layout import layout_of
from models.errors import BundleError
from models.network.transformer import Transformer

_FILE: Final = "model.bin"
_VERSION: Final = 6
"""The version of the format."""
_TYPES: Final = (torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16)
"""Types in the order of their numbers in the format."""
_SCALES: Final = "_scale"
"""Suffix of the name of an int8 matrix's scales, by which its rows were multiplied."""


def read_backbone(folder: Path, backbone: Transformer) -> dict[str, Tensor]:
    """Read the weights of a converted backbone, by their names in `backbone`; tied ones are included once.

    Args:
        folder: the converted model's folder.
        backbone: one with the same config and vocabularies; it may be on the `meta` device, and is not changed.

    Raises:
        BundleError: the file cannot be read, or is another model's.
    """
    rows = {name: len(parameter) for name, parameter in backbone.named_parameters()}
    weights: dict[str, Tensor] = {}
    try:
        with (folder / _FILE).open("rb") as file:
            stored = _floats(file)
        for name, parts in layout_of(backbone.config).items():
            weights |= zip(parts, stored[name].split([rows[part] for part in parts]), strict=True)
    except (OSError, ValueError, LookupError, RuntimeError) as error:
        raise BundleError(f"{folder}: {_FILE} cannot be read: {error}") from error
    return weights


def _floats(file: BinaryIO) -> dict[str, Tensor]:
    """Return all tensors of floats, including those that are stored as int8."""
    version = _number(file, "I")
    if version != _VERSION:
        raise ValueError(f"it is in version {version} of CTranslate2's format, and only {_VERSION} is known")
    _text(file)  # what kind of model it is
    _number(file, "I")  # and its revision
    stored = dict(_tensor(file) for _ in range(_number(file, "I")))
    floats = {name: tensor for name, tensor in stored.items() if tensor.is_floating_point()}
    for name in stored.keys() - floats.keys():
        if (scales := floats.pop(name + _SCALES, None)) is not None:
            floats[name] = stored[name] / scales[:, None]
    equal = [(_text(file), _text(file)) for _ in range(_number(file, "I"))]  # equal tensors are stored once
    return floats | {name: floats[other] for name, other in equal if other in floats}


def _tensor(file: BinaryIO) -> tuple[str, Tensor]:
    name = _text(file)
    shape = [_number(file, "I") for _ in range(_number(file, "B"))]
    dtype = _TYPES[_number(file, "B")]
    return name, torch.frombuffer(_bytes(file, _number(file, "I")), dtype=dtype).view(shape)


def _text(file: BinaryIO) -> str:
    return _bytes(file, _number(file, "H"))[:-1].decode()  # ends with a zero


def _number(file: BinaryIO, kind: Literal["B", "H", "I"]) -> int:
    (number,) = struct.unpack(f"<{kind}", _bytes(file, struct.calcsize(kind)))
    return int(number)


def _bytes(file: BinaryIO, count: int) -> bytearray:
    content = bytearray(file.read(count))
    if len(content) < count:
        raise ValueError("it ends too soon")
    return content
