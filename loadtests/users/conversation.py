"""A document that one client sends sentence by sentence, and every answer that it has received."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from loadtests.errors import LoadTestError
from models.bundle.manifest import Manifest

_ANSWERED = ("translation", "context_size", "score")
KEPT = 32
"""How many last sentences docs/streams.md promises to keep; more, if a model reads more."""


def pair_of(bundle: Path) -> dict[str, str]:
    """Return the members of a request that name the languages of a bundle.

    Raises:
        BundleError: it cannot be read.
    """
    languages = Manifest.load(bundle).languages
    return {"source_lang": languages.source, "target_lang": languages.target}


class Wrong(StrEnum):
    """The ways in which an answer can be wrong."""

    LOST = "lost or doubled"
    MISPLACED = "out of order"
    DIFFERENT = "different from a quiet run"
    """As it would be with another document's context."""
    REFUSED = "refused without a reason"


class ViolationError(LoadTestError):
    """The service has given an answer that it must not give."""

    def __init__(self, wrong: Wrong, message: str) -> None:
        super().__init__(message)
        self.wrong = wrong


@dataclass(slots=True)
class Conversation:
    """A session's document; `on_answer` is called with each position when it is first answered."""

    session_id: str
    document: Sequence[str]
    expected: Sequence[tuple[str, int]]
    """The translation and context size of each sentence in the quiet run."""
    on_answer: Callable[[int], object]
    answers: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path of the session."""
        return f"/v1/sessions/{self.session_id}"

    @property
    def next_position(self) -> int:
        """The first position without an answer: a client resumes there, even if it has later answers."""
        return next(position for position in itertools.count() if position not in self.answers)

    def body(self, position: int) -> dict[str, object]:
        """Return what the client sends for a sentence."""
        return {"text": self.document[position], "position": position}

    def hear(self, position: int, answer: Mapping[str, Any]) -> None:
        """Note an answer.

        Raises:
            ViolationError: it is another sentence's, not the quiet run's, or differs from an earlier answer.
        """
        check_answer(answer, position, self.document[position], self.expected[position])
        given = answered(answer)
        if self.answers.setdefault(position, given) is given:
            self.on_answer(position)
        elif self.answers[position] != given:
            raise ViolationError(Wrong.DIFFERENT, "a sentence was answered in two ways")

    def check_state(self, state: Mapping[str, Any], said: int) -> None:
        """Check that the service keeps the `said` sentences of this document that were answered, and no others.

        It need not keep those before the last `KEPT`.

        Raises:
            ViolationError: one is missing, stands in another place, or has another answer.
        """
        kept = state.get("sentences", [])
        first = said - len(kept)
        if state.get("next_position") != said or len(kept) < min(said, KEPT):
            raise ViolationError(Wrong.LOST, "a session has lost or doubled sentences")
        if [sentence["position"] for sentence in kept] != list(range(first, said)):
            raise ViolationError(Wrong.MISPLACED, "a session does not hold its sentences in order")
        for position, sentence in enumerate(kept, start=first):
            if (sentence["source"], answered(sentence)) != (self.document[position], self.answers[position]):
                raise ViolationError(Wrong.DIFFERENT, "a session holds another sentence or answer than its client")


def check_answer(answer: Mapping[str, Any], position: int, source: str, expected: tuple[str, int]) -> None:
    """Check that a sentence was answered as in the quiet run.

    Raises:
        ViolationError: it was not.
    """
    if (answer["position"], answer["source"]) != (position, source):
        raise ViolationError(Wrong.MISPLACED, "a sentence got the answer of another one")
    if (answer["translation"], answer["context_size"]) != expected:
        raise ViolationError(Wrong.DIFFERENT, "a sentence was translated otherwise than in a quiet run")


def answered(answer: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a sentence's answer says beyond its position and source."""
    return tuple(answer[member] for member in _ANSWERED)
