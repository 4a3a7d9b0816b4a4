"""What the service costs: sentences per second and time per sentence, compared with the runtime called directly.

Both take turns on the same documents within one run, with the same number of worker processes and the same batch
budget, so that a machine that becomes slower does so for both. A figure is the median of its rounds, and only ratios
within a run are meaningful. At low load, one sentence at a time is sent, alternately to a runtime and over HTTP.
"""

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import httpx

from loadtests.errors import LoadTestError
from loadtests.profiles.direct import Budget, DirectWorker, DirectWorkers, batches_of, direct_workers
from loadtests.report.report import Check, Report, Value, at_least, no_more, percentile
from loadtests.stage.deployment import REAL, deployed
from loadtests.users.balancer import http_client
from loadtests.users.conversation import pair_of
from models.bundle.manifest import Manifest
from models.config import ContextWindow
from models.data.documents import Document, Sentence, windows
from models.engine.requests import TranslationRequest
from models.text.words import has_words
from service.segmentation.splitting import parts

THROUGHPUT = 0.9
"""The part of the direct runtime's throughput that whole documents must reach over HTTP."""
ADDED_MS = 10.0
"""The most milliseconds that HTTP may add to the median at low load."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    rounds: int = 5
    """Rounds that count."""
    documents: int = 8
    """Documents of each round; over HTTP, they are sent at the same time."""
    sentences: int = 40
    """Sentences of each document."""
    single: int = 100
    """Sentences that are sent one at a time."""
    workers: int = 2
    device: str = "cpu"
    """Where the service and the runtime compute."""
    budget: Budget = field(default_factory=Budget)
    seed: int = 1
    uncounted: int = 1
    """Rounds before those that count: in these, a GPU captures the graphs that it replays later."""


@dataclass(slots=True)
class Measured:
    """Seconds taken by each round with all its documents, and by each single sentence."""

    direct_rounds: list[float] = field(default_factory=list)
    http_rounds: list[float] = field(default_factory=list)
    direct_singles: list[float] = field(default_factory=list)
    http_singles: list[float] = field(default_factory=list)
    different: int = 0
    """Sentences that the service translated differently from the runtime."""


def run(plan: Plan, bundle: Path, sentences: Sequence[str], on_step: Callable[[], object]) -> Report:
    """Measure with documents made of `sentences`; `on_step` is called after each round and each single sentence.

    Lines of several sentences are left out: the runtime takes them as they are, the service one sentence at a time. So
    are lines without a word, which the service does not have translated.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    budget, window, pair = plan.budget, _window_of(bundle), pair_of(bundle)
    single = single_sentences(sentences, pair["source_lang"])
    settings = {
        "bundles": str(bundle),
        "workers": str(plan.workers),
        "device": plan.device,
        "batch_characters": str(budget.characters),
        "batch_sentences": str(budget.sentences),
        "queue_limit": str(plan.documents * plan.sentences),  # room for all at once, so that none is refused
    }
    measured = Measured()
    with (
        tempfile.TemporaryDirectory(prefix="antecedent-throughput-") as name,
        http_client() as http,
        ThreadPoolExecutor(plan.documents) as pool,  # threads end once the service that they wait for has
        direct_workers(plan.workers, bundle, plan.device) as direct,
        deployed(Path(name), 1, module=REAL, settings=settings) as deployment,
    ):
        rng = random.Random(plan.seed)  # noqa: S311 - to be the same again, not to be secret
        meter = _Meter(plan, window, deployment.urls[0], pair, http, pool, measured)
        for number in range(plan.uncounted + plan.rounds):
            documents = [rng.choices(single, k=plan.sentences) for _ in range(plan.documents)]
            meter.round(direct, documents, counted=number >= plan.uncounted)
            on_step()
        for number in range(plan.single):
            meter.single(direct.workers[0], rng.choices(single, k=window.size + 1), counted=number > 0)
            on_step()
    return judge(plan, measured)


def _window_of(bundle: Path) -> ContextWindow:
    """Return the window of context that a model reads.

    Raises:
        LoadTestError: the model reads translations as well.
    """
    manifest = Manifest.load(bundle)
    if manifest.reads_target_context:
        raise LoadTestError(f"{bundle} reads its translations, which the runtime by itself is not given: name another")
    return manifest.window


