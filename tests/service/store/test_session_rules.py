"""For any series of operations on a session, the Lua scripts agree with the model in plain Python."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from uuid import uuid4

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from models.errors import AntecedentError
from service.store.commands import Commands
from service.store.connection import connect
from service.store.context_store import ContextStore
from service.store.document import Answer, Appended, DocumentKey, Entry, Lease, Session
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer
from tests.support.session_model import HORIZON, MOST, WINDOW, Found, RefusedError, SessionModel

TEXTS = st.sampled_from("ab")
TOKENS = st.sampled_from(["one", "two", "three"])
KEYS = st.none() | st.sampled_from("kl")
POSITIONS = st.integers(0, MOST)
_T = TypeVar("_T")


class Rules(RuleBasedStateMachine):
    """One session in Redis and one in plain Python, which get the same operations."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.client = connect(url, 5)
        self.store = ContextStore(Commands(self.client, Metrics()), MOST)
        self.key = DocumentKey("tenant", uuid4().hex)
        self.model = SessionModel()
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        await self.store.create(self.key, Session("model", "fingerprint", "ja", "en", WINDOW, 100))
        await self.client.hset(self.key.names()[0], "horizon", HORIZON)

    def teardown(self) -> None:
        """Close the connection."""
        self.runner.run(self.client.aclose())
        self.runner.close()

    @rule(
        text=TEXTS,
        position=st.none() | POSITIONS,
        key=KEYS,
        token=TOKENS,
        holds=st.booleans(),
        least=st.just(0) | POSITIONS,
    )
    def append(self, text: str, position: int | None, key: str | None, token: str, holds: bool, least: int) -> None:
        """Somebody sends a sentence, for the first time or again."""
        lease = Lease(token, 60 * holds)
        self._agree(
            lambda: self.store.append(self.key, text, position=position, idempotency_key=key, lease=lease, least=least),
            lambda: self.model.append(text, position, key, token, holds=holds, least=least),
            _found,
        )

    @rule(text=TEXTS, token=TOKENS)
    def send_next(self, text: str, token: str) -> None:
        """The usual case of `append`."""
        self.append(text, self.model.next, None, token, True, 0)

    @rule(at=POSITIONS, text=st.none() | TEXTS, token=TOKENS, holds=st.booleans())
    def claim(self, at: int, text: str | None, token: str, holds: bool) -> None:
        """Somebody claims a sentence, or a different one that used to be there."""
        source = self._text(at) if text is None else text
        self._agree(
            lambda: self.store.claim(self.key, at, source, Lease(token, 60 * holds)),
            lambda: self.model.claim(at, source, token, holds=holds),
            _found,
        )

    @rule(at=POSITIONS, text=st.none() | TEXTS, answer=TEXTS)
    def finish(self, at: int, text: str | None, answer: str) -> None:
        """Somebody has translated a sentence, or a different one that used to be there."""
        source = self._text(at) if text is None else text
        self._agree(
            lambda: self.store.finish(self.key, at, source, Answer(answer, -1.0, 0)),
            lambda: self.model.finish(at, source, answer),
            lambda stored: stored.translation,
        )

    @rule(at=POSITIONS, answer=TEXTS)
    def correct(self, at: int, answer: str) -> None:
        """Somebody corrects a sentence."""
        self._agree(
            lambda: self.store.correct(self.key, at, Answer(answer, None, 0)),
            lambda: self.model.correct(at, answer),
            lambda entry: entry.source,
        )

    @rule(at=POSITIONS, token=TOKENS, failed=st.booleans())
    def withdraw(self, at: int, token: str, failed: bool) -> None:
        """Somebody gives a sentence back."""
        failure = "invalid_request" if failed else ""
        self._agree(
            lambda: self.store.withdraw(self.key, at, token, failure),
            lambda: self.model.withdraw(at, token, failed=failed),
            lambda taken_out: taken_out,
        )

    @invariant()
    def same_state(self) -> None:
        """Both hold the same sentences, and Redis has no fields of any others."""
        state = self.runner.run(self.store.read(self.key))
        assert state.next_position == self.model.next
        kept = self.model.kept.items()
        assert [_entry(entry) for entry in state.entries] == [(at, each.text, each.answer) for at, each in kept]
        fields = self.runner.run(self.client.hkeys(self.key.names()[1]))
        assert {int(name[1:]) for name in fields} == set(self.model.kept)

    def _text(self, at: int) -> str:
        stands = self.model.kept.get(at)
        return stands.text if stands else ""

    def _agree(
        self,
        ask: Callable[[], Coroutine[Any, Any, _T]],
        expect: Callable[[], object],
        read: Callable[[_T], object],
    ) -> None:
        try:
            expected: object = expect()
        except RefusedError as refused:
            expected = refused.args[0]
        try:
            found: object = read(self.runner.run(ask()))
        except AntecedentError as error:
            found = error.code
        assert found == expected


def _found(appended: Appended) -> Found:
    answer = None if appended.answer is None else appended.answer.translation
    preceding = [_entry(entry)[1:] for entry in appended.preceding]
    waits = appended.wait_seconds > 0
    return Found(appended.position, appended.next_position, answer, waits=waits, preceding=preceding)


def _entry(entry: Entry) -> tuple[int, str, str | None]:
    return entry.position, entry.source, None if entry.answer is None else entry.answer.translation


def test_rules(redis_server: RedisServer) -> None:
    """Whatever callers do in whatever order, both sessions give the same answers and keep the same sentences."""
    run_state_machine_as_test(
        lambda: Rules(redis_server.url),
        settings=settings(max_examples=60, stateful_step_count=40, suppress_health_check=list(HealthCheck)),
    )
