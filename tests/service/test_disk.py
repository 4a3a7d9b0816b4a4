"""Concurrent reads from a disk."""

import asyncio
from threading import Event

from service.disk import DiskReader


async def test_who_comes_while_another_reads_waits_for_them() -> None:
    """Reads that overlap share the disk in turn: a disk that is busy does not count as one that does not respond."""
    disk, answers = DiskReader[bool](), Event()
    reading = [asyncio.create_task(disk.read(answers.wait)) for _ in range(3)]
    for _ in range(10):
        await asyncio.sleep(0)
    answers.set()
    assert await asyncio.gather(*reading) == [True] * 3
