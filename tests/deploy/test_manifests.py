"""Whether a cluster would accept the manifests: schemas of the oldest and newest Kubernetes, and references."""

import json
from functools import cache

import kubernetes_validate
import pytest
from typer.core import TyperGroup
from typer.main import get_command

from models.__main__ import app
from tests.support.manifests import COMPONENTS, DEPLOY, JOBS, OVERLAYS, Manifest, Pod, of_kind, pods, render, selects
from tests.support.servers import ROOT

ALL = (*OVERLAYS, *JOBS, *COMPONENTS)
OLDEST = "1.30"
"""The first version with the preStop hook `sleep`, as docs/kubernetes.md says."""
CUSTOM = {"ServiceMonitor", "PrometheusRule", "ScaledObject", "HTTPRoute", "PyTorchJob", "RayJob"}
CLUSTER_WIDE = {"Namespace"}
OF_OTHERS = {"acme.cert-manager.io/http01-solver": "true"}
"""The label of pods that cert-manager makes, for which we have a policy but no manifest."""


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
@pytest.mark.parametrize("folder", ALL)
def test_schema(folder: str, version: str) -> None:
    """Every manifest has only valid fields for its kind; this includes pods in custom resources."""
    manifests = render(folder)
    for manifest in manifests:
        if manifest["kind"] not in CUSTOM:
            _validate(json.dumps(manifest), version)
    for pod in pods(manifests):
        alone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": dict(pod.labels)}, "spec": pod.spec}
        _validate(json.dumps(alone), version)


@cache
def _validate(manifest: str, version: str) -> None:
    """Cached, since validation reads the schemas each time and many manifests are in several folders."""
    kubernetes_validate.validate(json.loads(manifest), version, strict=True)


def test_every_folder_is_tested() -> None:
    """These tests cover every kustomization."""
    folders = {file.parent.relative_to(DEPLOY).as_posix() for file in DEPLOY.rglob("kustomization.yaml")}
    assert folders - set(ALL) == {"base", "alerts", "dashboards", "jobs/base"}  # parts of others


@pytest.mark.parametrize("folder", ALL)
def test_all_in_one_namespace(folder: str) -> None:
    """Everything is in the namespace that the folder creates."""
    manifests = render(folder)
    (namespace,) = of_kind(manifests, "Namespace")
    for manifest in manifests:
        if manifest["kind"] not in CLUSTER_WIDE:
            assert manifest["metadata"]["namespace"] == namespace["metadata"]["name"]


def _selectors(manifest: Manifest) -> Manifest | None:
    """The labels by which a manifest selects pods, if any."""
    spec = manifest.get("spec", {})
    labels: Manifest | None = None
    match manifest["kind"]:
        case "Service":
            labels = spec["selector"]
        case "Deployment" | "StatefulSet" | "PodDisruptionBudget":
            labels = spec["selector"]["matchLabels"]
        case "NetworkPolicy":
            labels = spec["podSelector"].get("matchLabels")
    return labels


@pytest.mark.parametrize("folder", ALL)
def test_selectors_find_pods(folder: str) -> None:
    """Every selector matches some pods; a topology spread constraint matches its own pod."""
    manifests = render(folder)
    found = list(pods(manifests))
    for manifest in manifests:
        selector = _selectors(manifest)
        if selector not in (None, OF_OTHERS):
            assert any(selects(selector, pod) for pod in found), manifest["metadata"]["name"]
    for pod in found:
        for spread in pod.spec.get("topologySpreadConstraints", ()):
            assert selects(spread["labelSelector"]["matchLabels"], pod)


@pytest.mark.parametrize("folder", ALL)
def test_policies_and_services_name_ports_of_their_pods(folder: str) -> None:
    """Services and the ingress rules of policies use ports that their pods have."""
    manifests = render(folder)
    for service in of_kind(manifests, "Service"):
        for pod in (pod for pod in pods(manifests) if selects(service["spec"]["selector"], pod)):
            assert {port["targetPort"] for port in service["spec"]["ports"]} <= _ports(pod)
    for policy in of_kind(manifests, "NetworkPolicy"):
        selector = policy["spec"]["podSelector"].get("matchLabels", {})
        wanted = {port["port"] for rule in policy["spec"].get("ingress", ()) for port in rule.get("ports", ())}
        for pod in (pod for pod in pods(manifests) if selects(selector, pod)):
            assert wanted <= _ports(pod)


