"""How the service starts, or says in one sentence why it cannot."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.servers import ROOT, RedisServer, Replica, Replicas, bundle, eventually, free_port


def refusal(replica: Replica) -> str:
    """Start a service that must fail, and return what it says."""
    replica.spawn()
    assert replica.wait() == 2
    return replica.log


@pytest.mark.parametrize("module", ["service", "service.demo"])
@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["--port", "9000"], 2)])
def test_arguments_are_none(module: str, arguments: list[str], status: int) -> None:
    """Any argument leads to the usage message, so that, for example, `--port` is not silently ignored."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert f"usage: python -m {module} [-h]" in done.stdout + done.stderr


def test_host_beyond_loopback_needs_a_redis(new_replicas: Replicas) -> None:
    """The service refuses to start where its own Redis would not suffice."""
    said = refusal(new_replicas.new(host="0.0.0.0"))
    assert (
        said
        == "antecedent: ANTECEDENT_HOST is 0.0.0.0, which is not loopback, so ANTECEDENT_REDIS_URL must name a Redis\n"
    )


def test_bundle_that_is_none(new_replicas: Replicas, tmp_path: Path) -> None:
    """The error names the folder without a manifest."""
    said = refusal(new_replicas.new(bundles=str(tmp_path / "nothing")))
    assert said.startswith(f"antecedent: {tmp_path / 'nothing'}")
    assert said.count("\n") == 1


def test_bundle_root_that_is_none(new_replicas: Replicas, redis_server: RedisServer, tmp_path: Path) -> None:
    """Otherwise every model that is to be loaded would seem to be missing."""
    bundles, root = bundle(tmp_path / "one"), tmp_path / "nothing"
    said = refusal(new_replicas.new(bundles=str(bundles), bundle_root=str(root), redis_url=redis_server.url))
    assert said == f"antecedent: the bundle root, {root}, is not a folder, or may not be entered\n"


def test_bundle_that_a_worker_cannot_load(new_replicas: Replicas, redis_server: RedisServer, tmp_path: Path) -> None:
    """The start ends with the worker's own message about the bundle."""
    bundle(tmp_path / "bad")
    (tmp_path / "bad" / "damaged").touch()
    said = refusal(new_replicas.new(bundles=str(tmp_path / "bad"), redis_url=redis_server.url))
    assert said == f"antecedent: {tmp_path / 'bad'}: model.safetensors is damaged\n"


def test_two_bundles_of_one_name(new_replicas: Replicas, redis_server: RedisServer, tmp_path: Path) -> None:
    """Bundles must have different names."""
    folders = [bundle(tmp_path / name, name="same") for name in ("a", "b")]
    said = refusal(new_replicas.new(bundles=":".join(map(str, folders)), redis_url=redis_server.url))
    assert said == "antecedent: two bundles have the name same\n"


def test_redis_of_another_kind(new_replicas: Replicas, tmp_path: Path) -> None:
    """If the URL takes a Cluster's node for a single Redis, one sentence says so, whatever would have used it first."""
    (tmp_path / "root").mkdir()
    node = RedisServer(tmp_path, "--cluster-enabled", "yes")
    node.start()
    try:
        said = refusal(new_replicas.new(redis_url=node.url, keys="redis", bundle_root=str(tmp_path / "root")))
    finally:
        node.kill()
    assert said.startswith(f"antecedent: ANTECEDENT_REDIS_URL: 127.0.0.1:{node.port} is a node of a Cluster")
    assert said.count("\n") == 1


def test_service_whose_words_cannot_be_written_serves(new_replicas: Replicas, redis_server: RedisServer) -> None:
    """Standard output may be on a full disk, or a pipe that nobody reads any more."""
    port = free_port()
    replica = new_replicas.new(redis_url=redis_server.url, port=str(port))
    process = replica.spawn()
    assert process.stdout is not None
    process.stdout.close()
    eventually(lambda: not replica.alive or _answers(port), "it serves")
    assert replica.end() == 0
    assert "Traceback" not in replica.log


def test_port_in_use(new_replicas: Replicas, redis_server: RedisServer) -> None:
    """A port that is taken is noticed before any model is loaded."""
    port = redis_server.port
    said = refusal(new_replicas.new(redis_url=redis_server.url, port=str(port)))
    assert said == f"antecedent: cannot listen on 127.0.0.1, port {port}: Address already in use\n"


@pytest.mark.parametrize("module", ["service.app", "service.__main__", "service.inference.worker_process"])
def test_http_process_loads_no_model(module: str) -> None:
    """The application does not import torch or CTranslate2, and a worker does so only with its bundle."""
    program = f"import sys, {module}; print(sorted({{'torch', 'ctranslate2'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "[]\n"


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=60, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
