"""The types of fields that several bodies have."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

MAX_BEAM = 8
MAX_POSITION = MAX_SECONDS = 2**31
Strategy = Literal["direct", "sentence", "rerank"]


def encodable(text: str) -> str:
    """Refuse half of a surrogate pair, which JSON can spell, but no UTF-8 text can hold.

    Raises:
        ValueError: the text has one.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain half of a surrogate pair") from None
    return text


def _number(value: object) -> object:
    """Refuse a boolean or a string, either of which pydantic would convert to an integer."""
    if isinstance(value, bool | str):
        raise ValueError("must be an integer")
    return value


def _without_folders(name: object) -> object:
    """Return the last part of a path, as Unix or Windows writes it."""
    return re.split(r"[/\\]", name)[-1] if isinstance(name, str) else name


_IS_NUMBER = BeforeValidator(_number)
BeamSize = Annotated[int, Field(ge=1, le=MAX_BEAM), _IS_NUMBER]
Alternatives = Annotated[int, Field(ge=0, lt=MAX_BEAM), _IS_NUMBER]
Seconds = Annotated[int, Field(ge=1, le=MAX_SECONDS), _IS_NUMBER]
Position = Annotated[int, Field(ge=0, le=MAX_POSITION), _IS_NUMBER]
Deadline = Annotated[float, Field(ge=0.1, le=MAX_SECONDS, strict=True)]
Text = Annotated[str, AfterValidator(encodable)]
Texts = Annotated[list[Text], Field(fail_fast=True)]
"""Only the first that is wrong is told: an error for each of a million would take gigabytes."""
FileName = Annotated[
    str, Field(min_length=1, max_length=255), AfterValidator(encodable), BeforeValidator(_without_folders)
]
Language = Annotated[
    str,
    Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=32, description="ISO 639 code.", examples=["ja"]),
    AfterValidator(str.lower),
]
ModelName = Annotated[
    str, Field(min_length=1, max_length=128, description="Name of a model. Default: that of the language pair.")
]
