"""A Marian model as stored by `transformers`: a folder with config, weights, two SentencePiece models and numbers.

Weights are read without executing code from a file: safetensors, or torch's format with nothing but tensors in it.
"""

import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

import torch
from pydantic import BaseModel, Field, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from models.config import Activation, BackboneConfig
from models.errors import DataError

_ACTIVATIONS: Final[Mapping[str, Activation]] = {"gelu": "gelu", "relu": "relu", "silu": "swish", "swish": "swish"}


class MarianConfig(BaseModel):
    """The network as described in `config.json`."""

    model_type: Literal["marian"]
    width: int = Field(alias="d_model")
    encoder_layers: int
    decoder_layers: int
    encoder_heads: int = Field(alias="encoder_attention_heads")
    decoder_heads: int = Field(alias="decoder_attention_heads")
    encoder_inner: int = Field(alias="encoder_ffn_dim")
    decoder_inner: int = Field(alias="decoder_ffn_dim")
    activation: Literal["gelu", "relu", "silu", "swish"] = Field(alias="activation_function")
    positions: int = Field(alias="max_position_embeddings")
    start: int = Field(alias="decoder_start_token_id", ge=0)
    scale_embedding: Literal[True]
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[False] = False
    static_position_embeddings: Literal[True] = True
    tie_word_embeddings: Literal[True] = True

    @model_validator(mode="after")
    def _sides_are_alike(self) -> Self:
        if (self.encoder_heads, self.encoder_inner) != (self.decoder_heads, self.decoder_inner):
            raise ValueError("encoder and decoder have layers of different sizes")
        return self

    @property
    def backbone(self) -> BackboneConfig:
        """The config of the same network, in which source and target have separate pieces."""
        return BackboneConfig(
            width=self.width,
            feed_forward=self.encoder_inner,
            heads=self.encoder_heads,
            encoder_layers=self.encoder_layers,
            decoder_layers=self.decoder_layers,
            norm="post",
            activation=_ACTIVATIONS[self.activation],
            embeddings="output",
            output_bias=True,
            positions="marian",
            max_length=self.positions,
        )


@dataclass(frozen=True)
class Side:
    """The vocabulary of one language."""

    model: bytes
    """The SentencePiece model that tokenizes it."""
    numbers: Mapping[str, int]
    """Row of each piece in the weights; may include pieces that only the other language has."""


@dataclass(frozen=True)
class MarianFolder:
    """Contents of a folder."""

    backbone: BackboneConfig
    start: int
    """Row of the target embedding that decoding begins with."""
    source: Side
    target: Side
    weights: Mapping[str, Tensor]
    """Weights by their original names, in float32."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a folder as written by `save_pretrained` of model and tokenizer, or as downloaded.

        Raises:
            DataError: a file is missing or damaged, or the model cannot be imported.
        """
        if not (folder / "config.json").exists() and any(folder.glob("*.npz")):
            raise DataError(
                "has a model in Marian's own format (.npz); it has to be in that of `transformers`, with config.json",
                folder,
            )
        try:
            config = MarianConfig.model_validate_json(_bytes(folder / "config.json"))
            backbone = config.backbone
        except ValidationError as error:
            raise DataError(
                f"is not a Marian model that can be imported: {_reason(error)}", folder / "config.json"
            ) from None
        numbers = _numbers(folder / "vocab.json")
        of_target = folder / "target_vocab.json"
        return cls(
            backbone,
            config.start,
            Side(_bytes(folder / "source.spm"), numbers),
            Side(_bytes(folder / "target.spm"), _numbers(of_target) if of_target.exists() else numbers),
            {name: tensor.float() for name, tensor in _weights(folder).items()},
        )


def _reason(error: ValidationError) -> str:
    """Describe the first error, by the name that the file uses."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file) from None


def _numbers(file: Path) -> dict[str, int]:
    try:
        found = json.loads(_bytes(file))
    except (ValueError, RecursionError):
        raise DataError("is not JSON", file) from None
    if not isinstance(found, dict) or not all(type(number) is int and number >= 0 for number in found.values()):
        raise DataError("is not an object of pieces and their numbers", file)
    return found


def _weights(folder: Path) -> dict[str, Tensor]:
    safe, torchs = folder / "model.safetensors", folder / "pytorch_model.bin"
    file = safe if safe.exists() or not torchs.exists() else torchs
    try:
        found = load_file(file) if file == safe else torch.load(file, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise DataError("has neither model.safetensors nor pytorch_model.bin", folder) from None
    except (OSError, SafetensorError, RuntimeError, EOFError, LookupError, pickle.UnpicklingError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise DataError(f"cannot be read: {reason}", file) from None
    if not isinstance(found, dict) or not all(map(_is_named, found.items())):
        raise DataError("contains something other than named floating-point tensors", file)
    return found


def _is_named(item: tuple[object, object]) -> bool:
    name, tensor = item
    return isinstance(name, str) and isinstance(tensor, Tensor) and tensor.is_floating_point()
