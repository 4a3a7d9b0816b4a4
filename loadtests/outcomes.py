"""What has become of what users have asked for: written by them line by line, read by whoever judges a run."""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import orjson

ARRIVAL = "arrival"
"""What has begun and ended when a user has come and left."""


class Result(StrEnum):
    """How something ended."""

    BEGUN = "begun"
    ENDED = "ended"
    ANSWERED = "answered"
    """As the quiet run has answered it."""
    REPEATED = "repeated"
    """Tried again; the code says why."""
    REFUSED = "refused"
    """There were too many: 429."""
    FAILED = "failed"
    """Any other error for which the user's patience did not suffice."""
    WRONG = "wrong"
    """Lost, doubled, out of order, or not what the quiet run has answered."""
    NOTED = "noted"
    """Something that a user has done; the code says what."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one request, sentence or document; times are those of this machine's monotonic clock."""

    what: str
    result: Result
    due: float
    """When it should have been sent: a request that had to wait for another one has waited since then."""
    at: float
    """When it ended."""
    sentences: int = 0
    """That have been translated for the first time."""
    code: str = ""

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return self.at - self.due


class Recorder:
    """Appends outcomes to a file, each in one write, so that many can write at a time and be read meanwhile."""

    def __init__(self, file: Path, on_outcome: Callable[[Outcome], object] | None = None) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._on_outcome = on_outcome

    def add(self, what: str, result: Result, *, due: float | None = None, sentences: int = 0, code: str = "") -> None:
        """Something has ended just now; it was due just now, too, if nothing else is said."""
        now = time.monotonic()
        outcome = Outcome(what, result, now if due is None else due, now, sentences, code)
        os.write(self._file, orjson.dumps(asdict(outcome), option=orjson.OPT_APPEND_NEWLINE))
        if self._on_outcome is not None:
            self._on_outcome(outcome)

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)


class Outcomes:
    """Those in a file that is still being written."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0
        self.found: list[Outcome] = []

    def read(self) -> list[Outcome]:
        """Take in what has come since; gives all."""
        if self._file.exists():
            with self._file.open("rb") as file:
                file.seek(self._read)
                whole, _, _ = file.read().rpartition(b"\n")
            self._read += len(whole) + 1 if whole else 0
            self.found += [_outcome(line) for line in whole.splitlines()]
        return self.found


def _outcome(line: bytes) -> Outcome:
    members = orjson.loads(line)
    return Outcome(**members | {"result": Result(members["result"])})
