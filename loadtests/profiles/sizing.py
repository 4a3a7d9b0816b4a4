"""Figures for planning a deployment: memory per process, bytes in Redis per session, CPU time per sentence.

The model's part is measured with the bundle and one worker; everything else with a stand-in that takes no time, so that
the CPU time measured is that of the HTTP process and of Redis alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from statistics import mean

import httpx
import psutil
import redis
from websocket import create_connection

from loadtests.documents import Documents
from loadtests.report.report import Report, Value
from loadtests.scenario import Closed, Kind
from loadtests.stage.samples import steady_rate
from loadtests.stage.stage import Behaviour, Setting, Stage, staged
from loadtests.users.balancer import http_client

_AT_ONCE = 8
_KIB, _MIB = 1024, 1024**2
_BY_EVENTS, _LIVE = {Kind.EVENTS: 1.0}, {Kind.LIVE: 1.0}


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    seconds: float = 30.0
    """Length of each of the two measurements of speed."""
    sessions: int = 200
    sentences: int = 40
    """Sentences of each session: more than Redis keeps of one."""
    streams: int = 300
    seed: int = 1


def run(plan: Plan, setting: Setting, documents: Documents, on_progress: Callable[[float], object]) -> Report:
    """Measure all figures.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    with staged(replace(setting, workers=1), documents) as stage:
        found = _model(plan, stage, on_progress)
    stream_limit = {"stream_limit": str(plan.streams + 1)}
    quick = replace(setting, workers=1, stand_in_seconds=0.0, settings=stream_limit)
    with staged(quick, documents) as stage:
        found |= _service(plan, stage, on_progress)
        found |= _sessions(plan, stage)
    return Report("sizing", asdict(plan) | setting.conditions(), found, [])


def _model(plan: Plan, stage: Stage, on_progress: Callable[[float], object]) -> dict[str, Value]:
    """Measure how fast one worker is, and how much memory it takes."""
    ran = stage.run(
        Closed(clients=_AT_ONCE, seconds=plan.seconds), Behaviour(_BY_EVENTS, seed=plan.seed), on_progress=on_progress
    )
    (worker,) = stage.deployment.workers(0)
    characters = mean(len(sentence) for document in stage.documents for sentence in document)
    return {
        "sentences/s of a worker": steady_rate(ran.samples, ran.began, plan.seconds).sentences,
        "characters a sentence": characters,
        "MiB of a worker": worker.memory_info().rss / _MIB,
        "MiB of a worker, its own": worker.memory_full_info().uss / _MIB,
    }


def _service(plan: Plan, stage: Stage, on_progress: Callable[[float], object]) -> dict[str, Value]:
    """Measure what a sentence of a session costs the HTTP process and Redis."""
    (service,) = stage.deployment.services()
    with redis.Redis(port=stage.deployment.redis.port) as client:
        before = _spent(service, client)
        ran = stage.run(
            Closed(clients=_AT_ONCE, seconds=plan.seconds), Behaviour(_LIVE, seed=plan.seed), on_progress=on_progress
        )
        after, connections = _spent(service, client), client.info("clients")["connected_clients"] - 1
    sentences = sum(outcome.sentences for outcome in ran.outcomes)
    spent = {name: (after[name] - before[name]) / sentences for name in before}
    return {**spent, "connections of a replica to Redis": connections}


def _spent(service: psutil.Process, client: "redis.Redis") -> dict[str, float]:
    """Return what has been spent so far, under the names of the figures per sentence to be derived from it."""
    found, processes = client.info("everything"), service.cpu_times()
    return {
        "ms of CPU a sentence, HTTP process": 1000 * (processes.user + processes.system),
        "ms of CPU a sentence, Redis": 1000 * (found["used_cpu_user"] + found["used_cpu_sys"]),
        "Redis commands a sentence, those of scripts included": found["total_commands_processed"],
    }


def _sessions(plan: Plan, stage: Stage) -> dict[str, Value]:
    """Measure how much memory a session takes in Redis, and an open stream in the HTTP process."""
    sentences = [sentence for document in stage.documents for sentence in document]
    (service,), (url,) = stage.deployment.services(), stage.deployment.urls
    with (
        redis.Redis(port=stage.deployment.redis.port) as client,
        http_client() as http,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        empty = client.info("memory")["used_memory"]

        def hold(number: int) -> str:
            said = [sentences[(number * 7 + position) % len(sentences)] for position in range(plan.sentences)]
            return _hold(http, url, stage.pair, said)

        paths = list(pool.map(hold, range(plan.sessions)))
        full = client.info("memory")["used_memory"]
    before = service.memory_info().rss
    with _streams(url, [paths[number % len(paths)] for number in range(plan.streams)]):
        after = service.memory_info().rss
    return {
        "KiB of a session in Redis": (full - empty) / plan.sessions / _KIB,
        "MiB of the HTTP process": before / _MIB,
        "KiB of an open stream in the HTTP process": (after - before) / plan.streams / _KIB,
    }


def _hold(http: httpx.Client, url: str, pair: Mapping[str, str], sentences: Sequence[str]) -> str:
    """Begin a session and send some sentences; return its path."""
    created = http.post(f"{url}/v1/sessions", json=pair)
    created.raise_for_status()
    path = f"/v1/sessions/{created.json()['session_id']}"
    for position, sentence in enumerate(sentences):
        http.post(f"{url}{path}/sentences", json={"text": sentence, "position": position}).raise_for_status()
    return path


@contextmanager
def _streams(url: str, paths: Sequence[str]) -> Iterator[None]:
    """Keep an idle stream open on each of these sessions."""
    with ExitStack() as stack:
        for path in paths:
            socket = stack.enter_context(closing(create_connection(f"{url.replace('http', 'ws', 1)}{path}/stream")))
            socket.recv()
        yield
