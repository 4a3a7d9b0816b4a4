"""Comparison of a config with how a SentencePiece model was trained, as recorded in the model."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from models.config import TokenizerConfig

_KINDS: Final = {1: "unigram", 2: "bpe"}
"""Model types that a run may ask for."""


def difference(model: bytes, config: TokenizerConfig) -> str | None:
    """Describe the first value that a model was made with other than the config asks for; None if there is none.

    A model may come from elsewhere: what it does not record, or a run cannot ask for, is not compared.
    """
    for name, value, asked in _values(model, config):
        if value != asked:
            said = str(value).lower(), str(getattr(config, name)).lower()
            return f"was made with {name} {said[0]}, but tokenizer.{name} is {said[1]}"
    return None


def _values(model: bytes, config: TokenizerConfig) -> Iterator[tuple[str, object, object]]:
    spec: Any = sentencepiece_model_pb2.ModelProto.FromString(model).trainer_spec  # type: ignore[attr-defined]
    if spec.model_type in _KINDS:
        yield "kind", _KINDS[spec.model_type], config.kind
    yield "byte_fallback", spec.byte_fallback, config.byte_fallback
    if spec.HasField("character_coverage"):  # stored in 32 bits
        yield "character_coverage", np.float32(spec.character_coverage), np.float32(config.character_coverage)
