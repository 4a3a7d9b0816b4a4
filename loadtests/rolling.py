"""Rolling restart: replica after replica is told to end and started again, while clients go on.

Clients do what any client should: ask another replica where one is gone, wait as long as Retry-After says, open a
socket again where one was closed, and repeat only what may be repeated. Then nothing that they ask for may fail.
"""

import asyncio
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from loadtests.balancer import Balancer, http_client
from loadtests.conversation import PAIR, Conversation, ViolationError
from loadtests.deployment import STAND_IN, Deployment, deployed
from loadtests.errors import LoadTestError
from loadtests.report import Check, Report
from loadtests.rest_client import RestClient
from loadtests.stand_in import SECONDS, make_bundle
from loadtests.stream_client import StreamClient

_SENTENCES = 10
"""Of each document and each session."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    replicas: int = 3
    rounds: int = 2
    """How often each replica is restarted."""
    clients: int = 8
    """Of each kind: whole documents, sessions over REST, sessions over WebSocket."""
    pause_seconds: float = 1.0
    """Between one restart and the next."""
    service_seconds: float = 0.005
    """That the stand-in takes for a sentence."""
    seed: int = 1


def run(plan: Plan, bundle: Path, sentences: Sequence[str], on_restart: Callable[[], object]) -> Report:
    """Run it on a stand-in for a bundle, with documents made of `sentences`; `on_restart` is called after each restart.

    Raises:
        LoadTestError, BundleError: it cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="antecedent-rolling-") as name:
        folder = Path(name)
        settings = {"bundles": str(make_bundle(folder / "bundle", bundle))}
        environment = {SECONDS: str(plan.service_seconds)}
        with deployed(folder, plan.replicas, module=STAND_IN, settings=settings, environment=environment) as deployment:
            traffic = _Traffic(plan, deployment.urls, sentences)
            began = time.monotonic()
            statuses = asyncio.run(_roll(plan, deployment, traffic, on_restart))
            seconds = time.monotonic() - began
    figures = {"seconds": seconds, "restarts": len(statuses), **dict(sorted(traffic.counts.items()))}
    failed = traffic.failures
    ended = Check("every replica ended with status 0", not any(statuses), str(statuses))
    checks = [Check("no request failed", not failed, "; ".join([f"{len(failed)} failed", *failed[:3]])), ended]
    return Report("rolling", asdict(plan), figures, checks)


async def _roll(
    plan: Plan, deployment: Deployment, traffic: "_Traffic", on_restart: Callable[[], object]
) -> Sequence[int]:
    """Restart every replica in turn, under traffic; gives the exit statuses."""
    statuses = []
    async with http_client() as http:
        running = asyncio.create_task(traffic.run(http))
        for number in [*range(plan.replicas)] * plan.rounds:
            await asyncio.sleep(plan.pause_seconds)
            statuses.append(await asyncio.to_thread(deployment.restart, number, signal.SIGTERM))
            on_restart()
        traffic.ending = True
        await running
    return statuses


class _Traffic:
    """Clients that go on until `ending`; what failed, and what was counted."""

    def __init__(self, plan: Plan, urls: Sequence[str], sentences: Sequence[str]) -> None:
        self._plan = plan
        self._urls = urls
        self._sentences = sentences
        self.ending = False
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    async def run(self, http: httpx.AsyncClient) -> None:
        """Let every client go on until the end."""
        kinds = (self._document, self._session_by_rest, self._session_by_stream)
        await asyncio.gather(
            *(self._client(http, kind, number) for kind in kinds for number in range(self._plan.clients))
        )

    async def _client(
        self, http: httpx.AsyncClient, work: Callable[[Balancer, random.Random], Awaitable[None]], number: int
    ) -> None:
        rng = random.Random(f"{self._plan.seed} {number}")  # noqa: S311 - to be the same again, not to be secret
        balancer = Balancer(http, self._urls, rng, self.counts)
        while not self.ending:
            try:
                await work(balancer, rng)
            except LoadTestError as error:
                self.failures.append(str(error))

    async def _document(self, balancer: Balancer, rng: random.Random) -> None:
        body = PAIR | {"sentences": rng.sample(self._sentences, _SENTENCES)}
        _expect(httpx.codes.OK, await balancer.ask("POST", "/v1/documents", json=body))
        self.counts["documents"] += 1

    async def _session_by_rest(self, balancer: Balancer, rng: random.Random) -> None:
        conversation = await self._begin(balancer, rng)
        client = RestClient(conversation, balancer, rng)
        while conversation.next_position < _SENTENCES:
            await client.in_turn()
        await self._end(balancer, conversation)

    async def _session_by_stream(self, balancer: Balancer, rng: random.Random) -> None:
        conversation = await self._begin(balancer, rng)
        await StreamClient(conversation, balancer, rng, mischief=0).say_until(_SENTENCES)
        await self._end(balancer, conversation)

    async def _begin(self, balancer: Balancer, rng: random.Random) -> Conversation:
        created = _expect(httpx.codes.CREATED, await balancer.ask("POST", "/v1/sessions", json=PAIR))
        document = rng.sample(self._sentences, _SENTENCES)
        return Conversation(
            created.json()["session_id"], document, lambda: self.counts.update(["sentences of sessions"])
        )

    async def _end(self, balancer: Balancer, conversation: Conversation) -> None:
        state = _expect(httpx.codes.OK, await balancer.ask("GET", conversation.path)).json()
        if [sentence["source"] for sentence in state["sentences"]] != list(conversation.document):
            raise ViolationError("a session does not hold its sentences")
        self.counts["sessions"] += 1


def _expect(status: int, answer: httpx.Response) -> httpx.Response:
    if answer.status_code != status:
        raise ViolationError(f"{answer.request.method} was refused: {answer.status_code} {answer.json().get('code')}")
    return answer
