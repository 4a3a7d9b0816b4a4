"""A service, documents with the answers of a quiet run, and users who bring them: what every profile builds on."""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import redis

from loadtests.documents import Documents
from loadtests.errors import LoadTestError
from loadtests.outcomes import Outcome, Outcomes
from loadtests.scenario import Closed, Expected, Kind, Once, Open, Scenario
from loadtests.stage.deployment import REAL, STAND_IN, Deployment, End, deployed
from loadtests.stage.faults import Struck, Timeline, strike_all
from loadtests.stage.processes import PATIENCE_SECONDS, ROOT
from loadtests.stage.samples import Sample, Sampler
from loadtests.stage.stand_in import SECONDS, make_bundle
from loadtests.users.balancer import Balancer, http_client
from loadtests.users.conversation import pair_of

_AT_ONCE = 8
"""Documents at a time in the quiet run."""
_POLL_SECONDS = 0.1
_STUCK_SECONDS = 600.0
"""Time without any outcome after which a run counts as stuck: a client waits only a tenth of it for an answer."""
ALL_KINDS: Mapping[Kind, float] = {Kind.LIVE: 0.5, Kind.DOCUMENT: 0.3, Kind.EVENTS: 0.2}
"""The part of all sentences that each kind of user brings by default."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is put under load."""

    bundle: Path
    replicas: int = 1
    workers: int = 2
    """Workers of each replica."""
    stand_in_seconds: float | None = None
    """Time that a stand-in takes for a sentence; None: use the bundle itself."""
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    appendfsync: str = "everysec"
    own_clocks: bool = False
    reads_target_context: bool = False
    """Whether the stand-in reads translations as context."""

    def conditions(self) -> dict[str, str | int | float | None]:
        """Return what a report says of the setting."""
        return {
            "bundle": self.bundle.name,
            "replicas": self.replicas,
            "workers of each": self.workers,
            "stand-in, seconds a sentence": self.stand_in_seconds,
            "CPU cores": os.cpu_count(),
        }


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How users behave: see `Scenario`."""

    shares: Mapping[Kind, float] = field(default_factory=lambda: dict(ALL_KINDS))
    patience_seconds: float = 0.0
    mischief: float = 0.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of the users."""

    began: float
    ended: float
    outcomes: Sequence[Outcome]
    samples: Sequence[Sample] = ()
    struck: Sequence[Struck] = ()
    ends: Sequence[End] = ()
    """How the replicas that were told to end did so."""
    sessions_left: int | None = 0
    """Sessions in Redis after all users had left; None if it did not answer."""
    unforeseen: Sequence[str] = ()
    """Unforeseen errors in the logs."""
    workers_died: int = 0
    """Workers that ended without being told to, including those that were killed."""
    workers_killed: int = 0


Progress = Callable[[Sequence[Outcome], float], float]
"""Computes which part of a run is over, from its outcomes and the seconds that it has lasted."""


class Stage:
    """A deployed service and its documents, made by `staged`; `run`, any number of times, lets users come."""

    def __init__(self, deployment: Deployment, pair: dict[str, str], documents: Documents, folder: Path) -> None:
        self.deployment = deployment
        self.pair = pair
        """The members of a request that name its languages."""
        self.documents = documents
        self._folder = folder
        self._runs = 0
        self._expected = _quiet(deployment.urls, pair, documents)

    def run(
        self,
        load: Open | Closed | Once,
        behaviour: Behaviour,
        *,
        progress: Progress | None = None,
        timeline: Timeline = (),
        sample_seconds: float = 1.0,
        on_progress: Callable[[float], object] = lambda _: None,
    ) -> Ran:
        """Let users come, and faults strike meanwhile; `progress` is by default the part of the time that is over.

        Raises:
            LoadTestError: Locust does not finish, or nothing happens to any user for ten minutes.
        """
        self._runs += 1
        file = self._folder / f"run-{self._runs}"
        scenario = self._scenario(load, behaviour, file.with_suffix(".jsonl"))
        file.with_suffix(".json").write_text(scenario.model_dump_json())
        outcomes, sampler = Outcomes(scenario.outcomes), Sampler(self.deployment, sample_seconds)
        watch = _Watch(progress or _by_time(load), outcomes)

        def look() -> None:
            sampler.tick()
            on_progress(watch.look())

        with closing(sampler), ThreadPoolExecutor(1) as pool:
            striking = pool.submit(strike_all, timeline, self.deployment, watch.part)
            try:
                _run_locust(file.with_suffix(".json"), file.with_suffix(".log"), look)
                ended = time.monotonic()
            finally:
                watch.over = True
        return self._ran(watch.began, ended, outcomes.read(), sampler.samples, striking.result())

    def _ran(
        self,
        began: float,
        ended: float,
        outcomes: Sequence[Outcome],
        samples: Sequence[Sample],
        struck: Sequence[Struck],
    ) -> Ran:
        """Return what came of a run, including the state in which it left the deployment."""
        return Ran(
            began=min((outcome.at for outcome in outcomes), default=began),
            ended=ended,
            outcomes=outcomes,
            samples=samples,
            struck=struck,
            ends=tuple(self.deployment.ends),
            sessions_left=self._sessions(),
            unforeseen=self.deployment.unforeseen(),
            workers_died=self.deployment.workers_died(),
            workers_killed=self.deployment.workers_killed,
        )

    def _scenario(self, load: Open | Closed | Once, behaviour: Behaviour, outcomes: Path) -> Scenario:
        return Scenario(
            urls=tuple(self.deployment.urls),
            pair=self.pair,
            documents=self.documents,
            expected=self._expected,
            load=load,
            shares=dict(behaviour.shares),
            patience_seconds=behaviour.patience_seconds,
            mischief=behaviour.mischief,
            seed=behaviour.seed,
            outcomes=outcomes,
        )

    def _sessions(self) -> int | None:
        with redis.Redis(port=self.deployment.redis.port) as client, suppress(redis.RedisError):
            return sum(1 for _ in client.scan_iter("antecedent:{*}:session", count=1000))
        return None


