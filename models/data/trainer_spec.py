"""What a SentencePiece model records of how it was trained, and of how it treats text."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from models.config import TokenizerConfig

_KINDS: Final = {1: "unigram", 2: "bpe"}
"""Model types that a run may ask for."""


def difference(model: bytes, config: TokenizerConfig) -> str | None:
    """Describe the first value that a model was made with other than the config asks for; None if there is none.

    A model may come from elsewhere: what it does not record, or a run cannot ask for, is not compared.
    """
    for name, value in made_with(model).items():
        asked = getattr(config, name)
        if np.float32(value) != np.float32(asked) if isinstance(asked, float) else value != asked:
            said = str(value).lower(), str(asked).lower()
            return f"was made with {name} {said[0]}, but tokenizer.{name} is {said[1]}"
    return None


def made_with(model: bytes) -> dict[str, Any]:
    """Return the values of `TokenizerConfig` that a model was made with, as far as it records them."""
    spec: Any = _proto(model).trainer_spec
    found: dict[str, Any] = {"byte_fallback": spec.byte_fallback}
    if spec.model_type in _KINDS:
        found["kind"] = _KINDS[spec.model_type]
    if spec.HasField("character_coverage"):
        found["character_coverage"] = round(spec.character_coverage, 6)  # stored in 32 bits
    return found


def splitter(model: bytes) -> Callable[[str], list[int]]:
    """Return what divides a piece of another model into pieces of this one, as it is: no text to be normalised."""
    proto = _proto(model)
    spec = proto.normalizer_spec
    spec.name, spec.precompiled_charsmap = "identity", b""
    spec.add_dummy_prefix = spec.remove_extra_whitespaces = False
    processor = SentencePieceProcessor(model_proto=proto.SerializeToString())
    return lambda piece: processor.encode(piece, out_type=int)


def _proto(model: bytes) -> Any:  # noqa: ANN401
    return sentencepiece_model_pb2.ModelProto.FromString(model)  # type: ignore[attr-defined]