def _ports(pod: Pod) -> set[object]:
    ports = [port for container in pod.containers for port in container.get("ports", ())]
    return {port["name"] for port in ports} | {port["containerPort"] for port in ports}


@pytest.mark.parametrize("folder", ALL)
def test_routes_lead_to_the_service(folder: str) -> None:
    """Ingress and HTTPRoute publish only the APIs, and lead to an existing Service and port."""
    manifests = render(folder)
    paths, backends = [], []
    for ingress in of_kind(manifests, "Ingress"):
        found = [path for rule in ingress["spec"]["rules"] for path in rule["http"]["paths"]]
        paths += [path["path"] for path in found]
        backends += [(path["backend"]["service"]["name"], path["backend"]["service"]["port"]["name"]) for path in found]
    for route in of_kind(manifests, "HTTPRoute"):
        paths += [match["path"]["value"] for rule in route["spec"]["rules"] for match in rule["matches"]]
        backends += [(to["name"], to["port"]) for rule in route["spec"]["rules"] for to in rule["backendRefs"]]
    ports = [
        (service["metadata"]["name"], port[field])
        for service in of_kind(manifests, "Service")
        for port in service["spec"]["ports"]
        for field in ("name", "port")
    ]
    assert set(paths) in (set(), {"/v1", "/v2", "/v3", "/libretranslate"})
    assert set(backends) <= set(ports)


@pytest.mark.parametrize("folder", ALL)
def test_autoscalers_have_their_way(folder: str) -> None:
    """An autoscaler names an existing workload, whose manifest does not set the number of replicas."""
    manifests = render(folder)
    for scaler in (*of_kind(manifests, "HorizontalPodAutoscaler"), *of_kind(manifests, "ScaledObject")):
        target = scaler["spec"]["scaleTargetRef"]
        (scaled,) = [each for each in of_kind(manifests, target["kind"]) if each["metadata"]["name"] == target["name"]]
        assert "replicas" not in scaled["spec"]


@pytest.mark.parametrize("folder", [folder for folder in ALL if folder.endswith(("production", "monitoring"))])
def test_prometheus_finds_the_service(folder: str) -> None:
    """The ServiceMonitor selects the Service, names its port, and takes the job name from one of its labels."""
    manifests = render(folder)
    (monitor,) = of_kind(manifests, "ServiceMonitor")
    (service,) = [each for each in of_kind(manifests, "Service") if _monitors(monitor, each)]
    assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "antecedent"
    ports = {port["name"] for port in service["spec"]["ports"]}
    assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports


def _monitors(monitor: Manifest, service: Manifest) -> bool:
    wanted: Manifest = monitor["spec"]["selector"]["matchLabels"]
    return wanted.items() <= service["metadata"]["labels"].items()


@pytest.mark.parametrize("folder", JOBS)
def test_jobs_wait_until_their_claims_are_filled(folder: str) -> None:
    """Claims are created empty along with the job that reads them, so the job is suspended at first."""
    (job,) = [each for each in render(folder) if each["kind"] in {"Job", "PyTorchJob", "RayJob"}]
    assert job["spec"].get("runPolicy", job["spec"]).get("suspend") is True


def test_ray_is_the_pinned_one() -> None:
    """The manifest states the version of Ray that is in the image."""
    (job,) = of_kind(render("jobs/bulk-translation"), "RayJob")
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"ray=={job['spec']['rayClusterSpec']['rayVersion']}" in pinned


def test_commands_of_jobs_are_commands() -> None:
    """The command line accepts the commands, options and values of the jobs."""
    (ray,) = of_kind(render("jobs/bulk-translation"), "RayJob")
    (single,) = pods(of_kind(render("jobs/training"), "Job"))
    several = list(pods(of_kind(render("jobs/distributed-training"), "PyTorchJob")))
    commands = [pod.spec["containers"][0]["command"] for pod in (single, *several)]
    for command in (ray["spec"]["entrypoint"].split(), *commands):
        name, *arguments = command[command.index("models") + 1 :]
        group = get_command(app)
        assert isinstance(group, TyperGroup)
        group.commands[name].make_context(name, arguments)  # fails for an unknown option
