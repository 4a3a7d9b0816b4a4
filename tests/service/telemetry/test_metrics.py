"""Metrics follow Prometheus's naming conventions and are listed in docs/metrics.md."""

import re
from pathlib import Path

import pytest
from prometheus_client import Metric

from service.telemetry.metrics import Metrics
from service.telemetry.worker_metrics import Workers

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"
SUFFIXES = {"counter": "_total", "info": "_info"}
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$", re.MULTILINE)


@pytest.fixture
def metrics() -> Metrics:
    """The metrics of a process with one model."""
    made = Metrics()
    made.watch_workers(lambda: [Workers("ja-en", 2, 1, 4096)])
    return made


def name_of(family: Metric) -> str:
    """The name as Prometheus reads it."""
    return family.name + SUFFIXES.get(family.type, "")


def test_every_metric_is_documented_and_nothing_else(metrics: Metrics) -> None:
    """The table lists each metric with its type and the description from the code."""
    rows = {name: (kind, meaning) for name, kind, _, meaning in ROW.findall(DOCUMENTATION.read_text())}
    assert rows == {name_of(family): (family.type, family.documentation) for family in metrics.registry.collect()}


def test_names_follow_the_conventions(metrics: Metrics) -> None:
    """Names have a prefix and base units written out; those of counters, and no others, are shown with `_total`."""
    for family in metrics.registry.collect():
        assert re.fullmatch(r"(antecedent|process)(_[a-z]+)+", family.name)
        assert not re.search(r"_(ms|millis|milliseconds|minutes|kb|mb|mib|percent)(_|$)", family.name)
        assert not family.name.endswith("_total")
        if family.type == "histogram":
            assert family.name.endswith(("_seconds", "_sentences", "_characters"))
    shown = re.findall(r"^# TYPE (\w+) (\w+)$", metrics.render().decode(), re.MULTILINE)
    assert {kind for name, kind in shown if name.endswith("_total")} == {"counter"}
    assert all(name.endswith("_total") for name, kind in shown if kind == "counter")


def test_workers_are_looked_up_when_the_metrics_are_read(metrics: Metrics) -> None:
    """For each model: how many workers there should be and are, and their memory."""
    lines = metrics.render().decode().splitlines()
    assert 'antecedent_workers_configured{model="ja-en"} 2.0' in lines
    assert 'antecedent_workers_alive{model="ja-en"} 1.0' in lines
    assert 'antecedent_worker_resident_memory_bytes{model="ja-en"} 4096.0' in lines


def test_process_measures_itself(metrics: Metrics) -> None:
    """Its metrics include memory, open files, and the release."""
    text = metrics.render().decode()
    assert re.search(r"^process_resident_memory_bytes [1-9]", text, re.MULTILINE)
    assert re.search(r"^process_open_fds [1-9]", text, re.MULTILINE)
    assert re.search(r'^antecedent_build_info\{python="3\.1\d\.\d+",version="[^"]+"\} 1\.0$', text, re.MULTILINE)
