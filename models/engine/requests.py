"""What a runtime is asked and what it answers: plain data, without torch, for both ends of a pipe."""

from dataclasses import dataclass
from typing import Literal

from models.data.documents import Sentence
from models.data.glossary import Term

Strategy = Literal["direct", "sentence", "rerank", "verify"]
"""How a model translates.

- `direct`: with its context;
- `sentence`: by its sentence backbone, whatever context there is;
- `rerank`: as many translations as the beam is wide are proposed by the backbone, and the model with context chooses;
- `verify`: as `direct` and greedy, faster where there is a draft: as much of it is kept as `direct` would give.
"""


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """A sentence to translate, and the sentences around it in its document, in reading order."""

    source: str
    preceding: tuple[Sentence, ...] = ()
    following: tuple[Sentence, ...] = ()
    growing: bool = False
    """Whether the document may still grow: none of its sentences was translated with those that follow it."""
    draft: str | None = None
    """What the translation may be, which only the strategy `verify` reads."""
    parts: tuple[str, ...] = ()
    """Where `source` is more than one sentence, which they are; joined they are the source."""
    terms: tuple[Term, ...] = ()
    """Of a glossary those that the source may have, which the translation has to say."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How often states of the context were kept from an earlier request, and how often they were not."""

    hits: int = 0
    misses: int = 0

    def __sub__(self, other: "CacheUse") -> "CacheUse":
        """What came after `other`."""
        return CacheUse(self.hits - other.hits, self.misses - other.misses)


@dataclass(frozen=True, slots=True)
class Options:
    """How to translate; without a beam size, the bundle's own, and 1 to verify; without alpha or patience, its own."""

    strategy: Strategy = "direct"
    beam_size: int | None = None
    n_best: int = 1
    alpha: float | None = None
    """Of `DecodingConfig`: how much search prefers longer translations."""
    patience: float | None = None
    """Of `DecodingConfig`: for how many translations a beam search waits."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A translation and its mean log-probability per token, end of sentence included."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Translation:
    """The best translation of a sentence, and what it was made with."""

    text: str
    score: float
    """Mean log-probability per token, end of sentence included."""
    context_size: int
    """Preceding sentences that were used."""
    tokens: int
    """Target tokens generated, without the end of sentence."""
    alternatives: tuple[Alternative, ...]
    """The next best ones, where more than one was asked for."""
    kept: int = 0
    """Of the target tokens those that the draft had."""

    @classmethod
    def given(cls, text: str) -> "Translation":
        """A text that no model has made."""
        return cls(text, 0.0, 0, 0, ())
