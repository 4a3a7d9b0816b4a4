"""What a session's client does over WebSocket: it sends sentences as they are spoken, and reconnects when it breaks."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson
from websocket import (
    ABNF,
    WebSocket,
    WebSocketBadStatusException,
    WebSocketException,
    WebSocketTimeoutException,
    create_connection,
)

from loadtests.users.balancer import ATTEMPT_SECONDS, CONNECTION_LOST, NO_ANSWER, PAUSE_SECONDS, Balancer
from loadtests.users.conversation import Conversation, ViolationError, Wrong

_FOR_GOOD = {1008, 1009, 4404}
"""Close codes of a stream after which another stream would fare no better."""
_MOMENT = 0.001
"""Seconds; a timeout of 0 would mean something else."""


class StreamClient:
    """Sends the sentences of one conversation over sockets to any replica, and resumes where answers have stopped.

    `moments` say when each sentence is spoken, on the monotonic clock: it is sent then, whether or not earlier ones
    have been answered, but no more than `in_flight` at a time. `mischief` is how often a sentence is sent twice, two go
    in the wrong order, or the connection is broken; `on_mischief` is told of each.
    """

    def __init__(
        self,
        conversation: Conversation,
        balancer: Balancer,
        rng: random.Random,
        moments: Sequence[float],
        *,
        in_flight: int,
        mischief: float,
        on_mischief: Callable[[str], object],
    ) -> None:
        self._conversation = conversation
        self._balancer = balancer
        self._rng = rng
        self._moments = moments
        self._most_in_flight = in_flight
        self._mischief = mischief
        self._on_mischief = on_mischief
        self._to_send: dict[int, float] = {}
        """When each unsent position may be sent."""
        self._in_flight: deque[int] = deque()
        self._sent: dict[int, float] = {}
        """When each position was first sent."""
        self._begun = 0.0
        """When the current socket received its greeting."""

    def say_until(self, end: int) -> None:
        """Get every sentence before position `end` answered.

        Raises:
            ViolationError: an answer is wrong, or is a refusal that trying again could not mend.
            GaveUpError: a sentence was not answered within the client's patience.
        """
        while (position := self._conversation.next_position) < end:
            reason, wait = self._say_on_one_socket(end)
            if self._conversation.next_position < end:
                since = time.monotonic() if self._conversation.next_position > position else self._since(position)
                self._balancer.repeat(reason, since, wait)

    def _say_on_one_socket(self, end: int) -> tuple[str, float]:
        """Get as far as one socket goes; return why it ended, and the seconds to wait before the next one."""
        try:
            with self._connected() as socket:
                return self._converse(socket, end), PAUSE_SECONDS
        except WebSocketBadStatusException as refused:
            problem = orjson.loads(refused.resp_body or b"{}")
            headers = refused.resp_headers or {}
            if "retry-after" not in headers:
                message = f"a stream was refused: {refused.status_code} {problem.get('code')}"
                raise ViolationError(Wrong.REFUSED, message) from refused
            return str(problem["code"]), float(headers["retry-after"])
        except (WebSocketTimeoutException, TimeoutError):
            return NO_ANSWER, PAUSE_SECONDS
        except (WebSocketException, OSError):
            return CONNECTION_LOST, PAUSE_SECONDS

    @contextmanager
    def _connected(self) -> Iterator[WebSocket]:
        url = f"{self._balancer.url().replace('http', 'ws', 1)}{self._conversation.path}/stream"
        socket = create_connection(url, timeout=ATTEMPT_SECONDS, http_no_proxy=["*"])
        try:
            yield socket
        finally:
            socket.close()
            _cut(socket)  # `close` does not do so once the service has closed

    def _converse(self, socket: WebSocket, end: int) -> str:
        """Get sentences answered; return why there are no more answers, unless all are there."""
        position = self._conversation.next_position
        greeting = orjson.loads(socket.recv())
        if greeting["type"] != "session" or greeting["next_position"] < position:
            raise ViolationError(Wrong.LOST, "a stream does not know the sentences that have been answered")
        self._begun = time.monotonic()
        self._in_flight.clear()
        unanswered = (number for number in range(position, end) if number not in self._conversation.answers)
        self._to_send = {number: self._moments[number] for number in unanswered}
        while self._conversation.next_position < end:
            self._send_what_is_due(socket)
            socket.settimeout(self._seconds_to_next())
            try:
                # Return on pings, too: handled inside, each would restart the timeout and make the next sentence late.
                kind, data = socket.recv_data(control_frame=True)
            except WebSocketTimeoutException:
                kind, data = None, b""
            if kind == ABNF.OPCODE_CLOSE:
                return _closed(data)
            if kind == ABNF.OPCODE_TEXT:
                if not self._in_flight:
                    raise ViolationError(Wrong.LOST, "a stream has answered more than it was asked")
                self._hear(self._in_flight.popleft(), orjson.loads(data))
            elif self._in_flight and time.monotonic() > self._in_flight_since + ATTEMPT_SECONDS:
                raise WebSocketTimeoutException("a sentence has no answer")
        return ""

    def _since(self, position: int) -> float:
        """Return since when a client waits for a position's answer: what was due long ago may have just been sent."""
        return max(self._moments[position], self._sent.get(position, 0.0))

    @property
    def _in_flight_since(self) -> float:
        return max(self._since(self._in_flight[0]), self._begun)

    def _send_what_is_due(self, socket: WebSocket) -> None:
        """Send in order; what comes after a sentence that has to wait also waits, as it would meet a gap."""
        while self._to_send and len(self._in_flight) < self._most_in_flight:
            position = min(self._to_send)
            if self._to_send[position] > time.monotonic():
                return
            for number in self._flight(position):
                self._in_flight.append(number)
                self._sent.setdefault(number, time.monotonic())
                socket.send(orjson.dumps(self._conversation.body(number)).decode())
            if self._rng.random() < self._mischief:
                self._on_mischief("socket torn")
                _cut(socket)
                return

    def _flight(self, position: int) -> Sequence[int]:
        """Return what is sent for a position: its sentence, sometimes twice, sometimes after the next one."""
        del self._to_send[position]
        if self._rng.random() < self._mischief:
            self._on_mischief("sent twice at once")
            return position, position
        if position + 1 in self._to_send and self._rng.random() < self._mischief:
            self._on_mischief("sent too early")
            del self._to_send[position + 1]
            return position + 1, position
        return (position,)

    def _seconds_to_next(self) -> float:
        if not self._to_send or len(self._in_flight) >= self._most_in_flight:
            return ATTEMPT_SECONDS
        return max(_MOMENT, self._to_send[min(self._to_send)] - time.monotonic())

    def _hear(self, position: int, message: Mapping[str, Any]) -> None:
        """Take the answer to what was sent for a position."""
        if message["type"] == "translation":
            self._conversation.hear(position, message)
        elif position in self._conversation.answers:
            return
        elif message["code"] == "position_gap":  # sent too early, or after one that has to be sent again
            if message["next_position"] < self._conversation.next_position:
                raise ViolationError(Wrong.LOST, "a session has lost sentences that had been answered")
            self._to_send[position] = time.monotonic()
        elif not message["retryable"]:
            raise ViolationError(Wrong.REFUSED, f"a sentence was refused on a stream: {message['code']}")
        else:
            wait = float(message.get("retry_after_seconds", PAUSE_SECONDS))
            self._balancer.repeat(message["code"], self._since(position), 0.0)
            self._to_send[position] = time.monotonic() + wait


def _cut(socket: WebSocket) -> None:
    """End the connection without a close message."""
    socket.shutdown()  # type: ignore[no-untyped-call]


def _closed(data: bytes) -> str:
    """Return why a stream was closed with this message.

    Raises:
        ViolationError: another stream could not mend it.
    """
    code = int.from_bytes(data[:2])
    if code in _FOR_GOOD:
        raise ViolationError(Wrong.REFUSED, f"a stream was closed with {code}")
    return f"closed_{code}"
