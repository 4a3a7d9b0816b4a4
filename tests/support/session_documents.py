"""A session in a real Redis, with shorthands for the operations on it."""

from uuid import uuid4

from service.store.context_store import ContextStore
from service.store.document import Answer, Appended, DocumentKey, Entry, Lease, Session

LEASE_SECONDS = 60.0
ANSWER = Answer("a translation", -0.123456789012345678, 2)
"""A score that a float in text would not survive unless all digits are kept."""


class Document:
    """One session; in its methods, `who` is the caller's lease token, by default a new one."""

    def __init__(self, store: ContextStore, key: DocumentKey) -> None:
        self.store = store
        self.key = key

    @classmethod
    async def begin(cls, store: ContextStore, window: int = 2) -> "Document":
        """Create a session whose model reads `window` preceding sentences."""
        key = DocumentKey("tenant", uuid4().hex)
        await store.create(key, Session("model", "fingerprint", "ja", "en", window=window, ttl_seconds=100))
        return cls(store, key)

    async def append(
        self,
        text: str,
        position: int | None = None,
        key: str | None = None,
        who: str = "",
        seconds: float = LEASE_SECONDS,
        least: int = 0,
    ) -> Appended:
        """Put a sentence into its place, or find it already there."""
        lease = Lease(who or uuid4().hex, seconds)
        return await self.store.append(self.key, text, position=position, idempotency_key=key, lease=lease, least=least)

    async def claim(self, position: int, who: str, seconds: float = LEASE_SECONDS) -> Appended:
        """Claim the sentence at that position."""
        return await self.store.claim(self.key, position, await self._text(position), Lease(who, seconds))

    async def finish(self, position: int, answer: Answer = ANSWER) -> Answer:
        """Store an answer for the sentence at that position."""
        return await self.store.finish(self.key, position, await self._text(position), answer)

    async def correct(self, position: int, translation: str) -> Entry:
        """Store a corrected translation."""
        return await self.store.correct(self.key, position, Answer(translation, None, 0))

    async def withdraw(self, position: int, who: str, failure: str = "") -> bool:
        """Give a sentence back untranslated."""
        return await self.store.withdraw(self.key, position, who, failure)

    async def grow(self, count: int) -> None:
        """Append and finish sentences that are named after their positions."""
        for _ in range(count):
            position = (await self.store.read(self.key)).next_position
            await self.append(f"sentence {position}", position)
            await self.finish(position)

    async def _text(self, position: int) -> str:
        entries = (await self.store.read(self.key)).entries
        return next((entry.source for entry in entries if entry.position == position), "")

    async def kept(self) -> list[int]:
        """The positions that are kept."""
        return [entry.position for entry in (await self.store.read(self.key)).entries]


def sources(appended: Appended) -> list[str]:
    """The preceding sentences that came with it."""
    return [entry.source for entry in appended.preceding]
