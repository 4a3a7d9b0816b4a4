"""A document that one client sends sentence by sentence, and every answer that it has had."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadtests.errors import LoadTestError

_ANSWERED = ("translation", "score", "context_size")
PAIR = {"source_lang": "ja", "target_lang": "en"}


class ViolationError(LoadTestError):
    """The service has answered what it must not answer."""


@dataclass(slots=True)
class Conversation:
    """A session's document; `on_answer` is called for each sentence when its first answer is there."""

    session_id: str
    document: Sequence[str]
    on_answer: Callable[[], object]
    answers: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Of the session."""
        return f"/v1/sessions/{self.session_id}"

    @property
    def next_position(self) -> int:
        """The first position without an answer: a client resumes there, even where it has later answers."""
        return next(position for position in itertools.count() if position not in self.answers)

    def body(self, position: int) -> dict[str, object]:
        """What the client sends for a sentence."""
        return {"text": self.document[position], "position": position}

    def hear(self, position: int, answer: Mapping[str, Any]) -> None:
        """Note an answer.

        Raises:
            ViolationError: it is another sentence's, or not what an earlier answer has said.
        """
        if (answer["position"], answer["source"]) != (position, self.document[position]):
            raise ViolationError(f"position {position} got the answer of position {answer['position']}")
        given = answered(answer)
        if self.answers.setdefault(position, given) is given:
            self.on_answer()
        elif self.answers[position] != given:
            raise ViolationError(f"position {position} was answered in two ways")


def answered(answer: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a sentence's answer says beyond its position and source."""
    return tuple(answer[member] for member in _ANSWERED)
