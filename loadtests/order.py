"""Order, loss and duplication: many sessions over several replicas, whose processes are killed while clients misbehave.

Every document is translated whole first, while nothing is disturbed. Then each is sent as a session, sentence by
sentence, by a client that mixes REST and WebSocket. In the end each session must have its sentences in order, with the
answers of the quiet run, and what reached the workers must never have held another document's sentence.
"""

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from loadtests.arrivals import at_most
from loadtests.balancer import Balancer, http_client
from loadtests.conversation import PAIR, Conversation, answered
from loadtests.deployment import STAND_IN, Deployment, deployed
from loadtests.errors import LoadTestError
from loadtests.faults import Progress, plan_faults, strike_all
from loadtests.marked import Marked, marked_documents
from loadtests.report import Report, Value
from loadtests.rest_client import RestClient
from loadtests.stand_in import RECORD, make_bundle, read_record
from loadtests.stream_client import StreamClient
from loadtests.verdicts import (
    Answers,
    Ended,
    answers_agree,
    foreseen,
    isolated,
    states_agree,
    struck,
    translated_again,
    undisturbed,
)
from models.bundle.manifest import Manifest

_AT_ONCE = 16
"""Requests at a time where nothing is to be stressed."""
_LONGEST_STRETCH = 8
"""Sentences after which a client on a socket chooses anew between REST and WebSocket."""
_STREAMED = 0.2
"""How often a client chooses a socket; as a stretch has several sentences, that makes half of them."""
_MISCHIEF = 0.15
_SETTINGS = {"queue_limit": "4096", "session_lease_seconds": "1"}


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    sessions: int = 200
    sentences: int = 50
    replicas: int = 2
    redis_kills: int = 3
    replica_kills: int = 2
    reads_target_context: bool = False
    seed: int = 1


def run(plan: Plan, bundle: Path, on_answer: Callable[[], object]) -> Report:
    """Run it on a stand-in for a bundle; `on_answer` is called for each sentence of a session that has been answered.

    Raises:
        LoadTestError, BundleError: it cannot be run.
    """
    documents = marked_documents(_rng(plan.seed), plan.sessions, plan.sentences)
    with tempfile.TemporaryDirectory(prefix="antecedent-order-") as name:
        folder = Path(name)
        served = make_bundle(folder / "bundle", bundle, reads_target_context=plan.reads_target_context)
        settings, record = {"bundles": str(served), **_SETTINGS}, folder / "record.jsonl"
        environment = {RECORD: str(record)}
        with deployed(folder, plan.replicas, module=STAND_IN, settings=settings, environment=environment) as deployment:
            disturbed = _Run(plan, deployment, documents, on_answer)
            asyncio.run(disturbed.run())
            unforeseen = deployment.unforeseen()
        recorded = read_record(record)
    quiet, sessions = disturbed.quiet, disturbed.sessions
    figures = disturbed.figures | {"translated again": translated_again(recorded, documents)}
    checks = [
        struck(disturbed.kills, plan.redis_kills + plan.replica_kills),
        undisturbed(sessions),
        answers_agree(sessions, quiet),
        states_agree(sessions, documents, quiet),
        isolated(recorded, documents, Manifest.load(bundle).window.size),
        foreseen(unforeseen),
    ]
    return Report("order", asdict(plan), figures, checks)


class _Run:
    """The documents of a run: first in quiet, then as sessions under faults."""

    def __init__(self, plan: Plan, deployment: Deployment, documents: Marked, on_answer: Callable[[], object]) -> None:
        self._plan = plan
        self._deployment = deployment
        self._documents = documents
        self._on_answer = on_answer
        self._progress = Progress()
        self._counts: Counter[str] = Counter()
        self.quiet: Sequence[Answers] = []
        self.sessions: Sequence[Ended] = []
        self.figures: dict[str, Value] = {}
        self.kills = 0

    async def run(self) -> None:
        """Fill `quiet`, `sessions`, `figures` and `kills`."""
        async with http_client() as http:
            self.quiet = await at_most(_AT_ONCE, (self._document(http, document) for document in self._documents))
            self._counts.clear()
            began = time.monotonic()
            faults = asyncio.create_task(self._faults())
            held = await asyncio.gather(*(self._session(http, number) for number in range(self._plan.sessions)))
            self.figures = {"seconds": time.monotonic() - began, **dict(sorted(self._counts.items()))}
            self._progress.end()
            self.kills = await faults
            self.sessions = await at_most(_AT_ONCE, (self._ended(http, *one) for one in held))

    async def _faults(self) -> int:
        plan, total = self._plan, self._plan.sessions * self._plan.sentences
        rng = _rng(plan.seed)
        faults = plan_faults(rng, total, redis=plan.redis_kills, kills=plan.replica_kills, replicas=plan.replicas)
        return await strike_all(faults, self._deployment, self._progress)

    async def _document(self, http: httpx.AsyncClient, document: Sequence[str]) -> Answers:
        balancer = self._balancer(http, _rng(self._plan.seed))
        answer = await balancer.ask("POST", "/v1/documents", json=PAIR | {"sentences": document})
        if not answer.is_success:
            raise LoadTestError(f"a document was refused in quiet: {answer.status_code} {answer.json().get('code')}")
        return [answered(sentence) for sentence in answer.json()["sentences"]]

    async def _session(self, http: httpx.AsyncClient, number: int) -> tuple[Conversation, str | None]:
        rng = _rng(f"{self._plan.seed} {number}")
        balancer = self._balancer(http, rng)
        created = await balancer.ask("POST", "/v1/sessions", json=PAIR)
        conversation = Conversation(created.json()["session_id"], self._documents[number], self._answered)
        try:
            await _hold(conversation, balancer, rng)
        except LoadTestError as error:
            return conversation, str(error)
        return conversation, None

    async def _ended(self, http: httpx.AsyncClient, conversation: Conversation, violation: str | None) -> Ended:
        state = await self._balancer(http, _rng(self._plan.seed)).ask("GET", conversation.path)
        answers = [conversation.answers[position] for position in sorted(conversation.answers)]
        return Ended(answers, state.json(), violation)

    def _balancer(self, http: httpx.AsyncClient, rng: random.Random) -> Balancer:
        return Balancer(http, self._deployment.urls, rng, self._counts)

    def _answered(self) -> None:
        self._progress.add()
        self._on_answer()


async def _hold(conversation: Conversation, balancer: Balancer, rng: random.Random) -> None:
    """Send a document to its end, now over REST, now over a socket."""
    rest, stream = (
        RestClient(conversation, balancer, rng),
        StreamClient(conversation, balancer, rng, mischief=_MISCHIEF),
    )
    while (position := conversation.next_position) < len(conversation.document):
        if rng.random() < _STREAMED:
            await stream.say_until(min(position + rng.randint(1, _LONGEST_STRETCH), len(conversation.document)))
        else:
            await rng.choice(rest.moves)()


def _rng(seed: int | str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - to be the same again, not to be secret
