"""Keys from end to end: made by the command, presented by clients, checked by a real server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import IO

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.support.client import PAIR, SHAKE_HANDS
from tests.support.servers import ROOT, RedisServer, Replicas, eventually
from tests.support.streams import opened

QUICK = {"keys_refresh_seconds": "0.05"}


class Command:
    """`python -m service.keys` with the settings of a service."""

    def __init__(self, **settings: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTECEDENT_")}
        self._environment = clean | {f"ANTECEDENT_{name.upper()}": value for name, value in settings.items()}

    def run(self, *arguments: str, stdout: int | IO[str] = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
        """Run it, whether or not it succeeds."""
        command = [sys.executable, "-m", "service.keys", *arguments]
        return subprocess.run(
            command,
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    def create(self, tenant: str, *arguments: str) -> str:
        """Make a key."""
        done = self.run("create", "--tenant", tenant, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def revoke(self, key: str) -> None:
        """Revoke a key."""
        done = self.run("revoke", key.split("_")[1])
        assert (done.returncode, done.stdout) == (0, "")


def bearer(key: str) -> dict[str, str]:
    """The header that presents a key."""
    return {"Authorization": f"Bearer {key}"}


def status(client: httpx.Client, key: str) -> int:
    """The status of a request for a document with that key."""
    return client.post("/v1/documents", json=PAIR | {"sentences": ["一"]}, headers=bearer(key)).status_code


def begun(client: httpx.Client, key: str) -> str:
    """Start a session and return its path."""
    answer = client.post("/v1/sessions", json=PAIR, headers=bearer(key))
    return f"/v1/sessions/{answer.json()['session_id']}"


def rewrite(file: Path, key: str, change: dict[str, object]) -> None:
    """Change a key in the key file, like an operator who generates that file elsewhere."""
    content = json.loads(file.read_text())
    (record,) = [each for each in content["keys"] if each["id"] == key.split("_")[1]]
    record |= change
    written = file.with_suffix(".new")
    written.write_text(json.dumps(content))
    written.replace(file)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer) -> dict[str, str]:
    """Settings for services that keep keys in a file."""
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    return {"keys": "file", "keys_file": str(file), "redis_url": redis_server.url} | QUICK


@pytest.fixture(scope="module")
def command(keyed: dict[str, str]) -> Command:
    """The command for that file."""
    return Command(**keyed)


@pytest.fixture(scope="module")
def key(command: Command) -> str:
    """A valid key."""
    return command.create("acme")


@pytest.fixture(scope="module")
def client(shared_replicas: Replicas, keyed: dict[str, str], key: str) -> Iterator[httpx.Client]:
    """A client, without a key of its own, of a service with keys that listens on all addresses."""
    replica = shared_replicas.new(**keyed, host="0.0.0.0").start()
    with httpx.Client(base_url=replica.url.replace("0.0.0.0", "127.0.0.1"), timeout=60, trust_env=False) as made:
        yield made


def test_key_is_asked_for(client: httpx.Client, key: str) -> None:
    """A valid key gets a translation; a missing or invalid one always gets the same 401."""
    assert status(client, key) == 200
    shown = [
        {},
        {"Authorization": "Bearer"},
        bearer(f"{key}x"),
        bearer(key[:-1] + "~"),
        {"Authorization": f"Basic {key}"},
        {"X-Api-Key": key},
    ]
    refused = [client.post("/v1/documents", json=PAIR | {"text": "一"}, headers=headers) for headers in shown]
    assert {answer.status_code for answer in refused} == {401}
    assert {answer.headers["www-authenticate"] for answer in refused} == {'Bearer realm="antecedent"'}
    bodies = [answer.json() for answer in refused]
    for body in bodies:
        assert body.pop("request_id")
    assert [body["code"] for body in bodies] == ["unauthenticated"] * len(shown)
    assert all(body == bodies[0] for body in bodies)


def test_scheme_is_read_as_http_has_it(client: httpx.Client, key: str) -> None:
    """The word Bearer may be in lower case; a key in the URL is ignored, since URLs end up in logs."""
    assert client.get("/v1/models", headers={"Authorization": f"bearer {key}"}).status_code == 200
    assert client.get("/v1/models", params={"key": key, "access_token": key}).status_code == 401


def test_probes_and_metrics_need_no_key(client: httpx.Client) -> None:
    """Whatever starts, watches and measures the service has no key."""
    for path in ("/health/live", "/health/ready", "/health/dependencies", "/metrics", "/openapi.json"):
        assert client.get(path).status_code == 200


def test_failures_are_counted_by_what_was_wrong(client: httpx.Client, key: str) -> None:
    """The metrics distinguish missing keys from wrong ones, and name neither keys nor tenants."""
    for headers in ({}, bearer("guessed"), bearer(key[:-3] + "abc")):
        client.get("/v1/models", headers=headers)
    metrics = client.get("/metrics").text
    reasons = re.findall(r'antecedent_authentication_failures_total\{reason="(\w+)"\}', metrics)
    assert {"missing", "malformed", "unknown"} <= set(reasons)
    assert "acme" not in metrics
    assert key.split("_")[1] not in metrics


def test_key_with_limits_and_expiry_is_listed_without_its_secret(command: Command) -> None:
    """The list shows whose key it is, what it allows and until when, but not the secret."""
    made = command.create(
        "listed", "--scope", "admin", "--scope", "translate", "--expires-days", "3", "--label", "for the list",
        "--sentences-per-minute", "60", "--concurrency", "4",
    )  # fmt: skip
    _, key_id, secret = made.split("_", 2)
    (row,) = [line for line in command.run("list").stdout.splitlines() if key_id in line]
    assert re.search(r"listed +admin, translate +\d{4}-\d\d-\d\d +\d{4}-\d\d-\d\d +60 +4 +for the list", row)
    assert secret not in row


@pytest.mark.parametrize(
    ("arguments", "settings", "said", "exit_status"),
    [
        (("create", "--tenant", "a:b"), {}, "tenant: ", 2),
        (("create", "--tenant", "a", "--scope", "root"), {}, "scopes: ", 2),
        (("list",), {"keys": "none"}, "ANTECEDENT_KEYS is none", 2),
        (("list",), {"keys": "redis", "redis_url": ""}, "ANTECEDENT_REDIS_URL must name one", 2),
        (("list",), {"keys_file": "/nowhere/keys.json"}, "/nowhere/keys.json: No such file", 1),
        (
            ("list",),
            {"keys": "redis", "redis_url": "redis://127.0.0.1:1"},
            "Redis is unavailable (ConnectionRefusedError)",
            1,
        ),
        (("revoke", "0123456789abcdef"), {}, "there is no key 0123456789abcdef", 1),
        (("revoke", "ant_0123456789abcdef_" + "s" * 50), {}, "there is no key 0123456789abcdef\n", 1),
        (("revoke", "s" * 43), {}, "the id of a key is the 16 characters", 2),
    ],
)
def test_command_that_cannot(
    keyed: dict[str, str], arguments: tuple[str, ...], settings: dict[str, str], said: str, exit_status: int
) -> None:
    """The error is one line on standard error, with an exit status; nothing that looks like a key is printed."""
    done = Command(**keyed | settings).run(*arguments)
    assert (done.returncode, done.stdout) == (exit_status, "")
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_key_that_nobody_has_seen_is_not_kept(command: Command) -> None:
    """If standard output is on a full disk, the key would be valid although nobody has it, so it is revoked."""
    with Path("/dev/full").open("w") as full:
        done = command.run("create", "--tenant", "unseen", stdout=full)
    assert (done.returncode, done.stderr) == (
        1,
        "error: the key cannot be printed, and has been revoked: No space left on device\n",
    )
    assert "unseen" not in command.run("list").stdout


def test_list_that_cannot_be_printed(command: Command) -> None:
    """The reason is given in one line."""
    with Path("/dev/full").open("w") as full:
        done = command.run("list", stdout=full)
    assert (done.returncode, done.stderr) == (1, "error: the list cannot be printed: No space left on device\n")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"keys": "none", "host": "0.0.0.0"},
            "ANTECEDENT_HOST is 0.0.0.0, which is not loopback, so ANTECEDENT_KEYS must be file or redis",
        ),
        ({"keys_file": "/nowhere/keys.json"}, "/nowhere/keys.json: No such file or directory"),
    ],
)
def test_service_that_does_not_start(
    replicas: Replicas, keyed: dict[str, str], settings: dict[str, str], said: str
) -> None:
    """A service that others can reach must have keys, and a configured key file must exist."""
    replica = replicas.new(**keyed | settings)
    replica.spawn()
    assert replica.wait() == 2
    assert f"antecedent: {said}\n" in replica.log


def test_rotation_without_a_failed_request(client: httpx.Client, command: Command) -> None:
    """If clients change to a new key before the old one is revoked, a client that never pauses sees no failure."""
    in_use, stop = [command.create("rotating")], Event()
    old = in_use[0]
    eventually(lambda: status(client, old) == 200, "the first key is valid")

    seen: list[tuple[str, int]] = []

    def work() -> None:
        while not stop.is_set():
            key = in_use[-1]
            seen.append((key, status(client, key)))

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        new = command.create("rotating")
        eventually(lambda: status(client, new) == 200, "the new key is valid")
        eventually(lambda: bool(seen), "the first key is in use")
        in_use.append(new)
        eventually(lambda: seen[-1][0] == new, "the new one is in use")
        command.revoke(old)
        eventually(lambda: status(client, old) == 401, "the old key is refused")
        stop.set()
        working.result()
    assert {code for _, code in seen} == {200}
    assert {key for key, _ in seen} == {old, new}


def test_file_that_gets_damaged(client: httpx.Client, keyed: dict[str, str], key: str, command: Command) -> None:
    """Known keys stay valid; an unknown one gets a 503, since it may be new; a repaired file is read again."""
    unknown = key[:-43] + "A" * 43
    file = Path(keyed["keys_file"])
    good = file.read_text()
    file.write_text(good[: len(good) // 2])
    eventually(lambda: status(client, unknown) == 503, "the damage is noticed")
    assert status(client, key) == 200
    file.write_text(good)
    eventually(lambda: status(client, unknown) == 401, "the file is read again")


def test_keys_in_redis(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """Keys reach running replicas through Redis; during an outage known keys are accepted for a limited time."""
    settings = {
        "keys": "redis",
        "redis_url": mortal_redis.url,
        "keys_outage_seconds": "3",
        "redis_timeout_seconds": "1",
    }
    command = Command(**settings)
    with replicas.new(**settings, **QUICK).start().client() as client:
        key, revoked = command.create("acme"), command.create("acme")
        for made in (key, revoked):
            eventually(lambda made=made: status(client, made) == 200, "the key is valid")
        command.revoke(revoked)
        eventually(lambda: status(client, revoked) == 401, "the key is revoked")
        mortal_redis.kill()
        eventually(lambda: status(client, revoked) == 503, "it is noticed that Redis is away")
        assert status(client, key) == 200
        answer = client.get("/v1/models", headers=bearer(revoked))
        assert (answer.json()["code"], answer.headers["retry-after"]) == ("keys_unavailable", "1")
        eventually(lambda: status(client, key) == 503, "the known keys have become too old")
        mortal_redis.start()
        eventually(lambda: status(client, key) == 200, "the keys are read again")
        assert status(client, revoked) == 401


def test_stream_of_a_browser(client: httpx.Client, key: str) -> None:
    """A page presents the key as a subprotocol; the server selects the other one, so it does not echo the key."""
    session = begun(client, key)
    offered = ["antecedent.v1", f"antecedent.key.{key}"]
    with opened(str(client.base_url), session, subprotocols=offered) as stream:
        assert stream.socket.subprotocol == "antecedent.v1"
        assert stream.greeting["next_position"] == 0
    with (
        pytest.raises(InvalidStatus) as refused,
        opened(str(client.base_url), session, subprotocols=[offered[0], f"{offered[1]}x"]),
    ):
        pass
    assert refused.value.response.status_code == 401


def test_stream_whose_key_is_revoked(client: httpx.Client, command: Command) -> None:
    """The next sentence is refused, and the stream is closed with a code that tells the client not to retry with it."""
    key = command.create("leaving")
    eventually(lambda: status(client, key) == 200, "the key is valid")
    session = begun(client, key)
    with opened(str(client.base_url), session, additional_headers=bearer(key)) as stream:
        stream.send("一")
        assert stream.receive()["type"] == "translation"
        command.revoke(key)
        eventually(lambda: status(client, key) == 401, "the key is revoked")
        stream.send("二")
        assert stream.receive()["code"] == "unauthenticated"
        assert stream.closed()[0] == 1008


@pytest.mark.parametrize(
    ("change", "code"), [({"scopes": ["admin"]}, "forbidden"), ({"tenant": "others"}, "unauthenticated")]
)
def test_stream_whose_key_is_changed(
    client: httpx.Client, keyed: dict[str, str], command: Command, change: dict[str, object], code: str
) -> None:
    """If a key's scope or tenant is changed in the file, an open stream may do no more than a new request."""
    key = command.create("changing")
    eventually(lambda: status(client, key) == 200, "the key is valid")
    session = begun(client, key)
    with opened(str(client.base_url), session, additional_headers=bearer(key)) as stream:
        rewrite(Path(keyed["keys_file"]), key, change)
        eventually(lambda: client.get(session, headers=bearer(key)).status_code != 200, "the change is known")
        stream.send("一")
        assert stream.receive()["code"] == code
        assert stream.closed()[0] == 1008


