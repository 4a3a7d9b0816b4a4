"""Run work on texts in a thread if it would otherwise block the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

_QUICKLY_DONE: Final = 2_000
"""So many characters take a millisecond or two; work on more is done in a thread, while others are served."""

_T = TypeVar("_T")


async def in_thread_if_long(work: Callable[[], _T], texts: Sequence[str]) -> _T:
    """Do some work on texts, and return its result: in a thread, unless the texts are short."""
    return work() if sum(map(len, texts)) <= _QUICKLY_DONE else await asyncio.to_thread(work)
