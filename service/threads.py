"""Work on texts, in a thread where others would wait for it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

_QUICKLY_DONE: Final = 2_000
"""Characters that take a millisecond or two; more are worked on in a thread, while others are served."""

_T = TypeVar("_T")


async def beside_others(work: Callable[[], _T], texts: Sequence[str]) -> _T:
    """What is done with texts: in a thread, unless that takes next to no time."""
    return work() if sum(map(len, texts)) <= _QUICKLY_DONE else await asyncio.to_thread(work)
