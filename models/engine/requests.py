"""The requests and results of a runtime: plain data, without torch, for both ends of a connection."""

from dataclasses import dataclass
from typing import Literal

from models.data.documents import Sentence
from models.text.glossary import Term

Strategy = Literal["direct", "sentence", "rerank", "verify"]
"""How a model translates.

- `direct`: with its context;
- `sentence`: with its sentence backbone, ignoring any context;
- `rerank`: the backbone proposes as many translations as the beam is wide, and the model with context chooses;
- `verify`: like greedy `direct`, but faster if there is a draft, of which it keeps what `direct` would produce.
"""


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """A sentence to translate, and the sentences around it in its document, in reading order."""

    source: str
    preceding: tuple[Sentence, ...] = ()
    following: tuple[Sentence, ...] = ()
    growing: bool = False
    """Whether the document may still grow, so that none of its sentences was translated with following ones."""
    draft: str | None = None
    """A guess at the translation, which only the strategy `verify` reads."""
    parts: tuple[str, ...] = ()
    """The sentences of `source` if it is more than one; joined, they are the source."""
    terms: tuple[Term, ...] = ()
    """The terms of a glossary that may be in the source, and which the translation then has to use."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How often states of the context were reused from an earlier request (hits), and how often not (misses)."""

    hits: int = 0
    misses: int = 0

    def __sub__(self, other: "CacheUse") -> "CacheUse":
        """Return the use since `other`."""
        return CacheUse(self.hits - other.hits, self.misses - other.misses)


@dataclass(frozen=True, slots=True)
class Options:
    """How to translate; None stands for the bundle's own value (for the beam size of `verify`, 1)."""

    strategy: Strategy = "direct"
    beam_size: int | None = None
    n_best: int = 1
    alpha: float | None = None
    """How much the search prefers longer translations; see `DecodingConfig`."""
    patience: float | None = None
    """How many translations a beam search waits for; see `DecodingConfig`."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A translation and its mean log-probability per token, end of sentence included."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Translation:
    """The best translation of a sentence, with details of how it was made."""

    text: str
    score: float
    """Mean log-probability per token, end of sentence included."""
    context_size: int
    """Number of preceding sentences that were used."""
    tokens: int
    """Number of target tokens generated, without the end of sentence."""
    alternatives: tuple[Alternative, ...]
    """The next best translations, if more than one was requested."""
    kept: int = 0
    """Number of target tokens taken over from the draft."""

    @classmethod
    def given(cls, text: str) -> "Translation":
        """Return a text that no model has produced, as a translation."""
        return cls(text, 0.0, 0, 0, ())
