"""The options of search, and the hypotheses that it returns."""

import math
from dataclasses import dataclass, field
from typing import Literal

from models.config import DecodingConfig
from models.data.batches import Memory
from models.errors import UnsupportedOptionError


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of a search.

    Raises:
        UnsupportedOptionError: a value is out of range, or more hypotheses are requested than the beam holds.
    """

    beam_size: int = 4
    n_best: int = 1
    """Hypotheses to return for each sentence."""
    normalization: Literal["power", "wu"] = "power"
    alpha: float = 1.0
    patience: float = 1.0
    """A beam search runs until `patience` x `beam_size` hypotheses, rounded, have ended (Kasai et al. 2022)."""
    min_length: int = 1
    """The fewest tokens before the end of sentence; by default, no translation is empty."""
    most_repeated: int | None = None
    """Tokens that an n-gram may fill in a row, but always four copies; None for any number, as in CTranslate2."""

    def __post_init__(self) -> None:
        if not (self.beam_size >= 1 and self.alpha >= 0 and self.min_length >= 0):
            raise UnsupportedOptionError("beam_size must be at least 1, alpha and min_length at least 0")
        if not self.patience >= 1:
            raise UnsupportedOptionError("patience must be at least 1")
        if self.most_repeated is not None and self.most_repeated < 1:
            raise UnsupportedOptionError("most_repeated must be at least 1, or None")
        if not 1 <= self.n_best <= self.beam_size:
            raise UnsupportedOptionError(f"n_best {self.n_best} must be between 1 and the beam_size {self.beam_size}")

    @property
    def most_found(self) -> int:
        """Hypotheses that a beam search waits for; halves are rounded up, as CTranslate2 rounds them."""
        return math.floor(self.beam_size * self.patience + 0.5)

    def normalize(self, log_probability: float, length: int) -> float:
        """Return the score by which hypotheses of different lengths are compared; `length` counts the end of sentence.

        `power` is log p / n^alpha, CTranslate2's rule; `wu` is log p / ((5 + n) / 6)^alpha, Wu et al. 2016, eq. 14.
        """
        base = length if self.normalization == "power" else (5 + length) / 6
        return log_probability / float(base**self.alpha)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation that search found."""

    tokens: list[int]
    """Without control tokens."""
    score: float
    """Normalised by the rule of the options."""
    log_probability: float
    """Of all tokens, including the end of sentence if it was generated."""
    finished: bool = True
    """Whether the end of sentence was generated; otherwise the translation was cut at its maximum length."""
    memory: Memory = field(default_factory=dict, compare=False, repr=False)
    """What it leaves to the next sentence of its document, if it is finished and the model uses that."""
    kept: int = field(default=0, compare=False)
    """How many of its tokens, from the first on, come from its draft."""

    @property
    def length(self) -> int:
        """Number of tokens generated, end of sentence included."""
        return len(self.tokens) + self.finished


def max_target_length(source_tokens: int, config: DecodingConfig, limit: int) -> int:
    """Return the maximum length of a translation in tokens, end of sentence included.

    Args:
        source_tokens: length of the source, without the end of sentence.
        config: provides ratio and offset.
        limit: the model's limit, `BackboneConfig.max_length`.
    """
    return min(max(1, int(config.length_ratio * source_tokens) + config.length_offset), limit)
