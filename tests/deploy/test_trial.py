"""The trial, as far as possible without a cluster: its Redis and the service really run as the manifests say."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
import redis

from service.store.redis_process import find_redis_server
from tests.support.client import begin, say, translate
from tests.support.manifests import environment, named, of_kind, pods, render, service_pod
from tests.support.redis_servers import wait_for_redis
from tests.support.servers import ROOT, Replica, Replicas, bundle, eventually, free_port

PASSWORD = "a password, with spaces"
MANIFESTS = "overlays/cpu"


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    """Stands for the mounted Secret."""
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    return file


@pytest.fixture
def trial_redis(tmp_path: Path, password_file: Path) -> Iterator[redis.Redis]:
    """The StatefulSet's Redis, with its command and configuration, but a port and folder of the test's own."""
    manifests = render(MANIFESTS)
    (pod,) = pods([named(manifests, "StatefulSet", "antecedent-redis")])
    (container,) = pod.containers
    (configuration,) = [
        each["data"]["redis.conf"] for each in of_kind(manifests, "ConfigMap") if "redis.conf" in each["data"]
    ]
    port, data = free_port(), tmp_path / "data"
    data.mkdir()
    file = tmp_path / "redis.conf"
    ours = f"dir {data}\nport {port}\nlogfile {data}/log\nset-proc-title no"  # it would hide what it was started with
    file.write_text(configuration.replace("dir /data", ours))
    moved = {"/etc/redis/redis.conf": str(file), "/etc/antecedent/redis/password": str(password_file)}
    path = f"{find_redis_server().parent}{os.pathsep}{os.environ['PATH']}"
    command = [_with(moved, word) for word in (*container["command"], *container["args"])]
    with subprocess.Popen(command, env=os.environ | {"PATH": path}) as process:
        with redis.Redis(port=port, password=PASSWORD) as client:
            wait_for_redis(client)
            yield client
        process.terminate()  # reaches Redis only if the shell has exec'ed it
        assert process.wait(30) == 0


def _with(moved: Mapping[str, str], text: str) -> str:
    for old, new in moved.items():
        text = text.replace(old, new)
    return text


def test_redis_keeps_what_it_has_and_asks_for_the_password(trial_redis: redis.Redis) -> None:
    """It persists data, evicts nothing, and requires the password, which no process shows."""
    wanted = {"appendonly": "yes", "maxmemory-policy": "noeviction", "maxmemory": str(512 * 2**20)}
    assert {name: trial_redis.config_get(name)[name] for name in wanted} == wanted
    with redis.Redis(port=_port(trial_redis)) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    assert trial_redis.info()["process_id"] in [process.pid for process in psutil.Process().children(recursive=True)]
    _check_no_process_shows_the_password()


def _check_no_process_shows_the_password() -> None:
    for process in psutil.Process().children(recursive=True):
        assert PASSWORD not in " ".join([*process.cmdline(), *process.environ().values()])


def _port(client: redis.Redis) -> int:
    port: int = client.connection_pool.connection_kwargs["port"]
    return port


@pytest.fixture
def settings(tmp_path: Path, trial_redis: redis.Redis, password_file: Path) -> dict[str, str]:
    """The Deployment's settings, with addresses and folders of this machine."""
    manifests = render(MANIFESTS)
    bundle(tmp_path / "models" / "ja-en", name="ja-en")
    url = f"redis://127.0.0.1:{_port(trial_redis)}"
    given = environment(manifests, service_pod(manifests), {("antecedent-redis", "url"): url})
    return given | {
        "ANTECEDENT_HOST": "127.0.0.1",
        "ANTECEDENT_PORT": "0",
        "ANTECEDENT_BUNDLE_ROOT": str(tmp_path / "models"),
        "ANTECEDENT_REDIS_PASSWORD_FILE": str(password_file),
    }


@pytest.fixture
def service(replicas: Replicas, settings: dict[str, str]) -> Replica:
    """The service, started with these settings."""
    return replicas.new(**{name.removeprefix("ANTECEDENT_").lower(): value for name, value in settings.items()}).start()


def test_service_is_what_the_manifests_say(service: Replica, settings: dict[str, str]) -> None:
    """The service starts, answers every probe and Prometheus, translates for a new key, and hides Redis's password."""
    manifests = render(MANIFESTS)
    (container,) = service_pod(manifests).containers
    made = subprocess.run(  # as `kubectl exec deploy/antecedent -- python -m service.keys create` does
        [sys.executable, "-m", "service.keys", "create", "--tenant", "acme"],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    with service.client() as client:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert client.get(container[probe]["httpGet"]["path"]).status_code == 200
        assert "antecedent_sentences_waiting" in client.get(_metrics_path()).text
        assert translate(client, "彼女は来た。").status_code == 401
        client.headers["Authorization"] = f"Bearer {made.stdout.split()[-1]}"
        eventually(lambda: translate(client, "彼女は来た。").status_code == 200, "the key is known")
        assert say(client, begin(client), "彼女は来た。").json()["position"] == 0
        _check_no_process_shows_the_password()
    assert service.end() == 0


def _metrics_path() -> str:
    (monitor,) = of_kind(render("components/monitoring"), "ServiceMonitor")
    path: str = monitor["spec"]["endpoints"][0]["path"]
    return path