class _Watch:
    """How far a run has got, readable from other threads."""

    def __init__(self, progress: Progress, outcomes: Outcomes) -> None:
        self._progress = progress
        self._outcomes = outcomes
        self._part = 0.0
        self.began = self._changed = time.monotonic()
        self._count = 0
        self.over = False

    def look(self) -> float:
        """Look how far the run has got.

        Raises:
            LoadTestError: nothing has happened for _STUCK_SECONDS.
        """
        found = self._outcomes.read()
        if len(found) > self._count:
            self._count, self._changed = len(found), time.monotonic()
        elif time.monotonic() > self._changed + _STUCK_SECONDS:
            raise LoadTestError(f"nothing has happened to any user for {_STUCK_SECONDS:.0f} seconds")
        if found:
            self._part = self._progress(found, time.monotonic() - found[0].at)
        return self._part

    def part(self) -> float | None:
        """Return the part that was over at the last look; None once the run has ended."""
        return None if self.over else self._part


@contextmanager
def staged(setting: Setting, documents: Documents) -> Iterator[Stage]:
    """Start the service of a setting, and have the documents translated undisturbed; end everything afterwards.

    Raises:
        LoadTestError, BundleError: the service does not start, or a document is refused.
    """
    with tempfile.TemporaryDirectory(prefix="antecedent-load-") as name:
        folder = Path(name)
        bundle, environment, pair = setting.bundle, dict(setting.environment), pair_of(setting.bundle)
        if setting.stand_in_seconds is not None:
            bundle = make_bundle(folder / "bundle", bundle, reads_target_context=setting.reads_target_context)
            environment |= {SECONDS: str(setting.stand_in_seconds)}
        settings = {"bundles": str(bundle), "workers": str(setting.workers), **setting.settings}
        with deployed(
            folder,
            setting.replicas,
            module=REAL if setting.stand_in_seconds is None else STAND_IN,
            settings=settings,
            environment=environment,
            appendfsync=setting.appendfsync,
            own_clocks=setting.own_clocks,
        ) as deployment:
            yield Stage(deployment, pair, documents, folder)


def _run_locust(scenario: Path, log: Path, meanwhile: Callable[[], None]) -> None:
    """Run Locust in a process of its own until it ends; `meanwhile` is called again and again.

    Raises:
        LoadTestError: Locust has given up.
    """
    arguments = ["--headless", "--users", str(len(Kind)), "--spawn-rate", "100", "--only-summary"]
    command = [sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests" / "locustfile.py"), *arguments]
    command += ["--loglevel", "WARNING", "--exit-code-on-error", "0", "--scenario", str(scenario)]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        while process.poll() is None:
            meanwhile()
            time.sleep(_POLL_SECONDS)
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise LoadTestError(f"Locust has given up: {log.read_text()[-2000:].strip()}")


def _quiet(urls: Sequence[str], pair: Mapping[str, str], documents: Documents) -> tuple[Expected, ...]:
    with http_client() as http, ThreadPoolExecutor(_AT_ONCE) as pool:
        balancer = Balancer(http, urls, random.Random(1), PATIENCE_SECONDS)  # noqa: S311 - any replica will do

        def translate(document: Sequence[str]) -> Expected:
            answer = balancer.ask("POST", "/v1/documents", json={**pair, "sentences": document})
            if not answer.is_success:
                raise LoadTestError(f"a document was refused in quiet: {answer.status_code} {answer.text}")
            return tuple((said["translation"], said["context_size"]) for said in answer.json()["sentences"])

        return tuple(pool.map(translate, documents))


def _by_time(load: Open | Closed | Once) -> Progress:
    seconds = PATIENCE_SECONDS if isinstance(load, Once) else load.seconds
    return lambda _, elapsed: elapsed / seconds
