"""A secured Redis: a user with only the necessary rights, a password in a file, and TLS."""

import re
from pathlib import Path

import pytest
import trustme
from redis import Redis
from typer.testing import CliRunner

from service import keys
from tests.support.client import PAIR, SENTENCES, begin, check_document, check_file, say, translate
from tests.support.redis_servers import TlsFront
from tests.support.servers import ROOT, RedisServer, Replicas

_GRANT = re.compile(r"^ +ACL SETUSER antecedent on >PASSWORD (.*)$", re.MULTILINE)


def _rights() -> list[str]:
    """The rights that docs/operations.md grants to the service."""
    (rights,) = _GRANT.findall((ROOT / "docs" / "operations.md").read_text())
    return str(rights).split()


def test_user_has_every_command_of_the_scripts() -> None:
    """The documented user may run every command that the Lua scripts call."""
    scripts = (ROOT / "service").glob("**/*.lua")
    called = {name.lower() for script in scripts for name in re.findall(r"redis\.call\('(\w+)'", script.read_text())}
    assert called <= {right.removeprefix("+") for right in _rights()}


def test_user_of_the_documentation_is_enough(
    replicas: Replicas, mortal_redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With that user, over TLS and with a password file, keys, limits, sessions, documents and files work."""
    with Redis(port=mortal_redis.port) as admin:
        admin.execute_command("ACL", "SETUSER", "antecedent", "on", ">hunter2", *_rights())
        admin.config_set("maxmemory-policy", "allkeys-lru")
        admin.execute_command("ACL", "SETUSER", "default", "off")
    with TlsFront(mortal_redis.port) as front:
        settings = {
            "redis_url": f"rediss://antecedent@localhost:{front.port}",
            "redis_ca_file": str(tmp_path / "ca.pem"),
            "redis_password_file": str(tmp_path / "password"),
            "keys": "redis",
        }
        front.authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        (tmp_path / "password").write_text("hunter2\n")
        for name, value in settings.items():
            monkeypatch.setenv(f"ANTECEDENT_{name.upper()}", value)
        made = CliRunner().invoke(keys.app, ["create", "--tenant", "ours", "--concurrency", "5"])
        assert made.exit_code == 0, made.output
        replica = replicas.new(**settings).start()
        with replica.client() as client:
            client.headers["authorization"] = f"Bearer {made.stdout.split()[-1]}"
            session = begin(client)
            for at, text in enumerate(SENTENCES):
                assert say(client, session, text, at).status_code == 200
            check_document(client, session)
            assert translate(client, "a", "b").status_code == 200
            check_file(client)
            assert client.delete(session).status_code == 204
        assert "NOPERM" not in replica.log
        assert "redis_may_evict" in replica.log
        assert "hunter2" not in replica.log
        with Redis(port=mortal_redis.port, username="antecedent", password="hunter2") as ours:
            assert ours.ping()


def test_redis_that_cannot_be_trusted(replicas: Replicas, redis_server: RedisServer, tmp_path: Path) -> None:
    """A Redis with the wrong certificate gets no data, as the log says; sessions are refused, documents served."""
    trustme.CA().cert_pem.write_to_path(tmp_path / "another.pem")
    with TlsFront(redis_server.port) as front:
        url = f"rediss://localhost:{front.port}"
        replica = replicas.new(redis_url=url, redis_ca_file=str(tmp_path / "another.pem")).start()
        with replica.client() as client:
            refused = client.post("/v1/sessions", json=PAIR)
            assert (refused.status_code, refused.json()["code"]) == (503, "session_store_unavailable")
            assert translate(client, "a").status_code == 200
            assert client.get("/health/ready").status_code == 200
        assert "CERTIFICATE_VERIFY_FAILED" in replica.log
