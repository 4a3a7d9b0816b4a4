"""The vocabulary of one language out of Marian's, which has one for both.

Marian numbers the pieces of both languages through. A target was only ever cut by the target's SentencePiece model, so
pieces that only the source has never were in one: each language gets its own pieces alone here, which halves the
widest product of decoding and takes nothing from what the model can say.
"""

import re
from typing import Any, Final

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

from models.data.tokenizer import BOS, EOS, PAD, SPECIAL_PIECES, UNK
from models.errors import DataError
from models.marian.folder import Side

_UNKNOWN, _CONTROL, _UNUSED = 2, 3, 5
"""Kinds of pieces, in SentencePiece's format."""
_TYPES: Final = {PAD: _CONTROL, BOS: _CONTROL, EOS: _CONTROL, UNK: _UNKNOWN}
_LANGUAGE: Final = re.compile(r">>[^<>]+<<")
"""The piece by which a source says into which of several languages it is to be translated."""


def vocabulary_of(side: Side, name: str) -> tuple[SentencePieceProcessor, list[int | None]]:
    """A SentencePiece model with the special pieces first, as `Tokenizer` wants it, and the row of each piece.

    Pieces that have no row are left out, so their text is cut into others.

    Args:
        side: the language's.
        name: of it in messages, such as `source.spm`.

    Returns:
        The model, and for each of its ids the row in Marian's weights; none for those that Marian has no row for.

    Raises:
        DataError: it is no SentencePiece model, has nothing in common with the numbers, or the model translates into
            several languages.
    """
    if several := next((piece for piece in side.numbers if _LANGUAGE.fullmatch(piece)), None):
        raise DataError(
            f"translates into several languages, which the source chooses by a piece such as {several}; "
            "only models of one pair can be imported"
        )
    try:
        proto: Any = sentencepiece_model_pb2.ModelProto.FromString(side.model)  # type: ignore[attr-defined]
    except DecodeError:
        raise DataError(f"{name} is damaged, or is not a SentencePiece model") from None
    kept = [p for p in proto.pieces if p.type not in (_UNKNOWN, _CONTROL, _UNUSED) and p.piece in side.numbers]
    if not kept:
        raise DataError(f"no piece of {name} has a number")
    specials = [type(kept[0])(piece=SPECIAL_PIECES[i], score=0.0, type=kind) for i, kind in _TYPES.items()]
    del proto.pieces[:]
    proto.pieces.extend(specials + kept)
    _number_specials(proto.trainer_spec, len(proto.pieces))
    rows = [None, None, *(side.numbers.get(SPECIAL_PIECES[i]) for i in (EOS, UNK))]
    return SentencePieceProcessor(model_proto=proto.SerializeToString()), rows + [side.numbers[p.piece] for p in kept]


def _number_specials(spec: Any, size: int) -> None:  # noqa: ANN401 - protobuf makes its classes at run time
    spec.pad_id, spec.bos_id, spec.eos_id, spec.unk_id = PAD, BOS, EOS, UNK
    spec.pad_piece, spec.bos_piece, spec.eos_piece, spec.unk_piece = SPECIAL_PIECES
    spec.unk_surface = ""  # as `transformers` leaves it out of a translation
    spec.vocab_size = size
    spec.ClearField("character_coverage")  # of a text that nobody has here: no run can be compared with it
