"""The HTTP interface under unexpected requests: schemathesis tries every operation of the OpenAPI document.

The service has keys, and is called with one that may do everything, so that both authentication and what lies behind
it are tested. Needs the development tools.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from loadtests.errors import LoadTestError
from loadtests.report.report import Check, Report
from loadtests.stage.deployment import STAND_IN, deployed
from loadtests.stage.processes import ROOT, without_settings
from loadtests.users.conversation import pair_of
from service.settings import PREFIX

_PHASES: Final = "examples,coverage,fuzzing,stateful"
_CONFIG: Final = """
[checks]
# A language pair that no model serves, or a sentence that is too long, is more than a schema can say: 422.
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "410", "422", "429", "504"]
# A deadline of the client's own, which may be too short for what it asks, is the one thing that may fail here: 504.
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "504"]

[dictionaries]
source_lang = {{ values = ["{source_lang}"] }}
target_lang = {{ values = ["{target_lang}"] }}

[parameters]
"body.source_lang" = {{ dictionary = "source_lang", probability = 0.8 }}
"body.target_lang" = {{ dictionary = "target_lang", probability = 0.8 }}
"""
"""Configuration of schemathesis, which reads it from its working directory, with the languages that a model serves."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many cases for each operation (in the phase that draws them at random), and the seed of all randomness."""

    cases: int
    seed: int


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What schemathesis reports: its output, and how much it tried and found."""

    output: str
    operations: int
    untested: int
    cases: int
    failures: int


def run(plan: Plan, bundle: Path) -> Report:
    """Start a service on the stand-in runtime and fuzz it.

    Raises:
        LoadTestError, BundleError: the service does not start, or schemathesis is not installed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = {"bundles": str(bundle), "bundle_root": str(bundle.parent)}
        settings = {**models, "keys": "file", "keys_file": str(folder / "keys.json")}
        key = _make_key(settings)
        with deployed(folder, 1, module=STAND_IN, settings=settings) as deployment:
            found = fuzz(deployment.urls[0], key, pair_of(bundle), plan, folder)
    print(found.output)
    return Report(
        "fuzz",
        {"cases for each operation": plan.cases, "seed": plan.seed},
        {"operations": found.operations, "cases": found.cases},
        [
            Check(
                "no 5xx, and no answer outside the OpenAPI document", not found.failures, f"{found.failures} failures"
            ),
            Check("every operation is tested", not found.untested, f"{found.untested} are not"),
        ],
    )


def fuzz(url: str, key: str, pair: Mapping[str, str], plan: Plan, folder: Path) -> Fuzzed:
    """Have schemathesis test a running service with a key that may do everything; its report goes to `folder`.

    Raises:
        LoadTestError: schemathesis cannot be run, or gave up.
    """
    report = folder / "schemathesis.json"
    (folder / "schemathesis.toml").write_text(_CONFIG.format_map(pair))
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json"),
        *("--phases", _PHASES, "--max-examples", str(plan.cases), "--seed", str(plan.seed)),
        *("--header", f"Authorization: Bearer {key}", "--checks", "all", "--warnings", "off"),
        *("--generation-database", "none", "--no-color", "--report-json-path", str(report)),
    ]
    try:
        done = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE, text=True)  # noqa: S603
    except OSError as error:
        raise LoadTestError(f"schemathesis cannot be run: {error.strerror}; make setup installs it") from None
    said = orjson.loads(report.read_bytes()) if report.exists() else {}
    if not said.get("complete"):  # what it did not reach would count as tested, without failures
        raise LoadTestError(f"schemathesis has given up: {done.stdout.strip()}")
    return _read(said, done.stdout)


def _read(report: dict[str, Any], output: str) -> Fuzzed:
    operations, cases = report["operations"], report["test_cases"]
    return Fuzzed(
        output=output,
        operations=operations["total"],
        untested=operations["total"] - operations["tested"],
        cases=cases["generated"],
        failures=cases["unique_failures"] + cases["errored"] + operations["errored"],
    )


def _make_key(settings: dict[str, str]) -> str:
    environment = {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}
    command = [
        sys.executable,
        "-m",
        "service.keys",
        "create",
        "--tenant",
        "fuzz",
        "--scope",
        "translate",
        "--scope",
        "admin",
    ]
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, env=without_settings() | environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise LoadTestError(f"no key could be made: {done.stderr.strip()}")
    return done.stdout.split()[0]
