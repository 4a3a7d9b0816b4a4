"""Dashboards and everything else that queries Prometheus use only metrics that exist."""

import json
import re
from itertools import combinations
from typing import Any

import pytest
import yaml

from service.inference.wire import PRIORITIES
from tests.support.manifests import DEPLOY, Manifest, named, render
from tests.support.promql import Selector, grouped_labels, known_metrics, selectors

DASHBOARDS = sorted((DEPLOY / "dashboards").glob("*.json"))
ADAPTER = DEPLOY / "components" / "autoscaling" / "prometheus-adapter.yaml"
_VARIABLES = {"$__rate_interval": "5m", "$namespace": "antecedent"}


def check(query: str) -> list[Selector]:
    """Check that every metric in a query exists with its labels; returns the query's selectors."""
    found = selectors(query)
    for selector in found:
        assert selector.labels.keys() <= known_metrics()[selector.metric]
        assert selector.labels.get("priority") in {None, *PRIORITIES}
    assert grouped_labels(query) <= set().union(*(known_metrics()[selector.metric] for selector in found))
    return found


def panels(dashboard: Manifest) -> list[Manifest]:
    """The panels that show data."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


@pytest.fixture(params=DASHBOARDS, ids=lambda file: file.stem)
def dashboard(request: pytest.FixtureRequest) -> Manifest:
    """Each dashboard in turn."""
    read: Manifest = json.loads(request.param.read_text(encoding="utf-8"))
    return read


def test_panels_ask_for_what_there_is(dashboard: Manifest) -> None:
    """Every query is valid PromQL for the chosen namespace, and its legend uses only labels that it has."""
    for target in (target for panel in panels(dashboard) for target in panel["targets"]):
        query = target["expr"]
        for name, value in _VARIABLES.items():
            query = query.replace(name, value)
        for selector in check(query):
            assert "namespace" in selector.labels, target["expr"]
            labels = grouped_labels(query) or known_metrics()[selector.metric]
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels


def test_panels_say_what_they_show(dashboard: Manifest) -> None:
    """Each has a unique title, a sentence and a unit, and overlaps no other panel."""
    shown = panels(dashboard)
    assert len({panel["title"] for panel in shown}) == len(shown)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in shown:
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
    assert not [pair for pair in combinations(dashboard["panels"], 2) if _overlap(*(each["gridPos"] for each in pair))]


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (beside or above)


def test_grafana_is_given_the_dashboards() -> None:
    """The ConfigMap for Grafana's sidecar contains the files unchanged."""
    given = named(render("components/monitoring"), "ConfigMap", "antecedent-dashboards")["data"]
    assert given == {file.name: file.read_text(encoding="utf-8") for file in DASHBOARDS}


def test_keda_asks_for_what_there_is() -> None:
    """Every trigger of the ScaledObject is valid PromQL, and queries its own namespace."""
    scaled = named(render("components/keda"), "ScaledObject", "antecedent")
    for trigger in scaled["spec"]["triggers"]:
        for selector in check(trigger["metadata"]["query"]):
            assert selector.labels["namespace"] == scaled["metadata"]["namespace"]


def test_both_autoscalers_want_the_same() -> None:
    """KEDA and the HorizontalPodAutoscaler have the same bounds, thresholds and pace."""
    keda = named(render("components/keda"), "ScaledObject", "antecedent")["spec"]
    plain = named(render("components/autoscaling"), "HorizontalPodAutoscaler", "antecedent")["spec"]
    assert (keda["minReplicaCount"], keda["maxReplicaCount"]) == (plain["minReplicas"], plain["maxReplicas"])
    thresholds = [float(trigger["metadata"]["threshold"]) for trigger in keda["triggers"]]
    assert thresholds == [_quantity(metric["pods"]["target"]["averageValue"]) for metric in plain["metrics"]]
    assert keda["advanced"]["horizontalPodAutoscalerConfig"]["behavior"] == plain["behavior"]


def _quantity(text: str) -> float:
    return float(text.removesuffix("m")) / 1000 if text.endswith("m") else float(text)


def test_adapter_has_what_the_autoscaler_asks_for() -> None:
    """Every metric of the HorizontalPodAutoscaler is made by a prometheus-adapter rule from series that exist."""
    rules: list[dict[str, Any]] = yaml.safe_load(ADAPTER.read_text(encoding="utf-8"))
    made = {}
    for rule in rules:
        (series,) = check(rule["seriesQuery"])
        made[rule.get("name", {}).get("as", series.metric)] = known_metrics()[series.metric]
        filled = rule["metricsQuery"].replace("<<.Series>>", series.metric)
        check(filled.replace("<<.LabelMatchers>>", 'namespace="antecedent"').replace("<<.GroupBy>>", "pod"))
    for metric in named(render("components/autoscaling"), "HorizontalPodAutoscaler", "antecedent")["spec"]["metrics"]:
        wanted = metric["pods"]["metric"]
        assert wanted.get("selector", {"matchLabels": {}})["matchLabels"].keys() <= made[wanted["name"]]
