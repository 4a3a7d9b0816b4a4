"""Whether sessions have ended as they must: pure comparisons with a quiet run, and with what reached the workers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadtests.conversation import answered
from loadtests.marked import Marked, misplaced
from loadtests.report import Check
from loadtests.stand_in import Recorded

Answers = Sequence[tuple[Any, ...]]
"""Of a document, by position."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A session when its client has ended."""

    answers: Answers
    """What the client was answered."""
    state: Mapping[str, Any]
    """What the service keeps of it."""
    violation: str | None
    """What has kept the client from going on, if anything has."""


def struck(kills: int, planned: int) -> Check:
    """Everything was killed that was to be, while clients were at work."""
    return Check("every planned kill has struck in time", kills == planned, f"{kills} of {planned}")


def undisturbed(sessions: Sequence[Ended]) -> Check:
    """Every client got to the end of its document."""
    violations = [session.violation for session in sessions if session.violation is not None]
    return Check("every client is served to the end", not violations, _counted(violations, sessions))


def answers_agree(sessions: Sequence[Ended], quiet: Sequence[Answers]) -> Check:
    """Every sentence was answered, each as in the quiet run."""
    different = [
        f"session {number}"
        for number, (session, expected) in enumerate(zip(sessions, quiet, strict=True))
        if list(session.answers) != list(expected)
    ]
    return Check("each answer is that of a quiet run", not different, _counted(different, sessions))


def states_agree(sessions: Sequence[Ended], documents: Marked, quiet: Sequence[Answers]) -> Check:
    """Every session holds as many sentences as its document, and keeps the last ones in order, each with its answer."""
    different = [
        f"session {number}"
        for number, (session, document, expected) in enumerate(zip(sessions, documents, quiet, strict=True))
        if not _is_tail(session.state, document, expected)
    ]
    return Check("each session has its sentences, in order, once each", not different, _counted(different, sessions))


def isolated(record: Sequence[Recorded], documents: Marked, window: int) -> Check:
    """Nothing reached a worker with a sentence of another document, or with other ones of its own than it should."""
    wrong = misplaced(documents, record, window)
    return Check("each request reached its worker with its own document's context", not wrong, _counted(wrong, record))


def foreseen(errors: Sequence[str]) -> Check:
    """No service has logged an error that nobody has foreseen."""
    return Check("no service has met an unforeseen error", not errors, "; ".join([str(len(errors)), *errors[:3]]))


def translated_again(record: Iterable[Recorded], documents: Marked) -> int:
    """How many translations were made beyond the two that each sentence needs: in the quiet run and in its session."""
    return sum(1 for _ in record) - 2 * sum(map(len, documents))


def _is_tail(state: Mapping[str, Any], document: Sequence[str], expected: Answers) -> bool:
    kept = state.get("sentences", [])
    first = len(document) - len(kept)
    return bool(
        state.get("next_position") == len(document)
        and kept
        and [sentence["position"] for sentence in kept] == list(range(first, len(document)))
        and [sentence["source"] for sentence in kept] == list(document[first:])
        and [answered(sentence) for sentence in kept] == list(expected[first:])
    )


def _counted(wrong: Sequence[str], among: Sequence[object]) -> str:
    return "; ".join([f"{len(wrong)} of {len(among)} are not", *wrong[:3]])
