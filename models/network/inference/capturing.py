"""Captures that are attempted until one fails."""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

import torch

from models.network.inference.graphs import Capture, says_no_memory

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


class Capturing:
    """Makes captured objects, until a capture fails."""

    def __init__(self, capture: Capture, what: str) -> None:
        """Attempt captures; after one has failed, the log says what goes on without them."""
        self._capture: Capture | None = capture
        self._what = what

    def make(self, make: Callable[[Capture], T]) -> T | None:
        """Return what `make` builds with a capture, or None if this capture fails or an earlier one did.

        Raises:
            torch.OutOfMemoryError: the device has too little memory for it.
        """
        if self._capture is None:
            return None
        try:
            return make(self._capture)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            # Ending a failed capture raises another error. Only the messages are kept: the errors hold memory.
            reasons = [str(each) for each in (error.__context__, error) if each is not None]
        for reason in reasons:
            if says_no_memory(reason):
                raise torch.OutOfMemoryError(reason)
        _log.warning("%s without captured graphs: %s", self._what, reasons[0].partition("\n")[0])
        # What a failed capture took from its pool stays reserved until the process ends, at least in torch 2.13.
        self._capture = None
        return None