def test_nothing_of_a_key_in_the_logs(replicas: Replicas, keyed: dict[str, str], key: str) -> None:
    """No keys or tenants are logged, at any level and wherever a key was presented; only the ids of valid keys are."""
    replica = replicas.new(**keyed, log_level="debug").start()
    wrong = key[:-43] + "A" * 43
    with replica.client() as client:
        for shown in (key, wrong, f"{key}x"):
            status(client, shown)
            for offered in (bearer(shown), {"Sec-WebSocket-Protocol": f"antecedent.key.{shown}"}):
                client.get(f"/v1/sessions/{'A' * 22}/stream", headers=SHAKE_HANDS | offered)
        with opened(replica.url, begun(client, key), subprotocols=["antecedent.v1", f"antecedent.key.{key}"]) as stream:
            stream.send("一")
            stream.receive()
    assert replica.end() == 0
    for part in (key[-43:], "A" * 43, "acme"):
        assert part not in replica.log
    requests = [line for line in map(json.loads, replica.log.splitlines()) if line["event"] == "request"]
    assert [line.get("key") for line in requests].count(key.split("_")[1]) == 5
    assert [line.get("key") for line in requests].count(None) == 6


def test_the_description_names_the_key(client: httpx.Client) -> None:
    """The OpenAPI document says where a key is needed, and where not, for generated clients."""
    document = client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation.get("security") == ([{"key": []}] if path.startswith("/v1/") else None)
