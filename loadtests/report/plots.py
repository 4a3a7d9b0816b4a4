"""Outcomes and samples as the curves of a report's pictures. Knows nothing of how they are drawn."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from loadtests.outcomes import Outcome, Result
from loadtests.report.report import Plot, Span, percentile
from loadtests.report.verdicts import MEASURED, PERCENTILES
from loadtests.scenario import Kind
from loadtests.stage.stage import Ran
from loadtests.users.documents import FIRST_EVENT

_POINTS = 60
_NAMES = {
    Kind.LIVE: "a spoken sentence",
    FIRST_EVENT: "the first sentence by events",
    Kind.EVENTS: "a document by events",
    Kind.DOCUMENT: "a whole document",
}
_MIB = 1024**2


def all_plots(ran: Ran) -> list[Plot]:
    """Return plots of everything that is known of a run over its time."""
    return [rates(ran), *latencies(ran), memory(ran), descriptors(ran)]


def rates(ran: Ran) -> Plot:
    """Plot what was translated, repeated, refused and failed, each second."""
    counted: dict[str, Callable[[Outcome], int]] = {
        "sentences translated": lambda outcome: outcome.sentences,
        "repeated": lambda outcome: outcome.result is Result.REPEATED,
        "refused": lambda outcome: outcome.result is Result.REFUSED,
        "failed or wrong": lambda outcome: outcome.result in {Result.FAILED, Result.WRONG},
    }
    width = _width(ran)
    lines = {}
    for name, count in counted.items():
        buckets = _buckets(ran, ran.outcomes, lambda outcome: outcome.at)
        line = [(middle, sum(map(count, found)) / width) for middle, found in buckets.items()]
        if any(value for _, value in line):
            lines[name] = line
    return Plot("Rates", "seconds", "a second", lines, spans=_spans(ran))


def latencies(ran: Ran) -> list[Plot]:
    """Plot the times of each kind of request, by the moment at which it was due."""
    return [plot for what in MEASURED if (plot := _latency(ran, what)).lines]


def memory(ran: Ran) -> Plot:
    """Plot the memory of all processes and of the data in Redis."""
    kept: Mapping[str, Iterable[tuple[float, float | None]]] = {
        "HTTP processes": ((sample.at, sample.service_bytes) for sample in ran.samples),
        "workers": ((sample.at, sample.worker_bytes) for sample in ran.samples),
        "data in Redis": ((sample.at, sample.redis_bytes) for sample in ran.samples),
    }
    lines = {
        name: [(at - ran.began, value / _MIB) for at, value in line if value is not None] for name, line in kept.items()
    }
    return Plot("Memory", "seconds", "MiB", lines, spans=_spans(ran))


def descriptors(ran: Ran) -> Plot:
    """Plot the file descriptors open in all processes of the service."""
    line = [(sample.at - ran.began, float(sample.descriptors)) for sample in ran.samples]
    return Plot("File descriptors", "seconds", "open", {"service and workers": line}, spans=_spans(ran))


def _latency(ran: Ran, what: str) -> Plot:
    answered = [outcome for outcome in ran.outcomes if outcome.what == what and outcome.result is Result.ANSWERED]
    buckets = _buckets(ran, answered, lambda outcome: outcome.due)
    lines = {
        f"{percent} %": [
            (middle, 1000 * percentile([outcome.seconds for outcome in found], percent))
            for middle, found in buckets.items()
            if found
        ]
        for percent in PERCENTILES
    }
    shown = {name: line for name, line in lines.items() if line}
    return Plot(
        f"Time of {_NAMES[what]}", "second at which it was due", "ms", shown, spans=_spans(ran), logarithmic=True
    )


def _width(ran: Ran) -> float:
    return max(1.0, (ran.ended - ran.began) / _POINTS)


def _buckets(
    ran: Ran, outcomes: Sequence[Outcome], moment: Callable[[Outcome], float]
) -> Mapping[float, list[Outcome]]:
    """Group outcomes into stretches of equal length; the keys are their middles, in seconds from the beginning."""
    width = _width(ran)
    count = int((ran.ended - ran.began) / width) + 1
    buckets: dict[float, list[Outcome]] = {(number + 0.5) * width: [] for number in range(count)}
    middles = list(buckets)
    for outcome in outcomes:
        number = int((moment(outcome) - ran.began) / width)
        buckets[middles[min(max(number, 0), count - 1)]].append(outcome)
    return buckets


def _spans(ran: Ran) -> list[Span]:
    return [Span(fault.name, fault.began - ran.began, fault.ended - ran.began) for fault in ran.struck]
