"""What docs/kubernetes.md and docs/deployment.md tell an operator to type, as far as it goes without a cluster."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from tests.support.manifests import COMPONENTS, DEPLOY, OVERLAYS, of_kind, pods, render, render_text, service_pod
from tests.support.servers import ROOT

PAGES = [ROOT / "docs" / "kubernetes.md", ROOT / "docs" / "deployment.md"]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def _commands() -> list[str]:
    """The commands that call kubectl, each in one line."""
    shown = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("kubectl ")]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("command", [command for command in _commands() if " create secret " in command])
def test_secrets_are_made_as_the_manifests_want_them(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command that makes a Secret makes it with the name and the keys that the Deployment asks for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "redis-password.txt").write_text("a password")
    done = subprocess.run(
        ["bash", "-c", f"{command} --dry-run=client -o yaml"], capture_output=True, text=True, check=True
    )
    secret = yaml.safe_load(done.stdout)
    pod = service_pod(render("overlays/cpu"))
    (wanted,) = [each["valueFrom"] for each in pod.containers[0]["env"] if "secretKeyRef" in each["valueFrom"]]
    assert wanted["secretKeyRef"]["name"] == secret["metadata"]["name"]
    assert secret["data"].keys() == {wanted["secretKeyRef"]["key"], "password"}


def test_folders_that_are_applied_exist() -> None:
    """Whatever is given to `kubectl apply` is there."""
    applied = [word for command in _commands() if " apply " in command for word in command.split() if "/" in word]
    assert len(applied) > 3
    assert [path for path in applied if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", [folder.split("/")[1] for folder in COMPONENTS])
def test_every_component_is_explained(folder: str) -> None:
    """Each component is named to operators."""
    assert f"`{folder}`" in TEXT


def _secrets() -> Iterator[str]:
    for pod in (pod for folder in (*OVERLAYS, *COMPONENTS) for pod in pods(render(folder))):
        yield from (volume["secret"]["secretName"] for volume in pod.spec["volumes"] if "secret" in volume)
    for ingress in of_kind(render("overlays/production"), "Ingress"):
        yield from (tls["secretName"] for tls in ingress["spec"]["tls"])


def test_every_secret_is_explained() -> None:
    """Each Secret that a manifest names stands in the table of Secrets."""
    assert set(_secrets()) == set(re.findall(r"^\| `(antecedent-\w+)` \| `", TEXT, re.MULTILINE))


def test_overlay_of_ones_own() -> None:
    """The overlay that the page shows as an example is one: GPUs, KEDA, a Gateway, a volume and traces go together."""
    (example,) = re.findall(r"^```yaml\n(apiVersion: kustomize.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    made = ROOT / "build" / "kustomizations" / "example"
    manifests = render_text(example.replace("- deploy/", f"- {os.path.relpath(DEPLOY, made)}/"), made)
    pod = service_pod(manifests)
    assert pod.containers[0]["image"] == "registry.example.com/antecedent:0.1.0-cuda"
    kinds = {manifest["kind"] for manifest in manifests}
    assert kinds > {"ScaledObject", "HTTPRoute", "PersistentVolumeClaim", "PrometheusRule"}


def test_job_that_fills_the_volume() -> None:
    """It fits the schema, runs under the restrictions of the service's pods, and writes to the component's claim."""
    (example,) = re.findall(r"^```yaml\n(apiVersion: batch/v1.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    job = yaml.safe_load(example)
    kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)
    served = render("components/models-volume")
    (pod,), (claim,) = pods([job]), of_kind(served, "PersistentVolumeClaim")
    assert pod.spec["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    service = service_pod(served)
    assert pod.containers[0]["securityContext"] == service.containers[0]["securityContext"]
    assert pod.spec["securityContext"].items() <= service.spec["securityContext"].items()
    assert pod.spec["serviceAccountName"] == service.spec["serviceAccountName"]
