"""Tests that a bundle that has just been loaded translates as it should, before anybody relies on it.

The test sentences are made of pieces of its own tokenizer: every language has them, and they are the same every time.
Imports no torch: it only uses the interface of a runtime.
"""

import math
import traceback
from collections.abc import Sequence
from typing import Final, Protocol

from models.bundle.manifest import Manifest
from models.data.documents import Sentence
from models.data.tokenizer import SPACE, SPECIAL_PIECES, Tokenizer
from models.engine.requests import Options, Strategy, Translation, TranslationRequest
from models.errors import SelfTestError

STRATEGIES: Final[tuple[Strategy, ...]] = ("direct", "sentence")
"""The strategies to test; the second one only if the bundle has a sentence model."""
EXACT: Final = 1e-3
"""How much a score may depend on the batch, in nats per token, if arithmetic is float32 or int8 on a CPU."""
ROUNDED: Final = 0.05
"""The same in 16 bits or on a GPU, where rounding depends on the shape of the batch."""
DIVERGED: Final = 1.0
"""The same between translations that differ because rounding decided a word, which changes all that follows."""
_LENGTHS: Final = (3, 7, 5)
"""Number of pieces of each probe; all different, so that all but one are padded in a batch."""


class Tested(Protocol):
    """The interface of what is tested: `models.engine.runtime.Runtime`."""

    @property
    def manifest(self) -> Manifest:
        """The bundle's manifest."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The bundle's tokenizer."""

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Return a translation for each request, in order."""


def self_test(runtime: Tested, *, tolerance: float = EXACT) -> None:
    """Translate a few sentences by every strategy, with and without context, each alone and all together.

    Args:
        runtime: what is tested.
        tolerance: how much a score may depend on the batch, in nats per token; differing translations within it are a
            tie.

    Raises:
        SelfTestError: a result is empty, not a number, or depends on the batch; the message says which.
    """
    requests = probes(runtime.tokenizer)
    reads_context = runtime.manifest.window.size > 0
    for strategy in STRATEGIES if runtime.manifest.has_backbone else STRATEGIES[:1]:
        alone = [_translate(runtime, [request], strategy)[0] for request in requests]
        together = _translate(runtime, requests, strategy)
        for request, one, other in zip(requests, alone, together, strict=True):
            for found in (one, other):
                _check_sound(found, strategy)
            if strategy == "direct" and bool(one.context_size) != (reads_context and bool(request.preceding)):
                raise SelfTestError(f"with {len(request.preceding)} preceding sentences it used {one.context_size}")
            _check_equal(one, other, strategy, tolerance)


def probes(tokenizer: Tokenizer) -> list[TranslationRequest]:
    """Return three requests, with zero, one and two preceding sentences, which have made-up translations."""
    sources = _texts(tokenizer.source_pieces)
    history = [Sentence(*texts) for texts in zip(sources, _texts(tokenizer.target_pieces), strict=True)]
    return [TranslationRequest(source, tuple(history[:position])) for position, source in enumerate(sources)]


def _texts(pieces: Sequence[str]) -> list[str]:
    """Make texts of pieces from all over a vocabulary, without the special ones; only of letters, if it has any."""
    usable = pieces[len(SPECIAL_PIECES) :]
    words = [piece for piece in usable if piece.strip(SPACE).isalpha()] or usable
    needed = sum(_LENGTHS)
    drawn = iter([words[position * len(words) // needed] for position in range(needed)])
    joined = ["".join(next(drawn) for _ in range(length)) for length in _LENGTHS]
    return [text.replace(SPACE, " ").strip() for text in joined]


def _translate(runtime: Tested, requests: Sequence[TranslationRequest], strategy: Strategy) -> list[Translation]:
    try:
        found = runtime.translate(requests, Options(strategy))
    except Exception as error:  # damaged weights make the engines raise anything
        what = traceback.format_exception_only(error)[0].partition("\n")[0]
        raise SelfTestError(f"translating by strategy {strategy} raised {what}") from error
    if len(found) != len(requests):
        raise SelfTestError(f"{len(requests)} sentences gave {len(found)} translations by strategy {strategy}")
    return found


def _check_sound(found: Translation, strategy: Strategy) -> None:
    if not math.isfinite(found.score):
        raise SelfTestError(f"a translation by strategy {strategy} has a score that is not a number")
    if not found.text.strip():
        raise SelfTestError(f"a translation by strategy {strategy} is empty, although its sentence is not")


def _check_equal(alone: Translation, together: Translation, strategy: Strategy, tolerance: float) -> None:
    """Check that two translations are equal, or so close that rounding may have decided between them."""
    difference, differ = abs(alone.score - together.score), alone.text != together.text
    if difference > (DIVERGED if differ and tolerance >= ROUNDED else tolerance):
        what = "translation" if differ else "score of a translation"
        raise SelfTestError(f"the {what} by strategy {strategy} depends on what else is translated in the batch")
