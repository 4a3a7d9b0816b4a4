"""Alerts: their queries, whether Prometheus raises them, and the runbook."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from models.errors import AntecedentError
from service.inference.wire import PRIORITIES
from tests.support.promql import RULES, TARGET, alerts, grouped_labels, known_metrics, rules, selectors
from tests.support.servers import ROOT

RUNBOOK = ROOT / "docs" / "runbook.md"
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool, of Prometheus, is not installed"
)


def _codes(error: type[AntecedentError]) -> set[str]:
    return {error.code} | {code for below in error.__subclasses__() for code in _codes(below)}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.get("alert") or rule["record"])
def test_rules_ask_for_what_there_is(rule: dict[str, str]) -> None:
    """Every metric and label in a rule is exported by the service or recorded by another rule."""
    for selector in selectors(rule["expr"]):
        assert selector.labels.keys() <= known_metrics()[selector.metric]
        assert selector.labels.get("priority") in {None, *PRIORITIES}
        assert selector.labels.get("code") in {None, "internal_error", *_codes(AntecedentError)}
    labels = set().union(*(known_metrics()[selector.metric] for selector in selectors(rule["expr"])))
    assert grouped_labels(rule["expr"]) <= labels | TARGET


@pytest.mark.parametrize("name", alerts())
def test_every_alert_says_what_to_do(name: str) -> None:
    """Each alert has a severity, a sentence, and a section in the runbook."""
    alert = alerts()[name]
    assert alert["labels"].keys() == {"severity"}
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"]["summary"].endswith(".")
    assert alert["annotations"]["runbook"] == f"docs/runbook.md#{name.lower()}"
    (paragraph,) = re.findall(rf"^## {name}$\n\n(.+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert paragraph


def test_runbook_knows_no_other_alerts() -> None:
    """The runbook has no sections for alerts that do not exist."""
    assert re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE) == list(alerts())


def test_operator_has_the_same_rules() -> None:
    """The PrometheusRule has the same rules as Prometheus's file: `make alerts` has been run since they changed."""
    made = yaml.safe_load(RULES.with_name("prometheus-rule.yaml").read_text())
    assert made["kind"] == "PrometheusRule"
    assert made["spec"] == yaml.safe_load(RULES.read_text())


@needs_promtool
def test_prometheus_reads_the_rules() -> None:
    """Prometheus itself finds nothing wrong with them."""
    checked = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


PRODUCTION, STAGING = (
    f'up{{job="antecedent", instance="b", namespace="{name}"}}' for name in ("production", "staging")
)
_WELL = {
    'up{job="antecedent", instance="a"}': "1x400",
    'antecedent_build_info{instance="a", version="1"}': "1x400",
    'antecedent_requests_total{route="/v1/documents", status="200"}': "0+600x400",
    'antecedent_requests_total{route="/health/ready", status="503"}': "0+60x400",
    'antecedent_queue_seconds_bucket{priority="interactive", le="0.1"}': "0+600x400",
    'antecedent_queue_seconds_bucket{priority="interactive", le="+Inf"}': "0+600x400",
    'antecedent_workers_configured{model="ja-en", instance="a"}': "2x400",
    'antecedent_workers_alive{model="ja-en", instance="a"}': "2x400",
    'antecedent_model_seconds_sum{instance="a"}': "0+60x400",
    "antecedent_worker_restarts_total": "0x200 1x200",
    "antecedent_models_not_loaded": "0x400",
    "antecedent_redis_nodes_away": "0x400",
    'antecedent_redis_seconds_bucket{operation="append", le="0.01"}': "0+600x400",
    'antecedent_redis_seconds_bucket{operation="append", le="+Inf"}': "0+600x400",
    "antecedent_key_read_failures_total": "0x400",
    'process_open_fds{job="antecedent"}': "100x400",
    'process_max_fds{job="antecedent"}': "1000x400",
}
"""The series of a healthy service over 400 minutes, in promtool's notation."""
_ILL: Sequence[tuple[str, dict[str, str]]] = [
    ("AntecedentDown AntecedentReplicaDown", {'up{job="antecedent", instance="a"}': "1x380 0x20"}),
    ("AntecedentDown", {'up{job="antecedent", instance="a"}': "stale"}),  # which Prometheus has never seen
    ("AntecedentDown", {'up{job="antecedent", instance="a"}': "1x100 stale"}),  # gone for five hours
    ("AntecedentDown", {PRODUCTION: "1x385 stale", STAGING: "1x400"}),
    ("AntecedentDown", {PRODUCTION: "1x100 stale", STAGING: "1x400"}),
    ("AntecedentDown AntecedentReplicaDown", {PRODUCTION: "1x100 0x300", STAGING: "1x400"}),
    ("AntecedentReplicaDown", {'up{job="antecedent", instance="b"}': "1x380 0x20"}),
    (
        "AntecedentErrorBudgetBurns AntecedentErrorBudgetBurnsSlowly",
        {'antecedent_requests_total{route="/v1/documents", status="504"}': "0+12x400"},
    ),
    (
        "AntecedentErrorBudgetBurnsSlowly AntecedentErrorBudgetBurns",
        {
            'antecedent_requests_total{route="none", status="503"}': "0+12x400"  # the keys cannot be read
        },
    ),
    ("AntecedentErrorBudgetBurnsSlowly", {'antecedent_requests_total{route="/v1/documents", status="504"}': "0+5x400"}),
    ("AntecedentErrorBudgetBurnsSlowly", {'antecedent_requests_total{route="/v2/translate", status="503"}': "0+5x400"}),
    (
        "AntecedentErrorBudgetBurnsSlowly",
        {'antecedent_requests_total{route="/libretranslate/translate", status="503"}': "0+5x400"},
    ),
    ("AntecedentUnforeseenErrors", {'antecedent_rejections_total{code="internal_error"}': "_x390 1x10"}),
    ("AntecedentReleasesDiffer", {'antecedent_build_info{instance="b", version="2"}': "1x400"}),
    ("AntecedentQueueFull", {'antecedent_rejections_total{code="queue_full"}': "0+1x400"}),
    (
        "AntecedentQueueSlow",
        {
            'antecedent_queue_seconds_bucket{priority="interactive", le="0.1"}': "0+500x400",
            'antecedent_queue_seconds_bucket{priority="interactive", le="2.5"}': "0+600x400",
        },
    ),
    ("AntecedentDeadlinesMissed", {'antecedent_rejections_total{code="deadline_exceeded"}': "0+1x400"}),
    ("AntecedentWorkersBusy", {'antecedent_model_seconds_sum{instance="a"}': "0+118x400"}),
    ("AntecedentStreamsFull", {'antecedent_rejections_total{code="too_many_streams"}': "0+1x400"}),
    (
        "AntecedentNoWorker AntecedentWorkersMissing",
        {'antecedent_workers_alive{model="ja-en", instance="a"}': "2x380 0x20"},
    ),
    ("AntecedentWorkersMissing", {'antecedent_workers_alive{model="ja-en", instance="a"}': "2x380 1x20"}),
    ("AntecedentWorkersRestart", {"antecedent_worker_restarts_total": "0x380 0+1x20"}),
    ("AntecedentSentenceKillsWorkers", {'antecedent_rejections_total{code="worker_died"}': "1x380 1x10 2x10"}),
    ("AntecedentModelsNotLoaded", {"antecedent_models_not_loaded": "0x380 1x20"}),
    ("AntecedentFilesRunOut", {'process_open_fds{job="antecedent"}': "900x400"}),
    ("AntecedentRedisAway", {"antecedent_redis_nodes_away": "0x380 1x20"}),
    ("AntecedentRedisFails", {'antecedent_redis_failures_total{operation="append"}': "0+6x400"}),
    (
        "AntecedentRedisSlow",
        {
            'antecedent_redis_seconds_bucket{operation="append", le="0.01"}': "0+500x400",
            'antecedent_redis_seconds_bucket{operation="append", le="0.25"}': "0+600x400",
        },
    ),
    ("AntecedentKeysNotRead", {"antecedent_key_read_failures_total": "0x380 0+30x20"}),
    ("AntecedentKeysTried", {'antecedent_authentication_failures_total{reason="unknown"}': "0+120x400"}),
]
"""What can go wrong: the alerts that it raises, and the series that differ from a healthy service or are added."""

