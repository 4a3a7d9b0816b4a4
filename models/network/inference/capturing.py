"""Captures that are tried for as long as none fails."""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

import torch

from models.network.inference.graphs import Capture, says_no_memory

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


class Capturing:
    """Makes what needs a capture, until one fails."""

    def __init__(self, capture: Capture, what: str) -> None:
        """Try captures; the log says what is done without, after one that has failed."""
        self._capture: Capture | None = capture
        self._what = what

    def make(self, make: Callable[[Capture], T]) -> T | None:
        """What `make` makes with a capture, unless this one fails, or one before it has.

        Raises:
            torch.OutOfMemoryError: the device has no memory for it.
        """
        if self._capture is None:
            return None
        try:
            return make(self._capture)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            # A capture that has failed ends with an error of its own. Only their words are kept: they hold the memory.
            reasons = [str(each) for each in (error.__context__, error) if each is not None]
        for reason in reasons:
            if says_no_memory(reason):
                raise torch.OutOfMemoryError(reason)
        _log.warning("%s without captured graphs: %s", self._what, reasons[0].partition("\n")[0])
        # What a failed capture has taken from its pool stays reserved until the process ends, in torch 2.13 at least.
        self._capture = None
        return None
