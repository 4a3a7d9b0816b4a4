"""The commands and examples of docs/kubernetes.md and docs/deployment.md, as far as possible without a cluster."""

import copy
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import kubernetes_validate
import pytest
import trustme
import yaml

from tests.support.manifests import (
    COMPONENTS,
    DOCUMENTED,
    JOBS,
    OVERLAYS,
    TO_DEPLOY,
    Manifest,
    Pod,
    named,
    of_kind,
    pods,
    render,
    render_text,
    service_pod,
)
from tests.support.servers import ROOT

PAGES = [ROOT / "docs" / "kubernetes.md", ROOT / "docs" / "deployment.md"]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def _commands() -> list[str]:
    """The kubectl commands, each joined onto one line."""
    shown = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("kubectl ")]


needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


@needs_kubectl
@pytest.mark.parametrize("command", [command for command in _commands() if " create secret generic " in command])
def test_secrets_are_made_as_the_manifests_want_them(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command that creates a Secret gives it the name and keys that the Deployment requires."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "redis-password.txt").write_text("a password")
    secret = _made(f"{command} --dry-run=client -o yaml")
    pod = service_pod(render("overlays/cpu"))
    (wanted,) = [each["valueFrom"] for each in pod.containers[0]["env"] if "secretKeyRef" in each["valueFrom"]]
    assert wanted["secretKeyRef"]["name"] == secret["metadata"]["name"]
    assert secret["data"].keys() == {wanted["secretKeyRef"]["key"], "password"}


def _made(command: str) -> Manifest:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    manifest: Manifest = yaml.safe_load(done.stdout)
    return manifest


@needs_kubectl
def test_certificate_is_made_as_the_ingress_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that creates a Secret from files creates the one that the Ingress names."""
    monkeypatch.chdir(tmp_path)
    (command,) = [command for command in _commands() if " create secret tls " in command]
    certificate = trustme.CA().issue_cert("antecedent.example.com")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "fullchain.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "privkey.pem")
    secret = _made(f"{command} --dry-run=client -o yaml")
    ingress = named(render("components/ingress"), "Ingress", "antecedent")
    assert [tls["secretName"] for tls in ingress["spec"]["tls"]] == [secret["metadata"]["name"]]
    assert secret["data"].keys() == {"tls.crt", "tls.key"}


def test_certificate_of_cert_manager() -> None:
    """The patch on the page names an issuer for cert-manager, and leaves the other annotations alone."""
    (patches,) = re.findall(r"^```yaml\n(patches:.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    overlay = {"resources": [f"{TO_DEPLOY}/overlays/production"]} | yaml.safe_load(patches)
    patched, plain = (
        named(manifests, "Ingress", "antecedent")["metadata"]["annotations"]
        for manifests in (render_text(yaml.safe_dump(overlay)), render("overlays/production"))
    )
    assert patched == plain | {"cert-manager.io/cluster-issuer": "letsencrypt"}


def test_folders_that_are_applied_exist() -> None:
    """Every path given to `kubectl apply` exists."""
    applied = [word for command in _commands() if " apply " in command for word in command.split() if "/" in word]
    assert len(applied) > 3
    assert [path for path in applied if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", [folder.split("/")[1] for folder in COMPONENTS])
def test_every_component_is_explained(folder: str) -> None:
    """The pages mention every component."""
    assert f"`{folder}`" in TEXT


def _secrets() -> Iterator[str]:
    for pod in (pod for folder in (*OVERLAYS, *COMPONENTS) for pod in pods(render(folder))):
        yield from (volume["secret"]["secretName"] for volume in pod.spec["volumes"] if "secret" in volume)
    for ingress in of_kind(render("overlays/production"), "Ingress"):
        yield from (tls["secretName"] for tls in ingress["spec"]["tls"])


def test_every_secret_is_explained() -> None:
    """The table of Secrets lists exactly those that the manifests name."""
    assert set(_secrets()) == set(re.findall(r"^\| `(antecedent-\w+)` \| `", TEXT, re.MULTILINE))


def test_overlay_of_ones_own() -> None:
    """The page's example overlay is valid: GPUs, KEDA, a Gateway, a volume and monitoring work together."""
    manifests = render(DOCUMENTED)
    pod = service_pod(manifests)
    assert pod.containers[0]["image"] == "registry.example.com/antecedent:0.1.0-cuda"
    kinds = {manifest["kind"] for manifest in manifests}
    assert kinds > {"ScaledObject", "HTTPRoute", "PersistentVolumeClaim", "PrometheusRule"}
    (way_out,) = named(manifests, "NetworkPolicy", "antecedent-to-redis")["spec"]["egress"]
    assert way_out["to"] == [{"ipBlock": {"cidr": "10.20.30.0/28"}}]


def test_job_that_fills_the_volume() -> None:
    """It conforms to the schema, has the same restrictions as the service's pods, and uses the component's claim."""
    (example,) = re.findall(r"^```yaml\n(apiVersion: batch/v1.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    job = yaml.safe_load(example)
    kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)
    served = render("components/models-volume")
    (pod,), (claim,) = pods([job]), of_kind(served, "PersistentVolumeClaim")
    assert pod.spec["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    service = service_pod(served)
    assert _who(pod) == _who(service)


def _who(pod: Pod) -> list[object]:
    """The fields that determine a pod's identity and rights."""
    user = {name: value for name, value in pod.spec["securityContext"].items() if name != "fsGroupChangePolicy"}
    names = ("serviceAccountName", "automountServiceAccountToken", "enableServiceLinks")
    return [user, pod.containers[0]["securityContext"], *(pod.spec[name] for name in names)]


def test_pod_that_fills_a_claim() -> None:
    """It conforms to the schema, has the jobs' namespace, identity and rights, and mounts their claim as they do."""
    (example,) = re.findall(r"^```yaml\n(apiVersion: v1\nkind: Pod.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    manifest = yaml.safe_load(example)
    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    training = render("jobs/training")
    (fills,), (runs,) = pods([manifest]), pods(training)
    assert manifest["metadata"]["namespace"] == named(training, "Job", "antecedent-training")["metadata"]["namespace"]
    assert _who(fills) == _who(runs)
    assert fills.spec["volumes"][0] in runs.spec["volumes"]
    assert fills.containers[0]["volumeMounts"][0] in runs.containers[0]["volumeMounts"]
    claims = {claim["metadata"]["name"] for job in JOBS for claim in of_kind(render(job), "PersistentVolumeClaim")}
    assert claims <= set(re.findall(r"antecedent-[\w-]+", example))


@pytest.mark.parametrize("folder", JOBS)
def test_deletion_of_a_folder_takes_all_claims(folder: str) -> None:
    """Each job's folder contains the namespace that all jobs share, so the page warns what deleting it removes."""
    assert of_kind(render(folder), "Namespace")
    (told,) = re.findall(r"`kubectl delete -k`[^.]*\.", TEXT)
    assert "deletes the namespace, and with it the claims of all" in told


def test_addresses_that_are_made_up_are_named() -> None:
    """For values that depend on the cluster the components have examples; the page names these fields and values."""
    (parent,) = named(render("components/gateway"), "HTTPRoute", "antecedent")["spec"]["parentRefs"]
    assert f"(`parentRefs`: `{parent['name']}` in the namespace `{parent['namespace']}`" in TEXT
    scaled = named(render("components/keda"), "ScaledObject", "antecedent")["spec"]
    assert all("serverAddress" in trigger["metadata"] for trigger in scaled["triggers"])
    assert "`serverAddress`" in TEXT
    assert scaled["fallback"]["replicas"] == 6
    assert "there are six replicas" in TEXT


@pytest.mark.parametrize("folder", JOBS)
def test_images_of_jobs_come_from_a_registry(folder: str) -> None:
    """One `images` entry with a registry covers all containers of a job, and the page says which image it takes."""
    overlay = {
        "resources": [f"{TO_DEPLOY}/{folder}"],
        "images": [{"name": "antecedent", "newName": "registry.example.com/antecedent"}],
    }
    found = pods(render_text(yaml.safe_dump(overlay)))
    (image,) = {container["image"] for pod in found for container in pod.containers}
    assert image.startswith("registry.example.com/antecedent:")
    (section,) = re.findall(r"^## Jobs\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)
    assert "your registry" in section
    assert f"`make image FLAVOUR={image.rpartition('-')[2]}`" in section


@needs_kubectl
@pytest.mark.parametrize("folder", JOBS)
def test_command_that_lets_a_job_go(folder: str, tmp_path: Path) -> None:
    """Each job has a command that resumes it and changes nothing else."""
    (job,) = [each for each in render(folder) if each["kind"].endswith("Job")]
    asked = f" patch {job['kind'].lower()} {job['metadata']['name']} "
    (command,) = [command for command in _commands() if asked in command]
    assert job["metadata"]["namespace"] in shlex.split(command)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    local = command.replace(asked, f" patch --local --filename={shlex.quote(str(tmp_path / 'job.yaml'))} -o yaml ")
    wanted = copy.deepcopy(job)
    wanted["spec"].get("runPolicy", wanted["spec"])["suspend"] = False
    assert _made(local) == wanted