def single_sentences(lines: Sequence[str], language: str) -> Sequence[str]:
    """Return the lines that are a single sentence, with a word to translate.

    Raises:
        LoadTestError: there is none.
    """
    single = [line for line in lines if has_words(line) and not parts(line, language)]
    if not single:
        raise LoadTestError(
            "each line is several sentences, which the service translates one by one, or has no word: give others"
        )
    return single


def judge(plan: Plan, measured: Measured) -> Report:
    """Compute the figures and verdicts from the times."""
    count = plan.documents * plan.sentences
    direct, http = count / median(measured.direct_rounds), count / median(measured.http_rounds)
    added = 1000 * (median(measured.http_singles) - median(measured.direct_singles))
    figures: dict[str, Value] = {
        "direct, sentences/s": direct,
        "HTTP, sentences/s": http,
        "HTTP / direct": http / direct,
        "HTTP / direct, slowest round": min(_ratios(measured)),
        "HTTP / direct, fastest round": max(_ratios(measured)),
        "direct, ms a sentence": 1000 * median(measured.direct_singles),
        "HTTP, ms a sentence": 1000 * median(measured.http_singles),
        "direct, ms a sentence, 95 %": 1000 * percentile(measured.direct_singles, 95),
        "HTTP, ms a sentence, 95 %": 1000 * percentile(measured.http_singles, 95),
    }
    checks = [
        at_least("throughput over HTTP, as a part of the runtime's", http / direct, THROUGHPUT),
        no_more("what HTTP adds at low load, ms at the median", added, ADDED_MS),
        Check("the service translates as the runtime does", not measured.different, f"{measured.different} differ"),
    ]
    return Report("throughput", asdict(plan) | {"budget": str(plan.budget)}, figures, checks)


class _Meter:
    """Has the same sentences translated both ways, and records the times."""

    def __init__(
        self,
        plan: Plan,
        window: ContextWindow,
        url: str,
        pair: Mapping[str, str],
        http: httpx.Client,
        pool: ThreadPoolExecutor,
        measured: Measured,
    ) -> None:
        self._budget = plan.budget
        self._window = window
        self._url = f"{url}/v1/documents"
        self._pair = pair
        self._http = http
        self._pool = pool
        self._measured = measured

    def round(self, direct: DirectWorkers, documents: Sequence[Sequence[str]], *, counted: bool) -> None:
        """Translate whole documents both ways, all at once."""
        requests = [request for document in documents for request in _requests(document, self._window)]
        began = time.perf_counter()
        expected = [done.text for done in direct.translate(batches_of(requests, self._budget))]
        between = time.perf_counter()
        answers = self._together(documents)
        ended = time.perf_counter()
        self._compare(expected, [text for answer in answers for text in answer])
        if counted:
            self._measured.direct_rounds.append(between - began)
            self._measured.http_rounds.append(ended - between)

    def single(self, worker: DirectWorker, sentences: Sequence[str], *, counted: bool) -> None:
        """Translate the last of some sentences both ways, with the others as context."""
        *context, sentence = sentences
        (expected,), direct_seconds = worker.translate([TranslationRequest(sentence, tuple(map(Sentence, context)))])
        began = time.perf_counter()
        answer = self._translate([sentence], context)
        http_seconds = time.perf_counter() - began
        self._compare([expected.text], answer)
        if counted:
            self._measured.direct_singles.append(direct_seconds)
            self._measured.http_singles.append(http_seconds)

    def _together(self, documents: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        return list(self._pool.map(lambda document: self._translate(document, ()), documents))

    def _translate(self, sentences: Sequence[str], context: Sequence[str]) -> Sequence[str]:
        answer = self._http.post(self._url, json={**self._pair, "sentences": sentences, "context": context})
        if answer.status_code != httpx.codes.OK:
            raise LoadTestError(f"a document was refused: {answer.status_code} {answer.json().get('code')}")
        return [sentence["translation"] for sentence in answer.json()["sentences"]]

    def _compare(self, expected: Sequence[str], given: Sequence[str]) -> None:
        self._measured.different += sum(one != other for one, other in zip(expected, given, strict=True))


def _requests(document: Sequence[str], window: ContextWindow) -> list[TranslationRequest]:
    """Return a document's sentences with the context that the service gives them."""
    return [
        TranslationRequest(each.current.source, each.preceding, each.following)
        for each in windows(Document(tuple(map(Sentence, document))), window)
    ]


def _ratios(measured: Measured) -> list[float]:
    return [direct / http for direct, http in zip(measured.direct_rounds, measured.http_rounds, strict=True)]
