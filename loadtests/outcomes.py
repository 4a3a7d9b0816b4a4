"""Outcomes of what users asked for: they write them line by line, and whatever judges the run reads them."""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import orjson

ARRIVAL = "arrival"
"""The `what` of a user's visit, which begins when the user comes and ends when the user leaves."""


class Result(StrEnum):
    """How something ended."""

    BEGUN = "begun"
    ENDED = "ended"
    ANSWERED = "answered"
    """Answered as in the quiet run."""
    REPEATED = "repeated"
    """Tried again; the code says why."""
    REFUSED = "refused"
    """Refused with 429, as there were too many."""
    FAILED = "failed"
    """Any other error that outlasted the user's patience."""
    WRONG = "wrong"
    """Lost, doubled, out of order, or not what the quiet run answered."""
    NOTED = "noted"
    """Something that a user did; the code says what."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one request, sentence or document ended; times are those of this machine's monotonic clock."""

    what: str
    result: Result
    due: float
    """When it should have been sent; its time counts from then, even if it had to wait for an earlier request."""
    at: float
    """When it ended."""
    sentences: int = 0
    """Sentences translated for the first time."""
    code: str = ""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.at - self.due


class Recorder:
    """Appends outcomes to a file, each in one write, so that many can write at a time while others read."""

    def __init__(self, file: Path, on_outcome: Callable[[Outcome], object] | None = None) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._on_outcome = on_outcome

    def add(self, what: str, result: Result, *, due: float | None = None, sentences: int = 0, code: str = "") -> None:
        """Record that something has ended just now; by default, it was also due just now."""
        now = time.monotonic()
        outcome = Outcome(what, result, now if due is None else due, now, sentences, code)
        os.write(self._file, orjson.dumps(asdict(outcome), option=orjson.OPT_APPEND_NEWLINE))
        if self._on_outcome is not None:
            self._on_outcome(outcome)

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)


class Outcomes:
    """Reads outcomes from a file that is still being written."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0
        self.found: list[Outcome] = []

    def read(self) -> list[Outcome]:
        """Read the new outcomes; return all of them."""
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
