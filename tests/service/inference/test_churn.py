"""Everything at once: real workers with a real model are killed, and callers leave or run out of time."""

import asyncio
import os
import random
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, product
from pathlib import Path
from statistics import mean

import psutil
import pytest

from models.bundle.manifest import Manifest
from models.data.documents import Sentence
from models.engine.requests import Options, Strategy, Translation, TranslationRequest
from models.engine.runtime import Runtime
from service.deadline import moment_in, until
from service.errors import OwnDeadlineError
from service.inference.backlog import Budget, Turn
from service.inference.batcher import Batcher
from service.inference.pool import WorkerPool
from service.inference.wire import PRIORITIES
from service.inference.worker import Worker, WorkerCommand
from service.inference.worker_process import TRANSLATOR
from service.telemetry.metrics import Metrics
from tests.support.bundles import documents, make_bundle
from tests.support.lanes import queued

STRATEGIES: tuple[Strategy, ...] = ("direct", "sentence")
OPTIONS = [Options(strategy, beam_size) for strategy, beam_size in product(STRATEGIES, (1, 4))]
TOO_SHORT = 0.001
"""A deadline in seconds that no worker can meet."""
SAMPLE_SECONDS = 0.25

Asked = tuple[TranslationRequest, Options]


@dataclass(frozen=True)
class Plan:
    """The extent of a test."""

    requests: int
    seconds: float
    kill_seconds: float


@dataclass
class Churn:
    """Callers who come at a steady pace, and how their calls end."""

    batcher: Batcher[Worker]
    answers: dict[Asked, Translation]
    drawn: random.Random
    ends: dict[str, int] = field(default_factory=dict)
    wrong: list[Asked] = field(default_factory=list)

    async def run(self, plan: Plan) -> None:
        """Make all calls, and wait for all to end."""
        asked = list(self.answers)
        async with asyncio.TaskGroup() as callers:
            began = asyncio.get_running_loop().time()
            for number in range(plan.requests):
                callers.create_task(self._call(number, self.drawn.choice(asked)))
                ahead = began + number * plan.seconds / plan.requests - asyncio.get_running_loop().time()
                await asyncio.sleep(max(0.0, ahead))

    async def _call(self, number: int, asked: Asked) -> None:
        """Make one call; one in ten is cancelled while it waits or is translated, one in ten has too little time."""
        turn = Turn(f"flow {self.drawn.randrange(20)}", self.drawn.choice(PRIORITIES))
        deadline = moment_in(TOO_SHORT if number % 10 == 1 else None)
        future = self.batcher.enqueue(*asked, turn)
        if number % 10 == 0:
            asyncio.get_running_loop().call_later(self.drawn.uniform(0, 0.02), future.cancel)
        try:
            async with until(deadline):
                found = await future
        except asyncio.CancelledError:
            end = "cancelled"
        except OwnDeadlineError:
            end = "too late"
        else:
            end = "answered"
            if not self._right(asked, found):
                self.wrong.append(asked)
        self.ends[end] = self.ends.get(end, 0) + 1

    def _right(self, asked: Asked, found: Translation) -> bool:
        expected = self.answers[asked]
        same = (found.text, found.tokens, found.context_size) == (expected.text, expected.tokens, expected.context_size)
        return same and abs(found.score - expected.score) < 1e-3


async def kill(pool: WorkerPool, seconds: float, killed: list[int]) -> None:
    """Kill a worker now and then, in turn; only the last one is spared."""
    for slot in cycle(range(pool.size - 1)):
        await asyncio.sleep(seconds)
        victim = pool._workers[slot]
        if victim.alive:
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)


async def watch(pool: WorkerPool, samples: list[tuple[int, int]]) -> None:
    """Record the memory of this process, and of the worker that is never killed."""
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        samples.append((psutil.Process().memory_info().rss, pool._workers[pool.size - 1].memory()))


def answers(bundle: Path, seed: int) -> dict[Asked, Translation]:
    """Sentences of all lengths, with and without context, and the translation of each by itself."""
    drawn, runtime = random.Random(seed), Runtime.load(bundle, compute_type="float32")
    found: dict[Asked, Translation] = {}
    for document in documents(6):
        for place, sentence in enumerate(document.sentences):
            source = sentence.source * drawn.choice([1, 1, 1, 3])
            before = tuple(Sentence(each.source) for each in document.sentences[max(0, place - 2) : place])
            for options in OPTIONS:
                request = TranslationRequest(source, before)
                found[request, options] = runtime.translate([request], options)[0]
    return found


async def churned(bundle: Path, plan: Plan) -> tuple[Churn, list[int], Sequence[tuple[int, int]], Metrics]:
    """Run a plan on three workers; returns the calls, the killed workers, the memory samples and the metrics."""
    metrics = Metrics()
    command = WorkerCommand(bundle, Manifest.load(bundle).fingerprint, "cpu", "float32", 60.0, 60.0, TRANSLATOR)
    pool = WorkerPool(partial(Worker.start, command), 3, metrics)
    expected = answers(bundle, 1)
    await pool.open()
    batcher = Batcher(pool, Budget(1024, 16, 0.001), deadline=60.0, metrics=metrics)
    batcher.open()
    churn, killed, samples = Churn(batcher, expected, random.Random(2)), list[int](), list[tuple[int, int]]()
    beside = [asyncio.create_task(kill(pool, plan.kill_seconds, killed)), asyncio.create_task(watch(pool, samples))]
    await churn.run(plan)
    for task in beside:
        task.cancel()
    await batcher.drained()
    await batcher.close()
    await pool.close()
    return churn, killed, samples, metrics


def check(churn: Churn, plan: Plan) -> None:
    """Check that every call ended, and that no answer was wrong."""
    assert churn.wrong == []
    assert sum(churn.ends.values()) == plan.requests
    assert set(churn.ends) == {"answered", "cancelled", "too late"}
    assert churn.ends["answered"] >= 0.8 * plan.requests
    assert churn.ends["too late"] >= 0.05 * plan.requests
    assert queued(churn.batcher) == 0


@pytest.fixture(scope="module")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that translates in milliseconds."""
    return make_bundle(tmp_path_factory.mktemp("churn") / "tiny", quantization="float32")


async def test_everybody_is_answered_whatever_dies(tiny_bundle: Path) -> None:
    """Although workers are killed and callers leave or are too late, each of the others gets the right answer."""
    plan = Plan(requests=300, seconds=4.0, kill_seconds=2.5)
    churn, killed, _, metrics = await churned(tiny_bundle, plan)
    check(churn, plan)
    assert killed
    assert b"antecedent_sentences_running 0.0" in metrics.render()


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_twenty_thousand_requests_leave_nothing_behind(tiny_bundle: Path) -> None:
    """The same for minutes, with no growth in memory."""
    plan = Plan(requests=20_000, seconds=480.0, kill_seconds=30.0)
    churn, killed, samples, _ = await churned(tiny_bundle, plan)
    check(churn, plan)
    assert len(killed) >= 15
    assert len(samples) > 0.9 * plan.seconds / SAMPLE_SECONDS
    quarter = len(samples) // 4
    for held in zip(*samples, strict=True):  # this process, and a worker
        second, last = mean(held[quarter : 2 * quarter]), mean(held[-quarter:])
        print(churn.ends, len(killed), f"{second / 2**20:.1f} MiB, {last / 2**20:.1f} MiB, ratio {last / second:.4f}")
        assert abs(last / second - 1) < 0.03