_THAT_LASTS = (
    'antecedent_rejections_total{code="queue_full"}',
    'antecedent_rejections_total{code="deadline_exceeded"}',
    'antecedent_rejections_total{code="too_many_streams"}',
    'antecedent_redis_failures_total{operation="append"}',
    "antecedent_key_read_failures_total",
)
"""Failures that clients overcome by retrying raise no alert unless they go on for some minutes."""


@needs_promtool
def test_alerts_are_raised(tmp_path: Path) -> None:
    """Each failure raises its own alerts and no others; a healthy service raises none."""
    three = {"antecedent_worker_restarts_total": "0x380 1 2 3x17"}  # the runbook says: more than three
    few = {  # nine failures among hardly any requests
        'antecedent_requests_total{route="/v1/documents", status="200"}': "0+1x400",
        'antecedent_requests_total{route="/v1/documents", status="503"}': "0x391 1+1x8",
    }
    moment = dict.fromkeys(_THAT_LASTS, "0x394 5 10x4")
    well = [_case("", differing) for differing in ({}, three, few, moment)]
    cases = [*well, *(_case(raised, series) for raised, series in _ILL)]
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "5m", "tests": cases}))
    tested = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def _case(raised: str, differing: dict[str, str]) -> dict[str, object]:
    series = [{"series": name, "values": values} for name, values in (_WELL | differing).items()]
    firing = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in raised.split()]
    question = {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": "400m",
        "exp_samples": firing,
    }
    return {"name": raised or "all is well", "interval": "1m", "input_series": series, "promql_expr_test": [question]}


def test_outage_lasts_longer_than_an_hour() -> None:
    """A comparison with an earlier moment would soon stop firing, so the query looks at the whole last day."""
    query = alerts()["AntecedentDown"]["expr"]
    assert "offset" not in query
    assert set(re.findall(r"\[(\w+)\]", query)) == {"1d"}


def test_moment_does_not_count_as_lasting() -> None:
    """If a single failure satisfies a query, it leaves the query's range before the alert's `for` has passed."""
    lasting = [alert for alert in alerts().values() if alert["expr"].endswith("> 0") and "for" in alert]
    ranges = {alert["alert"]: re.findall(r"\[(\d+)m\]", alert["expr"]) for alert in lasting}
    checked = {name: range_ for name, (range_,) in ((name, found) for name, found in ranges.items() if found)}
    assert {"AntecedentQueueFull", "AntecedentDeadlinesMissed", "AntecedentKeysNotRead"} <= checked.keys()
    for name, minutes in checked.items():
        assert 2 * int(minutes) <= int(alerts()[name]["for"].removesuffix("m")), name


def test_every_alert_is_raised() -> None:
    """Every alert has a case above."""
    assert {name for names, _ in _ILL for name in names.split()} == set(alerts())
