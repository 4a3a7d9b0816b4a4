"""Overload: what a replica does with three times as many requests as it can answer.

Its capacity is measured first, by clients that wait for their answers. Then requests come at random moments, whether
the service keeps up or not, and most of them must be refused: at once, so that a client can go elsewhere, and without
harm to what was admitted.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import httpx

from loadtests.arrivals import closed_loop, open_loop
from loadtests.balancer import http_client
from loadtests.conversation import PAIR
from loadtests.deployment import REAL, STAND_IN, deployed
from loadtests.report import Check, Report, Value, at_least, no_more, percentile
from loadtests.stand_in import SECONDS, make_bundle

REFUSAL_SECONDS = 0.050
"""A refusal takes no longer than this at the median."""
THROUGHPUT = 0.9
"""Of its capacity, a service under overload still does this."""
_WARM_SECONDS = 2.0
_LOST = 0
"""Instead of a status, where the connection broke."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run, and what it runs on."""

    seconds: float = 20.0
    """Of each of the two measurements."""
    excess: float = 3.0
    """Arrivals, as a multiple of the capacity."""
    sentences: int = 4
    """Of each request, a document."""
    clients: int = 16
    """That measure the capacity; together they fill less than the queue."""
    workers: int = 2
    queue_limit: int = 128
    """Sentences; few, so that the queue is full for most of a short run."""
    service_seconds: float | None = 0.02
    """That the stand-in takes for a sentence; None: the real runtime."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Answered:
    """A request, when it was answered, how long that took, and with which status."""

    at: float
    seconds: float
    status: int


def run(plan: Plan, bundle: Path, sentences: Sequence[str]) -> Report:
    """Measure a replica with documents made of `sentences`.

    Raises:
        LoadTestError, BundleError: it cannot be run.
    """
    rng = random.Random(plan.seed)  # noqa: S311 - to be the same again, not to be secret
    with tempfile.TemporaryDirectory(prefix="antecedent-overload-") as name:
        folder = Path(name)
        stand_in = plan.service_seconds is not None
        served = make_bundle(folder / "bundle", bundle) if stand_in else bundle
        settings = {"bundles": str(served), "workers": str(plan.workers), "queue_limit": str(plan.queue_limit)}
        environment = {SECONDS: str(plan.service_seconds)} if stand_in else {}
        module = STAND_IN if stand_in else REAL
        with deployed(folder, 1, module=module, settings=settings, environment=environment) as deployment:
            capacity, answers = asyncio.run(_measure(plan, deployment.urls[0], sentences, rng))
    return judge(plan, capacity, answers)


def judge(plan: Plan, capacity: float, answers: Sequence[Answered]) -> Report:
    """What the answers of an open loop say, given the capacity in requests a second; times count from its start."""
    refused = [answer.seconds for answer in answers if answer.status == httpx.codes.TOO_MANY_REQUESTS]
    served = [answer for answer in answers if answer.status == httpx.codes.OK]
    failed = len(answers) - len(refused) - len(served)
    # In the first half the queue fills; what is answered in the second half, while requests still come, is steady.
    rate = sum(plan.seconds / 2 <= answer.at < plan.seconds for answer in served) / (plan.seconds / 2)
    figures: dict[str, Value] = {
        "capacity, requests/s": capacity,
        "arrivals, requests/s": len(answers) / plan.seconds,
        "served": len(served),
        "refused with 429": len(refused),
        "failed": failed,
        "served, requests/s": rate,
        "ratio to the capacity": rate / capacity,
    }
    for percent in (50, 95, 99):
        if refused:
            figures[f"refusal, ms, {percent} %"] = 1000 * percentile(refused, percent)
        if served:
            figures[f"answer, ms, {percent} %"] = 1000 * percentile([answer.seconds for answer in served], percent)
    checks = [
        Check("the excess is refused", bool(refused), f"{len(refused)} of {len(answers)}"),
        Check("nothing that is admitted fails", not failed, f"{failed} of {len(answers)} failed"),
        at_least("served, as a part of the capacity", rate / capacity, THROUGHPUT),
    ]
    if refused:
        checks.append(no_more("median of a refusal, ms", 1000 * median(refused), 1000 * REFUSAL_SECONDS))
    return Report("overload", asdict(plan), figures, checks)


async def _measure(
    plan: Plan, url: str, sentences: Sequence[str], rng: random.Random
) -> tuple[float, Sequence[Answered]]:
    async with http_client() as http:

        async def send() -> Answered:
            body = PAIR | {"sentences": rng.sample(sentences, plan.sentences)}
            return await _send(http, f"{url}/v1/documents", body)

        await closed_loop(plan.clients, _WARM_SECONDS, send)
        began = time.monotonic()
        served = [
            answer for answer in await closed_loop(plan.clients, plan.seconds, send) if answer.status == httpx.codes.OK
        ]
        capacity = len(served) / (time.monotonic() - began)
        began = time.monotonic()
        answers = await open_loop(plan.excess * capacity, plan.seconds, send, rng)
    return capacity, [Answered(answer.at - began, answer.seconds, answer.status) for answer in answers]


async def _send(http: httpx.AsyncClient, url: str, body: Mapping[str, object]) -> Answered:
    began = time.monotonic()
    try:
        status = (await http.post(url, json=body)).status_code
    except httpx.TransportError:
        status = _LOST
    now = time.monotonic()
    return Answered(now, now - began, status)
