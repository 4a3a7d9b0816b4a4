"""What a client of a session does over WebSocket: several sentences in flight, and reconnection wherever it breaks."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from loadtests.balancer import ATTEMPT_SECONDS, PAUSE_SECONDS, Balancer, GaveUpError
from loadtests.conversation import Conversation, ViolationError
from loadtests.processes import PATIENCE_SECONDS

_IN_FLIGHT = 4
_FOR_GOOD = {1008, 1009, 4404}
"""Codes with which a stream is closed that another one would not mend."""


class StreamClient:
    """Sends the sentences of one conversation over sockets to any replica, and resumes where answers have stopped.

    `mischief` is how often, of all flights of sentences, one has a sentence twice, has two in the wrong order, or is
    followed by a torn connection.
    """

    def __init__(self, conversation: Conversation, balancer: Balancer, rng: random.Random, *, mischief: float) -> None:
        self._conversation = conversation
        self._balancer = balancer
        self._rng = rng
        self._mischief = mischief

    async def say_until(self, end: int) -> None:
        """Get every sentence before position `end` answered.

        Raises:
            ViolationError: an answer is wrong, or a refusal is none that trying again could mend.
            GaveUpError: some sentence was not answered within PATIENCE_SECONDS.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._conversation.next_position < end:
            if time.monotonic() > deadline:
                raise GaveUpError(f"position {self._conversation.next_position} was not answered on a stream")
            await asyncio.sleep(await self._say_on_one_socket(end))

    async def _say_on_one_socket(self, end: int) -> float:
        """Get as far as one socket goes; gives the seconds to wait before the next one."""
        self._balancer.counts["sockets opened"] += 1
        try:
            async with self._connect() as socket:
                await self._converse(socket, end)
        except ConnectionClosed as closed:
            code = None if closed.rcvd is None else closed.rcvd.code
            self._balancer.counts["sockets lost" if code is None else f"sockets closed with {code}"] += 1
            if code in _FOR_GOOD:
                raise ViolationError(f"a stream was closed with {code}") from closed
        except InvalidStatus as refused:
            self._balancer.counts[f"sockets refused with {refused.response.status_code}"] += 1
            if "Retry-After" not in refused.response.headers:
                raise ViolationError(f"a stream was refused with {refused.response.status_code}") from refused
            return float(refused.response.headers["Retry-After"])
        except (InvalidMessage, OSError, TimeoutError):
            self._balancer.counts["sockets that found no replica"] += 1
        return PAUSE_SECONDS

    def _connect(self) -> connect:
        url = self._balancer.url().replace("http", "ws", 1)
        return connect(f"{url}{self._conversation.path}/stream", proxy=None, open_timeout=ATTEMPT_SECONDS)

    async def _converse(self, socket: ClientConnection, end: int) -> None:
        greeting = await _receive(socket)
        if greeting["type"] != "session" or greeting["next_position"] < self._conversation.next_position:
            raise ViolationError("a stream does not know the sentences that have been answered")
        while self._conversation.next_position < end:
            flight = self._flight(end)
            for position in flight:
                await socket.send(orjson.dumps(self._conversation.body(position)).decode())
            if self._rng.random() < self._mischief:
                self._balancer.counts["sockets torn by the client"] += 1
                socket.transport.abort()
            waits = [self._hear(position, await _receive(socket)) for position in flight]
            await asyncio.sleep(max(waits))

    def _flight(self, end: int) -> Sequence[int]:
        """The positions that go together: the next ones, sometimes one of them twice, or two in the wrong order."""
        first = self._conversation.next_position
        flight = list(range(first, min(first + self._rng.randint(1, _IN_FLIGHT), end)))
        if self._rng.random() < self._mischief:
            self._balancer.counts["sent twice at once"] += 1
            flight.append(self._rng.choice(flight))
        if len(flight) > 1 and self._rng.random() < self._mischief:
            self._balancer.counts["sent too early"] += 1
            flight[0], flight[1] = flight[1], flight[0]
        return flight

    def _hear(self, position: int, message: Mapping[str, Any]) -> float:
        """Take the answer to what was sent for a position; gives the seconds to wait before trying again."""
        if message["type"] == "translation":
            self._conversation.hear(position, message)
            return 0.0
        if message["code"] == "position_gap":
            return 0.0  # sent too early, or after one that has to be sent again
        if not message["retryable"]:
            raise ViolationError(f"position {position} was refused on a stream: {message['code']}")
        self._balancer.counts[f"repeated after {message['status']} {message['code']}"] += 1
        return float(message.get("retry_after_seconds", PAUSE_SECONDS))


async def _receive(socket: ClientConnection) -> Mapping[str, Any]:
    async with asyncio.timeout(ATTEMPT_SECONDS):
        message: Mapping[str, Any] = orjson.loads(await socket.recv())
        return message
