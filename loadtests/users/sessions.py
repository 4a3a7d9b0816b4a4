"""Users who speak: a session whose sentences go over WebSocket as they are spoken, and a check of what was kept."""

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import httpx

from loadtests.outcomes import Recorder, Result
from loadtests.scenario import Expected, Kind
from loadtests.users.balancer import Balancer, GaveUpError
from loadtests.users.conversation import Conversation
from loadtests.users.rest_client import KEPT, RestClient
from loadtests.users.stream_client import StreamClient

_LONGEST_STRETCH = 8
"""Most sentences after which an ill-behaved client on a socket chooses again between REST and WebSocket."""
_STREAMED = 0.2
"""How often it chooses a socket; as a stretch has several sentences, half of all sentences go that way."""
_HASTY = "sentence"
_IN_FLIGHT = 4
"""Sentences in flight of a client that sends as fast as it may; one that speaks sends each when it is spoken."""


class Speaker:
    """Speaks one document in a session: the sentences that have a moment."""

    def __init__(
        self,
        http: httpx.Client,
        balancer: Balancer,
        recorder: Recorder,
        pair: Mapping[str, str],
        rng: random.Random,
        mischief: float,
    ) -> None:
        self._http = http
        self._balancer = balancer
        self._recorder = recorder
        self._pair = pair
        self._rng = rng
        self._mischief = mischief

    def speak(self, document: Sequence[str], expected: Expected, moments: Sequence[float], *, hasty: bool) -> None:
        """Begin a session, get each sentence answered, compare what is kept, and delete the session.

        If `hasty`, each sentence is sent as soon as earlier ones are answered: how long it takes then means nothing.

        Raises:
            ViolationError: something is lost, doubled, out of order, or not as in the quiet run.
            GaveUpError: a sentence was not answered within the user's patience.
        """
        conversation = self._begin(document, expected, lambda position: self._answered(moments[position], hasty=hasty))
        try:
            if self._mischief:
                self._misbehave(conversation, moments)
            else:
                self._stream(conversation, moments, _IN_FLIGHT if hasty else KEPT).say_until(len(moments))
            state = self._balancer.ask("GET", conversation.path)
            conversation.check_state(state.json(), len(moments))
        finally:
            self._forget(conversation)

    def _begin(self, document: Sequence[str], expected: Expected, on_answer: Callable[[int], object]) -> Conversation:
        key = {"Idempotency-Key": str(uuid.uuid4())}
        created = self._balancer.ask("POST", "/v1/sessions", json=self._pair, headers=key)
        if not created.is_success:
            raise GaveUpError(str(created.json().get("code")), time.monotonic())
        return Conversation(created.json()["session_id"], document, expected, on_answer)

    def _answered(self, moment: float, *, hasty: bool) -> None:
        if hasty:
            self._recorder.add(_HASTY, Result.ANSWERED, sentences=1)
        else:
            self._recorder.add(Kind.LIVE, Result.ANSWERED, due=moment, sentences=1)

    def _misbehave(self, conversation: Conversation, moments: Sequence[float]) -> None:
        """Send a document to its end, sometimes over REST, sometimes over a socket."""
        rest = RestClient(conversation, self._balancer, self._http, self._rng, self._note)
        stream = self._stream(conversation, moments, _IN_FLIGHT)
        while (position := conversation.next_position) < len(moments):
            if self._rng.random() < _STREAMED:
                stream.say_until(min(position + self._rng.randint(1, _LONGEST_STRETCH), len(moments)))
            else:
                self._rng.choice(rest.moves)()

    def _stream(self, conversation: Conversation, moments: Sequence[float], in_flight: int) -> StreamClient:
        return StreamClient(
            conversation,
            self._balancer,
            self._rng,
            moments,
            in_flight=in_flight,
            mischief=self._mischief,
            on_mischief=self._note,
        )

    def _forget(self, conversation: Conversation) -> None:
        with suppress(GaveUpError):  # it is forgotten when its time to live is over
            self._balancer.ask("DELETE", conversation.path)

    def _note(self, mischief: str) -> None:
        self._recorder.add(Kind.LIVE, Result.NOTED, code=mischief)
