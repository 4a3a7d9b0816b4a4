"""The settings in the manifests are valid for the service and agree with the rest of each manifest."""

import re
from math import ceil

import pytest
from pydantic import SecretStr

from loadtests.report.verdicts import GRACE_SECONDS
from service.__main__ import _SLOW_CLIENT_SECONDS
from service.settings import PREFIX, Settings, load_settings
from tests.support.manifests import COMPONENTS, ON_GPUS, OVERLAYS, Manifest, environment, named, render, service_pod
from tests.support.servers import ROOT

ALL = (*OVERLAYS, *COMPONENTS)
SECRETS = {("antecedent-redis", "url"): "redis://antecedent-redis:6379"}
HTTP_PROCESS_MIB = 1024
"""Memory for the HTTP process and for a worker that is being replaced."""
every_folder = pytest.mark.parametrize("folder", ALL)


def settings_of(folder: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of the service in a folder, read as the service would read them."""
    manifests = render(folder)
    for name, value in environment(manifests, service_pod(manifests), SECRETS).items():
        monkeypatch.setenv(name, value)
    return load_settings()


@every_folder
def test_every_setting_exists(folder: str) -> None:
    """No variable is misspelt or belongs to a setting that no longer exists."""
    manifests = render(folder)
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    assert environment(manifests, service_pod(manifests), SECRETS).keys() <= known


@every_folder
def test_service_would_start(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service accepts the settings, listens on all addresses, and keeps keys in Redis."""
    settings = settings_of(folder, monkeypatch)
    assert settings.host == "0.0.0.0"
    assert settings.keys == "redis"


@every_folder
def test_secret_settings_come_from_secrets(folder: str) -> None:
    """No ConfigMap or manifest contains the value of a secret setting."""
    manifests = render(folder)
    secret = {PREFIX + name.upper() for name, field in Settings.model_fields.items() if _is_secret(field.annotation)}
    assert f"{PREFIX}REDIS_URL" in secret
    (container,) = service_pod(manifests).spec["containers"]
    plain = {variable["name"] for variable in container["env"] if "secretKeyRef" not in variable.get("valueFrom", {})}
    for source in container["envFrom"]:
        plain |= named(manifests, "ConfigMap", source["configMapRef"]["name"])["data"].keys()
    assert not secret & plain


def _is_secret(annotation: object) -> bool:
    return SecretStr in (annotation, *getattr(annotation, "__args__", ()))


@every_folder
def test_port_is_the_containers(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service listens on the port that the container declares."""
    (container,) = service_pod(render(folder)).spec["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": settings_of(folder, monkeypatch).port}]


@every_folder
def test_files_are_mounted(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password file is in a folder where the whole Secret is mounted, so that updates arrive."""
    pod = service_pod(render(folder))
    file = settings_of(folder, monkeypatch).redis_password_file
    assert file is not None
    (mount,) = [each for each in pod.spec["containers"][0]["volumeMounts"] if each["mountPath"] == str(file.parent)]
    assert "subPath" not in mount
    (volume,) = [each for each in pod.spec["volumes"] if each["name"] == mount["name"]]
    assert volume["secret"]["secretName"] == "antecedent-redis"


@every_folder
def test_grace_covers_the_drain(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grace period covers leaving the endpoints, finishing requests in flight, and letting slow clients read."""
    spec = service_pod(render(folder)).spec
    leaving = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = settings_of(folder, monkeypatch).drain_seconds
    assert spec["terminationGracePeriodSeconds"] >= leaving + drain + _SLOW_CLIENT_SECONDS + 5


@every_folder
def test_load_test_gives_a_replica_no_more_time_than_kubernetes(folder: str) -> None:
    """The preStop hook precedes SIGTERM and uses up part of the grace period."""
    spec = service_pod(render(folder)).spec
    leaving = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] - leaving >= GRACE_SECONDS


@every_folder
def test_start_may_take_as_long_as_its_workers_may(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The startup probe does not give up before the service itself does."""
    probe = service_pod(render(folder)).spec["containers"][0]["startupProbe"]
    settings = settings_of(folder, monkeypatch)
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 2 * settings.worker_start_seconds


@every_folder
def test_memory_has_room_for_the_workers(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Growing workers are replaced before the pod is killed for their memory, even while models are being swapped."""
    settings = settings_of(folder, monkeypatch)
    assert settings.worker_memory_mib is not None
    models = len(settings.bundles) + (settings.bundle_root is not None)  # a change of models needs room for one more
    assert _memory_mib(folder) >= models * settings.workers * settings.worker_memory_mib + HTTP_PROCESS_MIB


def _memory_mib(folder: str) -> int:
    (container,) = service_pod(render(folder)).spec["containers"]
    amount = re.fullmatch(r"(\d+)Gi", container["resources"]["limits"]["memory"])
    assert amount is not None
    return int(amount[1]) * 1024


def test_table_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's table agrees with the manifests, and gives the memory needed if models are never changed."""
    row = re.compile(r"^\|.* `(overlays/\w+)` \| (\d+) \| (\d+) MiB \| (\d+)Gi \| (\d+)Gi \|$", re.MULTILINE)
    rows = row.findall((ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8"))
    assert [folder for folder, *_ in rows] == ["overlays/cpu", "overlays/production", "overlays/gpu"]
    for folder, *told in rows:
        with monkeypatch.context() as alone:
            settings = settings_of(folder, alone)
        worker = settings.worker_memory_mib or 0
        one_model = ceil((settings.workers * worker + HTTP_PROCESS_MIB) / 1024)
        assert [int(each) for each in told] == [settings.workers, worker, _memory_mib(folder) // 1024, one_model]


def test_production_on_gpus() -> None:
    """With the component, `production` uses the CUDA image from its registry and the resources of a GPU pod."""
    (made,), (alone,) = (service_pod(render(folder)).spec["containers"] for folder in (ON_GPUS, "components/cuda"))
    assert made["image"] == f"registry.example.com/{alone['image']}"
    assert alone["image"].endswith("-cuda")
    assert made["resources"] == alone["resources"]


@every_folder
def test_a_worker_for_each_core_or_gpu(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a worker for each requested core or, on GPUs, for each GPU, and the device setting matches."""
    resources = service_pod(render(folder)).spec["containers"][0]["resources"]
    limits, settings = resources["limits"], settings_of(folder, monkeypatch)
    assert settings.device == ("cuda" if "nvidia.com/gpu" in limits else "cpu")
    assert settings.workers == int(limits.get("nvidia.com/gpu", resources["requests"]["cpu"]))
    assert int(limits["cpu"]) > settings.workers, "or workers would leave nothing to the process that answers for them"


@pytest.mark.parametrize("folder", ["overlays/production", "components/ingress"])
def test_ingress_fits_the_limits(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy accepts bodies as large as the service does, and its timeouts exceed the silences of streams."""
    annotations = _annotations(named(render(folder), "Ingress", "antecedent"))
    settings = settings_of(folder, monkeypatch)
    assert annotations["client-max-body-size"] == f"{settings.max_file_bytes // 2**20 + 1}m"
    assert settings.max_file_bytes % 2**20 == 0
    for name in ("proxy-read-timeout", "proxy-send-timeout"):
        assert int(annotations[name].removesuffix("s")) > max(
            2 * settings.stream_ping_seconds, settings.stream_idle_seconds, settings.deadline_seconds
        )
    assert annotations["proxy-buffering"] == "False"
    assert annotations["websocket-services"] == "antecedent"


def _annotations(manifest: Manifest) -> dict[str, str]:
    return {name.partition("/")[2]: value for name, value in manifest["metadata"]["annotations"].items()}
