"""Which text a run learns from, and in which pieces."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from models.config.section import Frozen


class Languages(Frozen):
    """ISO 639 codes of the pair."""

    source: str
    """The language that is translated from: `ja`."""
    target: str
    """The language that it is translated into: `en`."""


class Corpus(Frozen):
    """A pair of line-aligned files, absolute or relative to the data folder."""

    source: Path
    """UTF-8, plain or gzip, a sentence a line, an empty line after each document."""
    target: Path
    """The translations, line for line."""


class CleaningConfig(Frozen):
    """Sentence pairs that training leaves out, although they stay the context of others."""

    max_ratio: float | None = Field(None, gt=1)
    """Those of which one side has more than so many times the tokens of the other."""
    max_copies: int | None = Field(None, ge=1)
    """Those that have been there so many times before, letter by letter."""
    untranslated: bool = False
    """Those whose sides are the same."""


class DataConfig(Frozen):
    """Where the text is and which sentences take part."""

    train: Corpus
    """What is learnt from."""
    dev: Corpus | None = None
    """What validations are measured on; without it there are none."""
    contrastive: Path | None = None
    """A contrastive set, JSON lines, whose accuracy each validation measures too; relative to the data folder."""
    max_tokens: int = Field(128, ge=2)
    """Training leaves out sentence pairs with more tokens than this on either side."""
    max_context_tokens: int | None = Field(None, ge=0)
    """And those with more tokens than this, without control tokens, in all source sentences that are read with them."""
    cleaning: CleaningConfig = CleaningConfig()


class Provenance(Frozen):
    """What a bundle says about its model and the text that it learnt from; travels with the model, as licences ask."""

    training_data: str = ""
    """The name of the corpus, with its version."""
    licence: str = ""
    """Of the model, as an SPDX identifier."""
    attribution: str = ""
    """Whom the corpus' licence wants to be named."""
    intended_use: str = ""
    """What the model is good for."""
    limitations: str = ""
    """What it is not good for."""


class TokenizerConfig(Frozen):
    """SentencePiece models: one for both languages (`joint`) or one each."""

    path: Path
    """Folder that holds, or will hold, the model files; relative to the working directory."""
    kind: Literal["unigram", "bpe"] = "unigram"
    """SentencePiece's model: a unigram language model (Kudo 2018), or byte-pair encoding (Sennrich et al. 2016)."""
    vocabulary: int = Field(8000, ge=32, le=1_000_000)
    """Pieces of each model."""
    joint: bool = True
    """One model for both languages, in place of one each."""
    byte_fallback: bool = True
    """Whether characters that are no piece are written as their UTF-8 bytes; else each is one unknown piece."""
    character_coverage: float = Field(0.9995, gt=0, le=1)
    """Share of the corpus' characters that the pieces are made of; the rarest ones are left out."""
