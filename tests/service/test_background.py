"""Work in the background."""

import asyncio

from service.background import in_background


async def _until_cancelled(said: list[str], name: str) -> None:
    said.append(f"{name} begins")
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        said.append(f"{name} ends")


async def test_work_ends_with_its_block() -> None:
    """All work begins in the block, and has ended after it."""
    said: list[str] = []
    async with in_background(_until_cancelled(said, "one"), _until_cancelled(said, "other")):
        await asyncio.sleep(0)
        assert sorted(said) == ["one begins", "other begins"]
    assert sorted(said[2:]) == ["one ends", "other ends"]


async def test_there_may_be_no_work() -> None:
    """A block without work in the background is an ordinary one."""
    async with in_background():
        pass
