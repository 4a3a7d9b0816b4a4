"""The manifests that Kustomize builds, and the parts of them that tests look at."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.servers import ROOT

DEPLOY = ROOT / "deploy"
TO_DEPLOY = "../../deploy"
"""How a kustomization given to `render_text` names `deploy` (absolute ones are refused)."""
DOCUMENTED = "docs/kubernetes.md"
"""Stands for the example overlay on this page."""
ON_GPUS = "overlays/production with cuda"
"""Stands for the overlay `production` with the component `cuda` added, as a comment at its top suggests."""
OVERLAYS = ("overlays/cpu", "overlays/gpu", "overlays/production", ON_GPUS, DOCUMENTED)
JOBS = ("jobs/training", "jobs/distributed-training", "jobs/bulk-translation")
COMPONENTS = tuple(f"components/{folder.name}" for folder in sorted((DEPLOY / "components").iterdir()))

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod specification found anywhere in a manifest, with the labels of its pods."""

    owner: Manifest
    labels: Mapping[str, str]
    spec: Mapping[str, Any]

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """All of its containers, init containers included."""
        return [*self.spec.get("initContainers", ()), *self.spec["containers"]]

    @property
    def serves(self) -> bool:
        """Whether it is meant to run indefinitely."""
        return self.owner["kind"] not in {"Job", "PyTorchJob"} and self.spec.get("restartPolicy") != "Never"


def render(folder: str) -> tuple[Manifest, ...]:
    """The manifests of a folder below `deploy`; a component is applied to the base. Skips without kubectl."""
    _need_kubectl()
    if folder in COMPONENTS:
        return _component(folder)
    elsewhere = {DOCUMENTED: _documented, ON_GPUS: _production_on_gpus}
    return elsewhere[folder]() if folder in elsewhere else _kustomize(DEPLOY / folder)


def _need_kubectl() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl, which holds Kustomize, is not installed")


@cache
def _kustomize(folder: Path) -> tuple[Manifest, ...]:
    made = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""  # Kustomize warns of deprecated fields
    return tuple(yaml.safe_load_all(made.stdout))


@cache
def _component(folder: str) -> tuple[Manifest, ...]:
    paths = {"resources": [f"{TO_DEPLOY}/base"], "components": [f"{TO_DEPLOY}/{folder}"]}
    images = {"images": [{"name": "antecedent-models", "newTag": "0.1.0"}]}
    return render_text(yaml.safe_dump({"namespace": "antecedent"} | images | paths))


@cache
def _documented() -> tuple[Manifest, ...]:
    page = (ROOT / DOCUMENTED).read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(apiVersion: kustomize.*?)^```", page, re.MULTILINE | re.DOTALL)
    return render_text(example.replace("- deploy/", f"- {TO_DEPLOY}/"))


@cache
def _production_on_gpus() -> tuple[Manifest, ...]:
    with tempfile.TemporaryDirectory() as folder:
        overlay = shutil.copytree(DEPLOY, Path(folder) / "deploy") / "overlays" / "production"
        kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text())
        kustomization["components"].append("../../components/cuda")
        (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        return _kustomize(overlay)


def render_text(kustomization: str) -> tuple[Manifest, ...]:
    """Build the manifests of a kustomization, which names folders by `TO_DEPLOY`. Skips without kubectl."""
    _need_kubectl()
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:  # not shared: other test processes build theirs meanwhile
        Path(folder, "kustomization.yaml").write_text(kustomization)
        return _kustomize(Path(folder))


def pods(manifests: Sequence[Manifest]) -> Iterator[Pod]:
    """The pods that manifests describe, including those in custom resources."""
    for manifest in manifests:
        yield from _pods(manifest, manifest)


def _pods(owner: Manifest, part: object) -> Iterator[Pod]:
    if isinstance(part, dict):
        if isinstance(part.get("spec"), dict) and "containers" in part["spec"]:
            yield Pod(owner, part.get("metadata", {}).get("labels", {}), part["spec"])
        else:
            for value in part.values():
                yield from _pods(owner, value)
    elif isinstance(part, list):
        for value in part:
            yield from _pods(owner, value)


def of_kind(manifests: Sequence[Manifest], kind: str) -> list[Manifest]:
    """The manifests of a kind."""
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def named(manifests: Sequence[Manifest], kind: str, name: str) -> Manifest:
    """The only manifest of that kind and name."""
    (found,) = [manifest for manifest in of_kind(manifests, kind) if manifest["metadata"]["name"] == name]
    return found


def selects(selector: Mapping[str, str], pod: Pod) -> bool:
    """Whether a label selector matches a pod."""
    return selector.items() <= pod.labels.items()


def service_pod(manifests: Sequence[Manifest]) -> Pod:
    """The pod of the service itself."""
    (found,) = pods([named(manifests, "Deployment", "antecedent")])
    return found


def environment(manifests: Sequence[Manifest], pod: Pod, secrets: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """The environment variables of a pod's first container; `secrets` holds values by Secret name and key."""
    container = pod.spec["containers"][0]
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        found |= named(manifests, "ConfigMap", source["configMapRef"]["name"])["data"]
    for variable in container.get("env", ()):
        found[variable["name"]] = _value(variable, container, secrets)
    return found


def _value(variable: Manifest, container: Mapping[str, Any], secrets: Mapping[tuple[str, str], str]) -> str:
    if "value" in variable:
        return str(variable["value"])
    source = variable["valueFrom"]
    if "secretKeyRef" in source:
        return secrets[source["secretKeyRef"]["name"], source["secretKeyRef"]["key"]]
    kind, _, resource = source["resourceFieldRef"]["resource"].partition(".")
    return str(container["resources"][kind][resource])
