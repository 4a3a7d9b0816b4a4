"""Parses PromQL, and lists the metrics that queries may use: the service's, recorded ones, and Prometheus's own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import promql_parser as promql
import yaml

from service.telemetry.metrics import Metrics
from service.telemetry.worker_metrics import Workers
from tests.support.manifests import DEPLOY

RULES = DEPLOY / "alerts" / "antecedent.rules.yaml"
TARGET = frozenset({"job", "instance", "namespace", "pod"})
"""Labels that Prometheus adds to every metric that it scrapes."""
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "info": ("_info",)}


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric that a query selects; its labels map to the value that they must equal, or to None for other matches."""

    metric: str
    labels: dict[str, str | None]


def rules() -> list[dict[str, Any]]:
    """All rules, in file order."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> dict[str, dict[str, Any]]:
    """The alerting rules, by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


@cache
def known_metrics() -> dict[str, frozenset[str]]:
    """Every metric that Prometheus has, with its labels."""
    found = {"up": TARGET} | _exported()
    return found | {rule["record"]: TARGET for rule in rules() if "record" in rule}


def _exported() -> dict[str, frozenset[str]]:
    metrics = Metrics()
    metrics.watch_workers(lambda: [Workers("ja-en", 1, 1, 1)])
    labels = {
        each._name: frozenset(each._labelnames) for each in vars(metrics).values() if hasattr(each, "_labelnames")
    }
    found = {}
    for family in metrics.registry.collect():
        own = labels.get(family.name) or frozenset(label for sample in family.samples for label in sample.labels)
        own |= {"le"} if family.type == "histogram" else set()
        for suffix in _SUFFIXES.get(family.type, ("",)):
            found[family.name + suffix] = own | TARGET
    return found


def selectors(query: str) -> list[Selector]:
    """The selectors of a query; raises ValueError if it is not valid PromQL."""
    return list(_selectors(promql.parse(query)))


def _selectors(expression: Any) -> Iterator[Selector]:
    if isinstance(expression, promql.VectorSelector):
        matchers = expression.matchers.matchers
        equal = {each.name: each.value if each.op == promql.MatchOp.Equal else None for each in matchers}
        yield Selector(expression.name, equal)
    for part in ("expr", "vector_selector", "lhs", "rhs", "param"):
        if getattr(expression, part, None) is not None:
            yield from _selectors(getattr(expression, part))
    for argument in getattr(expression, "args", None) or ():
        yield from _selectors(argument)


def grouped_labels(query: str) -> set[str]:
    """The labels that a query groups by."""
    found = re.findall(r"\bby \(([^)]*)\)", query)
    return {label.strip() for labels in found for label in labels.split(",")}
