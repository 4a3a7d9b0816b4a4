"""The compose files: their schema, what containers may do, and their commands, which run here without containers."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import yaml

from loadtests.report.verdicts import GRACE_SECONDS
from service.settings import PREFIX, Settings
from service.store.redis_process import find_redis_server
from tests.support.client import translate
from tests.support.image import compose, services
from tests.support.redis_servers import wait_for_redis
from tests.support.servers import ROOT, Replicas, free_port

FILES = ["docker-compose.yml", "docker-compose.gpu.yml"]
"""The second is an override of the first."""


def _own(file: str) -> dict[str, str]:
    """The variables of a file that are the service's settings."""
    return {name: value for name, value in _environment(file).items() if name.startswith(PREFIX)}


def _environment(file: str) -> dict[str, str]:
    found: dict[str, str] = compose(file)["services"]["antecedent"]["environment"]
    return found


def _mounted() -> dict[str, Path]:
    """Files of this project that are mounted in containers, by path there."""
    volumes = [volume.split(":") for service in services().values() for volume in service.get("volumes", ())]
    return {path: ROOT / source for source, path, *_ in volumes if source.startswith("./")}


def test_schema() -> None:
    """Each file conforms to the Compose Specification."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", *FILES]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", services())
def test_containers_may_do_little(name: str) -> None:
    """Each has a read-only root file system, no capabilities and no way to gain any, and ports only on loopback."""
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


@pytest.mark.parametrize("name", services())
def test_images_have_versions(name: str) -> None:
    """No image is simply the latest."""
    tag = services()[name]["image"].partition("@")[0].partition(":")[2]
    assert tag[:1].isdigit() or tag[:2] == "v3"


def test_load_test_gives_a_replica_no_more_time_than_compose() -> None:
    """A replica that compose would kill counts as late in the load test."""
    grace = services()["antecedent"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) >= GRACE_SECONDS


def test_redis_is_reached_by_the_service_alone() -> None:
    """Only the service shares Redis's network, which is internal."""
    assert compose()["networks"]["store"] == {"internal": True}
    assert {name for name, service in services().items() if "store" in service.get("networks", ())} == {
        "antecedent",
        "redis",
    }


@pytest.mark.parametrize("file", FILES)
def test_settings_exist(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variable with the service's prefix is one of its settings, and together they are valid."""
    ours = {name.removeprefix(PREFIX).lower(): value for name, value in _own(file).items()}
    assert ours.keys() <= Settings.model_fields.keys()
    for name, value in (_own(FILES[0]) | _own(file)).items():
        monkeypatch.setenv(name, str(value))
    assert Settings().model_fields_set >= ours.keys()


def test_gpu_is_used_as_in_kubernetes() -> None:
    """The override has the same settings as the manifests for GPUs."""
    (generator,) = yaml.safe_load((ROOT / "deploy/components/cuda/kustomization.yaml").read_text())[
        "configMapGenerator"
    ]
    there = dict(literal.split("=") for literal in generator["literals"])
    assert _own("docker-compose.gpu.yml") == there | {"ANTECEDENT_WORKERS": "1"}


def test_what_is_compiled_for_a_gpu_is_kept() -> None:
    """Compiled code is in a volume, not in /tmp, where Docker forbids execution."""
    (volume,) = compose("docker-compose.gpu.yml")["services"]["antecedent"]["volumes"]
    name, folder = volume.split(":")
    assert name in compose("docker-compose.gpu.yml")["volumes"]
    places = (_environment("docker-compose.gpu.yml")[each] for each in ("CUDA_CACHE_PATH", "TRITON_CACHE_DIR"))
    assert [Path(place).parent for place in places] == [Path(folder)] * 2
    assert f" {folder}\n" in (ROOT / "Dockerfile").read_text()


def test_mounted_files_exist() -> None:
    """Every file that is mounted from this project exists."""
    assert [path for path in _mounted().values() if not path.exists()] == []


def test_prometheus_reads_what_is_mounted() -> None:
    """Its rules are next to its configuration, and it finds every replica at the service's port."""
    configuration = yaml.safe_load(_mounted()["/etc/prometheus/prometheus.yml"].read_text())
    assert [f"/etc/prometheus/{file}" in _mounted() for file in configuration["rule_files"]] == [True]
    (job,) = configuration["scrape_configs"]
    (names,) = job["dns_sd_configs"]
    assert names["names"] == ["antecedent"]
    assert services()["antecedent"]["ports"][0].endswith(f":{names['port']}")


def test_grafana_reads_what_is_mounted() -> None:
    """The dashboards are where it looks for them, and Prometheus is named by its container and port."""
    provisioning = _mounted()["/etc/grafana/provisioning"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "antecedent.yaml").read_text())["providers"]
    dashboards = list(_mounted()[provider["options"]["path"]].glob("*.json"))
    assert [json.loads(file.read_text())["uid"] for file in dashboards] == ["antecedent"]
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert source["url"] == f"http://prometheus:{services()['prometheus']['ports'][0].rpartition(':')[2]}"


