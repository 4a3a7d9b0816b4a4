"""Rules that every pod must follow, including future ones."""

import re
import tomllib
from collections.abc import Sequence

import pytest

from tests.support.manifests import (
    COMPONENTS,
    DEPLOY,
    JOBS,
    ON_GPUS,
    OVERLAYS,
    Manifest,
    Pod,
    named,
    of_kind,
    pods,
    render,
    selects,
    service_pod,
)
from tests.support.servers import ROOT

ALL = (*OVERLAYS, *JOBS, *COMPONENTS)
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
every_folder = pytest.mark.parametrize("folder", ALL)


@every_folder
def test_nothing_runs_as_root(folder: str) -> None:
    """Pods have a non-root user and the default seccomp profile; containers gain no rights and write nothing to /."""
    for pod in pods(render(folder)):
        context = pod.spec["securityContext"]
        assert context["runAsNonRoot"]
        assert context["runAsUser"] > 0
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod.containers:
            assert container["securityContext"] == RESTRICTED, container["name"]


@every_folder
def test_nothing_of_the_node_is_shared(folder: str) -> None:
    """No pod has access to the node's files, network or processes."""
    for pod in pods(render(folder)):
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.spec.keys()
        assert not [volume for volume in pod.spec.get("volumes", ()) if "hostPath" in volume]
        assert not [port for container in pod.containers for port in container.get("ports", ()) if "hostPort" in port]


@every_folder
def test_no_pod_has_a_token(folder: str) -> None:
    """Every pod has its own ServiceAccount, which gives it no access to the cluster."""
    manifests = render(folder)
    accounts = {account["metadata"]["name"]: account for account in of_kind(manifests, "ServiceAccount")}
    for pod in pods(manifests):
        assert pod.spec["automountServiceAccountToken"] is False
        assert accounts[pod.spec["serviceAccountName"]]["automountServiceAccountToken"] is False


@every_folder
def test_services_do_not_set_variables(folder: str) -> None:
    """Otherwise a Service named antecedent would set ANTECEDENT_PORT in every pod that starts after it."""
    assert all(pod.spec["enableServiceLinks"] is False for pod in pods(render(folder)))


@every_folder
def test_every_container_has_limits(folder: str) -> None:
    """Every container requests what it needs, and is limited to the memory that it requests."""
    for pod in pods(render(folder)):
        for container in pod.containers:
            resources = container["resources"]
            assert resources["limits"].keys() >= {"cpu", "memory"}, container["name"]
            assert resources["requests"].keys() == resources["limits"].keys()
            assert resources["requests"]["memory"] == resources["limits"]["memory"]


@every_folder
def test_what_serves_has_probes(folder: str) -> None:
    """Every serving container has all three probes, at ports that it has."""
    for pod in (pod for pod in pods(render(folder)) if pod.serves):
        for container in pod.spec["containers"]:
            ports = {port[field] for port in container["ports"] for field in ("name", "containerPort")}
            for probe in (container[name] for name in PROBES):
                (how,) = probe.keys() & {"httpGet", "tcpSocket", "exec"}
                assert how == "exec" or probe[how]["port"] in ports


@every_folder
def test_images_are_releases(folder: str) -> None:
    """Every image has a version as its tag; ours have that of this release."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for image in (container["image"] for pod in pods(render(folder)) for container in pod.containers):
        name, _, tag = image.rpartition(":")
        assert re.match(r"\d+\.\d+\.\d+", tag), image
        assert not name.endswith("antecedent") or tag.partition("-")[0] == version


@every_folder
def test_mounts_have_volumes(folder: str) -> None:
    """Mounted volumes, claims and ConfigMaps exist; /tmp is always mounted, as the root is read-only."""
    manifests = render(folder)
    for pod in pods(manifests):
        volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", ())}
        claims = {claim["metadata"]["name"] for claim in pod.owner["spec"].get("volumeClaimTemplates", ())}
        for container in pod.spec["containers"]:
            mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
            assert "/tmp" in mounts
            assert set(mounts.values()) <= volumes.keys() | claims
        assert _claims(volumes) <= {claim["metadata"]["name"] for claim in of_kind(manifests, "PersistentVolumeClaim")}
        assert _config_maps(pod) <= {each["metadata"]["name"] for each in of_kind(manifests, "ConfigMap")}


def _claims(volumes: Manifest) -> set[str]:
    found = (volume.get("persistentVolumeClaim", {}).get("claimName") for volume in volumes.values())
    return {claim for claim in found if claim}


def _config_maps(pod: Pod) -> set[str]:
    mounted = (volume["configMap"]["name"] for volume in pod.spec.get("volumes", ()) if "configMap" in volume)
    read = (
        source["configMapRef"]["name"]
        for container in pod.containers
        for source in container.get("envFrom", ())
        if "configMapRef" in source
    )
    return {*mounted, *read}


@every_folder
def test_no_traffic_but_what_is_allowed(folder: str) -> None:
    """An empty policy denies all traffic of every pod by default; no other rule allows arbitrary sources or targets."""
    policies = of_kind(render(folder), "NetworkPolicy")
    everything = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert [policy["metadata"]["name"] for policy in policies if policy["spec"] == everything] == ["default-deny"]
    for policy in policies:
        for rule in policy["spec"].get("ingress", ()):
            assert rule["from"]
        for rule in policy["spec"].get("egress", ()):
            assert rule["to"]


@pytest.mark.parametrize("folder", OVERLAYS)
def test_service_reaches_its_redis(folder: str) -> None:
    """A policy allows the service to reach Redis and, except in the trial, sentinels."""
    manifests = render(folder)
    wanted = {6379} if of_kind(manifests, "StatefulSet") else {6379, 26379}
    assert any(wanted <= _ports(rule) for rule in _ways_out(manifests, service_pod(manifests)))


def _ports(rule: Manifest) -> set[int]:
    return {port["port"] for port in rule["ports"]}


def _ways_out(manifests: Sequence[Manifest], pod: Pod) -> list[Manifest]:
    policies = [policy["spec"] for policy in of_kind(manifests, "NetworkPolicy")]
    hold = [policy for policy in policies if selects(policy["podSelector"].get("matchLabels", {}), pod)]
    return [rule for policy in hold for rule in policy.get("egress", ())]


@pytest.mark.parametrize("folder", ["components/ingress", "overlays/production", ON_GPUS])
def test_challenges_of_certificates_are_let_in(folder: str) -> None:
    """The service's callers may also reach, at its port only, the pod with which cert-manager answers HTTP-01."""
    manifests = render(folder)
    callers = named(manifests, "NetworkPolicy", "antecedent-callers")["spec"]["ingress"]
    challenges = named(manifests, "NetworkPolicy", "certificate-challenges")["spec"]
    assert challenges["podSelector"]["matchLabels"] == {"acme.cert-manager.io/http01-solver": "true"}
    assert challenges["ingress"] == [rule | {"ports": [{"protocol": "TCP", "port": 8089}]} for rule in callers]


@every_folder
def test_evictions_leave_replicas(folder: str) -> None:
    """Every Deployment has a PodDisruptionBudget."""
    manifests = render(folder)
    budgets = [budget["spec"]["selector"] for budget in of_kind(manifests, "PodDisruptionBudget")]
    assert all(deployment["spec"]["selector"] in budgets for deployment in of_kind(manifests, "Deployment"))


def test_no_secrets_in_the_repository() -> None:
    """Passwords and keys are made where they are used; no manifest contains or generates any."""
    for file in DEPLOY.rglob("*.yaml"):
        assert not re.search(r"^kind: Secret$|^secretGenerator:", file.read_text(), re.MULTILINE), file
