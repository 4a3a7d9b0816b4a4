"""Which text a run learns from, and in which pieces."""

import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from models.config.section import Frozen

_CODE: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _as_requests_have_it(language: str) -> str:
    if _CODE.fullmatch(language) is None or len(language) > 32:
        raise ValueError("must be an ISO 639 code, such as ja or en-GB: requests use it to ask for the model")
    return language


Language = Annotated[str, AfterValidator(_as_requests_have_it)]


class Languages(Frozen):
    """ISO 639 codes of the language pair: where a language has one of two letters, that one, such as `ja`, not `jpn`.

    The rules for texts in a language are found by it.
    """

    source: Language
    """The language to translate from, such as `ja`."""
    target: Language
    """The language to translate into, such as `en`."""


class Corpus(Frozen):
    """A pair of line-aligned files, absolute or relative to the data folder."""

    source: Path
    """UTF-8, plain or gzip, with one sentence per line and an empty line after each document."""
    target: Path
    """The translations, line for line."""


class CleaningConfig(Frozen):
    """Sentence pairs that training leaves out. They are still context for other sentences."""

    max_ratio: float | None = Field(None, gt=1)
    """Leaves out pairs in which one side has more than this many times as many tokens as the other."""
    max_copies: int | None = Field(None, ge=1)
    """Leaves out pairs that have already occurred this many times, character for character."""
    untranslated: bool = False
    """Leaves out pairs whose two sides are identical."""


class DataConfig(Frozen):
    """The text, and which sentences of it are used."""

    train: Corpus
    """The training corpus."""
    dev: Corpus | None = None
    """The corpus for validations. Without it, there are none."""
    contrastive: Path | None = None
    """A contrastive set (JSON lines) whose accuracy each validation also measures; relative to the data folder."""
    max_tokens: int = Field(128, ge=2)
    """Training leaves out sentence pairs with more tokens than this on either side, or than `backbone.max_length`."""
    max_context_tokens: int | None = Field(None, ge=0)
    """Training also leaves out pairs whose source context has more tokens than this, not counting control tokens."""
    cleaning: CleaningConfig = CleaningConfig()


class Provenance(Frozen):
    """What a bundle says about its model and training data. It stays with the model, as licences require."""

    training_data: str = ""
    """The name of the corpus, with its version."""
    licence: str = ""
    """The licence of the model, as an SPDX identifier."""
    attribution: str = ""
    """Who must be credited under the licence of the corpus."""
    intended_use: str = ""
    """What the model is good for."""
    limitations: str = ""
    """What it is not good for."""


class TokenizerConfig(Frozen):
    """SentencePiece models: one for both languages (`joint`), or one for each."""

    path: Path
    """Folder of the model files; relative to the working directory. `tokenizer` writes it."""
    kind: Literal["unigram", "bpe"] = "unigram"
    """Kind of model: a unigram language model (Kudo 2018), or byte-pair encoding (Sennrich et al. 2016)."""
    vocabulary: int = Field(8000, ge=32, le=1_000_000)
    """Number of pieces in each model."""
    joint: bool = True
    """Whether both languages share one model; otherwise, each has its own."""
    byte_fallback: bool = True
    """Whether characters that are not a piece are written as UTF-8 bytes; otherwise, each is an unknown piece."""
    character_coverage: float = Field(0.9995, ge=0.98, le=1)
    """Share of the corpus's characters that the pieces cover; the rarest characters are left out."""