def _run(name: str, moved: dict[str, str]) -> subprocess.Popen[bytes]:
    """Run the command of a container here, with paths of this machine instead of its own."""
    words = [word.replace("$$", "$") for word in (*services()[name]["entrypoint"], *services()[name]["command"])]
    for path, here in moved.items():
        words = [word.replace(path, here) for word in words]
    path = f"{find_redis_server().parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(words, env=os.environ | {"PATH": path}, stdout=subprocess.DEVNULL)


def _passwords(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    with _run("passwords", {"/run/passwords": str(folder)}) as process:
        assert process.wait(30) == 0
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_passwords_are_made_once(tmp_path: Path) -> None:
    """Every installation has its own passwords, and keeps them across restarts."""
    made = _passwords(tmp_path / "ours")
    assert made.keys() == {"redis", "grafana"}
    assert len({*made.values(), *_passwords(tmp_path / "another").values()}) == 4
    assert all(len(password.strip()) == 32 for password in made.values())
    assert _passwords(tmp_path / "ours") == made


@pytest.fixture
def first_start(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Redis after a first start, with a port and folder of the test's own; yields the port and passwords' folder."""
    passwords, data, configuration = (tmp_path / name for name in ("passwords", "data", "redis.conf"))
    _passwords(passwords)
    data.mkdir()
    port = free_port()
    given = _mounted()["/etc/redis/redis.conf"].read_text()
    configuration.write_text(given.replace("dir /data", f"dir {data}\nport {port}\nlogfile {data}/log"))
    with _run("redis", {"/etc/redis/redis.conf": str(configuration), "/run/passwords": str(passwords)}) as process:
        with redis.Redis(port=port, password=(passwords / "redis").read_text().strip()) as client:
            wait_for_redis(client)
        yield port, passwords
        process.terminate()
        assert process.wait(30) == 0


def test_first_start(first_start: tuple[int, Path], replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis admits nobody without the generated password; the service has it, and accepts a new key."""
    port, passwords = first_start
    with redis.Redis(port=port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    moved = {"redis://redis": f"redis://127.0.0.1:{port}", "/run/passwords/redis": str(passwords / "redis")}
    settings = {name: moved.get(value, value) for name, value in _environment("docker-compose.yml").items()}
    for name, setting in settings.items():
        monkeypatch.setenv(name, setting)
    command = [sys.executable, "-m", "service.keys", "create", "--tenant", "me"]
    made = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    replica = replicas.new(**{name.removeprefix(PREFIX).lower(): setting for name, setting in settings.items()}).start()
    with replica.client() as client:
        assert translate(client, "彼女は来た。").status_code == 401
        client.headers["authorization"] = f"Bearer {made.stdout.strip()}"
        assert translate(client, "彼女は来た。").status_code == 200
        assert client.get("/health/dependencies").status_code == 200
