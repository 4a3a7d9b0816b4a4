"""Order, loss and duplication: many sessions on several replicas, whose processes are killed while clients misbehave.

First every document is translated whole, undisturbed. Then each is sent as a session, sentence by sentence, by a client
that mixes REST and WebSocket. In the end each session must hold its sentences in order, with the answers of the quiet
run, and no worker may ever have been sent a sentence together with one of another document.
"""

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from loadtests.documents import Documents
from loadtests.outcomes import Outcome
from loadtests.profiles.marked import marked_documents, misplaced
from loadtests.report.plots import all_plots
from loadtests.report.report import Check, Report
from loadtests.report.verdicts import OUTAGE, Budget, figures, judge, struck
from loadtests.scenario import Kind, Once
from loadtests.stage.faults import evenly, kills
from loadtests.stage.processes import PATIENCE_SECONDS
from loadtests.stage.stage import Behaviour, Setting, staged
from loadtests.stage.stand_in import RECORD, Recorded, read_record
from models.bundle.manifest import Manifest
from models.config import ContextWindow

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
    service_seconds: float = 0.0
    """Time that the stand-in takes for a sentence; with none, a small run is over before the last fault strikes."""
    seed: int = 1


def run(plan: Plan, bundle: Path, on_progress: Callable[[float], object]) -> Report:
    """Run the load test on a stand-in for a bundle.

    Raises:
        LoadTestError, BundleError: it cannot be run.
    """
    rng = random.Random(plan.seed)  # noqa: S311 - to be the same again, not to be secret
    documents = marked_documents(rng, plan.sessions, plan.sentences)
    killed = [rng.randrange(plan.replicas) for _ in range(plan.replica_kills)]
    timeline = evenly(kills(rng, redis=plan.redis_kills, replicas=killed))
    with tempfile.TemporaryDirectory(prefix="antecedent-order-") as name:
        record = Path(name) / "record.jsonl"
        setting = Setting(
            bundle,
            replicas=plan.replicas,
            workers=1,
            stand_in_seconds=plan.service_seconds,
            settings=_SETTINGS,
            environment={RECORD: str(record)},
            appendfsync="always",
            reads_target_context=plan.reads_target_context,
        )
        with staged(setting, documents) as stage:
            total = plan.sessions * plan.sentences
            ran = stage.run(
                Once(),
                Behaviour({Kind.LIVE: 1.0}, patience_seconds=PATIENCE_SECONDS, mischief=_MISCHIEF, seed=plan.seed),
                progress=lambda outcomes, _: answered(outcomes) / total,
                timeline=timeline,
                on_progress=on_progress,
            )
        recorded = read_record(record)
    checks = [
        *struck(ran.struck, len(timeline)),
        *judge(ran, Budget(explained=OUTAGE)),
        everything(answered(ran.outcomes), total),
        isolated(recorded, documents, Manifest.load(bundle).window),
    ]
    again = {"translated again": translated_again(recorded, documents)}
    return Report("order", asdict(plan), figures(ran) | again, checks, all_plots(ran))


def answered(outcomes: Sequence[Outcome]) -> int:
    """Count the sentences of sessions that were answered."""
    return sum(outcome.sentences for outcome in outcomes)


def everything(found: int, total: int) -> Check:
    """Check that every sentence was answered, once."""
    return Check("every sentence is answered", found == total, f"{found} of {total}")


def isolated(record: Sequence[Recorded], documents: Documents, window: ContextWindow) -> Check:
    """Check that each request reached its worker with its own document's context, and with all of it."""
    wrong = misplaced(documents, record, window)
    found = "; ".join([f"{len(wrong)} of {len(record)} are not", *wrong[:3]])
    return Check("each request reached its worker with its own document's context", not wrong, found)


def translated_again(record: Sequence[Recorded], documents: Documents) -> int:
    """Count translations beyond the two that each sentence needs: in the quiet run and in its session."""
    return len(record) - 2 * sum(map(len, documents))
