"""What a client of a session does over REST: as it should, again, too early, twice at once, or half."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence

import httpx

from loadtests.balancer import Balancer
from loadtests.conversation import Conversation, ViolationError

KEPT = 24
"""Sentences so near to the end of a document that a retry of one is answered; the service promises more."""
_LONGEST_STAY_SECONDS = 0.05


class RestClient:
    """Sends the sentences of one conversation; each move gets the next one answered.

    All moves raise GaveUpError where there is no answer, and ViolationError where there is a wrong one.
    """

    def __init__(self, conversation: Conversation, balancer: Balancer, rng: random.Random) -> None:
        self._conversation = conversation
        self._balancer = balancer
        self._rng = rng
        self.moves: Sequence[Callable[[], Awaitable[None]]] = (
            self.in_turn,
            self.in_turn,
            self.by_key,
            self.twice,
            self.again,
            self.too_early,
            self.leave,
        )

    async def in_turn(self) -> None:
        """The next sentence at its position."""
        await self._say(self._conversation.next_position)

    async def by_key(self) -> None:
        """The next sentence without a position, with an idempotency key."""
        position = self._conversation.next_position
        body = {"text": self._conversation.document[position]}
        self._hear(position, await self._send(body, {"Idempotency-Key": f"sentence-{position}"}))

    async def twice(self) -> None:
        """The next sentence twice at the same time."""
        self._balancer.counts["sent twice at once"] += 1
        position = self._conversation.next_position
        await asyncio.gather(self._say(position), self._say(position))

    async def again(self) -> None:
        """An earlier sentence once more, then the next one."""
        position = self._conversation.next_position
        if position:
            self._balancer.counts["sent again later"] += 1
            await self._say(self._rng.randrange(max(0, position - KEPT), position))
        await self._say(position)

    async def too_early(self) -> None:
        """The sentence after the next, which is refused, and then the next one."""
        position = self._conversation.next_position
        if position + 1 < len(self._conversation.document):
            self._balancer.counts["sent too early"] += 1
            refused = (await self._send(self._conversation.body(position + 1))).json()
            if (refused.get("code"), refused.get("next_position")) != ("position_gap", position):
                raise ViolationError(f"a sentence too early for position {position} was not refused as a gap")
        await self._say(position)

    async def leave(self) -> None:
        """The next sentence, but the client closes its connection within a moment; then it comes back."""
        position = self._conversation.next_position
        try:
            async with asyncio.timeout(self._rng.uniform(0, _LONGEST_STAY_SECONDS)):
                await self._say(position)
        except TimeoutError:
            self._balancer.counts["left in the middle"] += 1
            await self._say(position)

    async def _say(self, position: int) -> None:
        self._hear(position, await self._send(self._conversation.body(position)))

    async def _send(self, body: Mapping[str, object], headers: dict[str, str] | None = None) -> httpx.Response:
        path = f"{self._conversation.path}/sentences"
        return await self._balancer.ask("POST", path, json=body, headers=headers)

    def _hear(self, position: int, answer: httpx.Response) -> None:
        if not answer.is_success:
            code = answer.json().get("code")
            raise ViolationError(f"position {position} was refused: {answer.status_code} {code}")
        self._conversation.hear(position, answer.json())
