"""Extraction of one language's vocabulary from Marian's, which is shared by both.

Marian numbers the pieces of both languages together. Targets were only ever tokenized by the target's SentencePiece
model, so pieces that only the source has never occur in them: here each language gets its own pieces alone, which
halves the widest product of decoding and takes nothing from what the model can say.
"""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from models.data.tokenizer import BOS, EOS, PAD, SPECIAL_PIECES, TARGET_LANGUAGE, UNK
from models.errors import DataError
from models.marian.folder import Side

_UNKNOWN, _CONTROL, _UNUSED = 2, 3, 5
"""Types of pieces in SentencePiece's format."""
_TYPES: Final = {PAD: _CONTROL, BOS: _CONTROL, EOS: _CONTROL, UNK: _UNKNOWN}
_NAMED: Final = 10
"""Maximum number of languages that a message names."""


def language_piece(numbers: Mapping[str, int], language: str | None) -> str | None:
    """Return the piece that selects a model's target language; None for a model of only one.

    Args:
        numbers: numbers of the source's pieces.
        language: name as in the piece, without its brackets, such as `jpn`.

    Raises:
        DataError: the model has several and none is requested, or it lacks the requested one.
    """
    known = sorted(piece[2:-2] for piece in numbers if TARGET_LANGUAGE.fullmatch(piece))
    if language in known:
        return f">>{language}<<"
    if known:
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        asked = "choose one" if language is None else f"{language} is none of them"
        raise DataError(f"translates into several languages: {', '.join(known[:_NAMED])}{more}; {asked}")
    if language is not None:
        raise DataError(f"translates into one language, and has no piece for {language}")
    return None


def vocabulary_of(side: Side, name: str, into: str | None = None) -> tuple[SentencePieceProcessor, list[int | None]]:
    """Build a SentencePiece model with the special pieces first, as `Tokenizer` needs it, and the row of each piece.

    Pieces without a row are left out, so their text is split into others.

    Args:
        side: vocabulary of the language.
        name: name of its model in messages, such as `source.spm`.
        into: piece of the target language that every text of this language begins with, if any.

    Returns:
        The model, and for each of its ids the row in Marian's weights; None for those without a row.

    Raises:
        DataError: it is no SentencePiece model, none of its pieces has a number, or a special one lacks its number.
    """
    proto = _parsed(side.model, name)
    kept = [piece for piece in proto.pieces if _is_text(piece) and piece.piece in side.numbers]
    if not kept:
        raise DataError(f"no piece of {name} has a number")
    first = [(SPECIAL_PIECES[i], kind) for i, kind in _TYPES.items()] + ([] if into is None else [(into, _CONTROL)])
    specials = [type(kept[0])(piece=piece, score=0.0, type=kind) for piece, kind in first]
    del proto.pieces[:]
    proto.pieces.extend(specials + kept)
    _number_specials(proto.trainer_spec, len(proto.pieces))
    rows = [None, None, *(side.numbers.get(piece.piece) for piece in proto.pieces[EOS:])]
    if (missing := next((SPECIAL_PIECES[i] for i in (EOS, UNK) if rows[i] is None), None)) is not None:
        raise DataError(f"{missing} has no number")
    try:
        return SentencePieceProcessor(model_proto=proto.SerializeToString()), rows
    except RuntimeError as error:
        raise DataError(f"{name} cannot be used: {str(error).removeprefix('INTERNAL: ')}") from None


def _parsed(model: bytes, name: str) -> Any:  # noqa: ANN401 - protobuf makes its classes at run time
    try:
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)  # type: ignore[attr-defined]
    except DecodeError:
        proto = None
    if proto is None or not all(isinstance(piece.piece, str) for piece in proto.pieces):  # bytes if not UTF-8
        raise DataError(f"{name} is damaged, or is not a SentencePiece model")
    return proto


def _is_text(piece: Any) -> bool:  # noqa: ANN401
    return piece.type not in (_UNKNOWN, _CONTROL, _UNUSED) and not TARGET_LANGUAGE.fullmatch(piece.piece)


def _number_specials(spec: Any, size: int) -> None:  # noqa: ANN401
    spec.pad_id, spec.bos_id, spec.eos_id, spec.unk_id = PAD, BOS, EOS, UNK
    spec.pad_piece, spec.bos_piece, spec.eos_piece, spec.unk_piece = SPECIAL_PIECES
    spec.unk_surface = ""  # as `transformers` omits it from translations
    spec.vocab_size = size
    spec.ClearField("character_coverage")  # of an unknown text: not comparable with a run's
