"""Connections to a real Redis: users, passwords, TLS."""

import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest
import trustme
from redis import Redis as Admin
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.exceptions import AuthenticationError, RedisClusterException
from redis.exceptions import ConnectionError as RedisConnectionError

from service.errors import SettingsError
from service.store.connection import NO_SECURITY, RedisClient, Security, connect
from service.store.failures import code_of
from tests.support.redis_servers import TlsFront
from tests.support.servers import RedisServer, free_port


@asynccontextmanager
async def connected(url: str, security: Security = NO_SECURITY) -> AsyncIterator[RedisClient]:
    """A client, which is closed afterwards."""
    client = connect(url, 60, security)
    try:
        yield client
    finally:
        await client.aclose()


@pytest.fixture
def user(redis_server: RedisServer) -> Iterator[str]:
    """An ACL user with the password hunter2."""
    with Admin(port=redis_server.port) as admin:
        admin.acl_setuser("somebody", enabled=True, passwords=["+hunter2"], commands=["+ping", "+client"])
        yield "somebody"
        admin.acl_deluser("somebody")


async def test_a_password_that_is_no_text_is_one_that_is_refused(redis_server: RedisServer, tmp_path: Path) -> None:
    """A password file that is not UTF-8 counts as a wrong password, and the error does not show it."""
    file = tmp_path / "password"
    file.write_bytes(b"himitsu\xff")
    async with connected(redis_server.url, Security(password_file=file)) as client:
        with pytest.raises(AuthenticationError, match="not UTF-8") as raised:
            await client.ping()
    assert "himitsu" not in str(raised.getrepr(style="short"))


@pytest.fixture
def front(redis_server: RedisServer) -> Iterator[TlsFront]:
    """A TLS front for the shared Redis."""
    with TlsFront(redis_server.port) as front:
        yield front


def _authority(front: TlsFront, folder: Path) -> Path:
    file = folder / "ca.pem"
    front.authority.cert_pem.write_to_path(file)
    return file


async def test_connections_have_a_name(redis_server: RedisServer) -> None:
    """In the client list of a Redis, ours can be told by name."""
    async with connected(redis_server.url) as client:
        assert (await client.client_getname()) == "antecedent"


async def test_user_and_password_of_the_url(redis_server: RedisServer, user: str) -> None:
    """A URL may name an ACL user; a wrong password is refused, and not shown anywhere."""
    async with connected(f"redis://{user}:hunter2@127.0.0.1:{redis_server.port}") as client:
        assert await client.ping()
    async with connected(f"redis://{user}:hunter3@127.0.0.1:{redis_server.port}") as client:
        with pytest.raises(RedisConnectionError) as caught:
            await client.ping()
        assert "hunter" not in f"{caught.value!r} {client!r} {client.connection_pool!r}"


async def test_password_in_a_file(redis_server: RedisServer, user: str, tmp_path: Path) -> None:
    """The file is read again for every connection, so that the password can be changed while the service runs."""
    file = tmp_path / "password"
    file.write_text("hunter2\n")
    url = f"redis://{user}@127.0.0.1:{redis_server.port}"
    async with connected(url, Security(password_file=file)) as client:
        assert await client.ping()
        with Admin(port=redis_server.port) as admin:
            admin.acl_setuser(user, enabled=True, passwords=["-hunter2", "+hunter3"])
            admin.client_kill_filter(_type="normal", skipme=True)
        file.write_text("hunter3")
        with suppress(RedisConnectionError):  # on the killed connection
            await client.ping()
        assert await client.ping()


async def test_two_passwords_are_refused(tmp_path: Path) -> None:
    """A password in the URL and one in a file contradict each other."""
    file = tmp_path / "password"
    file.touch()
    with pytest.raises(SettingsError, match="ANTECEDENT_REDIS_PASSWORD_FILE"):
        connect("redis://:hunter2@localhost", 1, Security(password_file=file))


@pytest.mark.parametrize("name", ["none", "n" * 300, "."])
async def test_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    """A file that is missing or has an impossible name is reported at the start, with its setting."""
    with pytest.raises(SettingsError, match="ANTECEDENT_REDIS_CA_FILE: there is no file"):
        connect("rediss://localhost", 1, Security(ca_file=tmp_path / name))


@pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file"])
async def test_encryption_that_the_address_does_not_ask_for(tmp_path: Path, name: str) -> None:
    """Whoever provides a certificate believes that the connection is encrypted."""
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="ANTECEDENT_REDIS_URL does not use TLS"):
        connect("redis://localhost", 1, Security(**{name: tmp_path / "file"}))


async def test_tls(front: TlsFront, tmp_path: Path) -> None:
    """A Redis is trusted if its certificate is signed by the authority and names its host."""
    security = Security(ca_file=_authority(front, tmp_path))
    async with connected(f"rediss://localhost:{front.port}", security) as client:
        assert await client.ping()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("authority", "CERTIFICATE_VERIFY_FAILED"),
        ("host", "CERTIFICATE_OF_ANOTHER_HOST"),
        ("plain", "ConnectionError"),
    ],
)
async def test_tls_that_cannot_be_trusted(front: TlsFront, tmp_path: Path, wrong: str, reason: str) -> None:
    """The connection fails if the certificate is from another authority or for another host, or if one side lacks TLS.

    The reason distinguishes this from a Redis that cannot be reached.
    """
    security = Security(ca_file=_authority(front, tmp_path)) if wrong == "host" else NO_SECURITY
    host = "127.0.0.1" if wrong == "host" else "localhost"
    scheme = "redis" if wrong == "plain" else "rediss"
    async with connected(f"{scheme}://{host}:{front.port}", security) as client:
        with pytest.raises(RedisConnectionError) as raised:
            await client.ping()
    assert code_of(raised.value) == reason


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("rediss://localhost:{}", "CERTIFICATE_VERIFY_FAILED"),
        ("rediss+cluster://localhost:{}", "CERTIFICATE_VERIFY_FAILED"),
        ("rediss+sentinel://localhost:{}/mymaster", "MasterNotFoundError"),
    ],
)
async def test_authorities_of_the_system_are_not_trusted_beside_the_given_one(
    front: TlsFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, reason: str
) -> None:
    """A certificate is refused if the system trusts its authority, but the operator has named another one."""
    monkeypatch.setenv("SSL_CERT_FILE", str(_authority(front, tmp_path)))
    trustme.CA().cert_pem.write_to_path(tmp_path / "ours.pem")
    security = Security(ca_file=tmp_path / "ours.pem", check_hostname=False)
    async with connected(url.format(front.port), security) as client:
        with pytest.raises((RedisConnectionError, RedisClusterException)) as raised:
            await client.ping()
    assert code_of(raised.value) == reason


async def test_master_is_trusted_as_the_sentinels_are(
    front: TlsFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same applies to the server that the sentinels name."""

    async def found(_pool: SentinelConnectionPool) -> tuple[str, int]:
        return "localhost", front.port

    monkeypatch.setattr(SentinelConnectionPool, "get_master_address", found)
    monkeypatch.setenv("SSL_CERT_FILE", str(_authority(front, tmp_path)))
    trustme.CA().cert_pem.write_to_path(tmp_path / "ours.pem")
    async with connected(
        "rediss+sentinel://nowhere.invalid/mymaster", Security(ca_file=tmp_path / "ours.pem")
    ) as client:
        with pytest.raises(RedisConnectionError) as raised:
            await client.ping()
        assert code_of(raised.value) == "CERTIFICATE_VERIFY_FAILED"
    async with connected("rediss+sentinel://nowhere.invalid/mymaster", Security(ca_file=tmp_path / "ca.pem")) as client:
        assert await client.ping()


async def test_renewed_certificate_needs_no_restart(redis_server: RedisServer, tmp_path: Path) -> None:
    """The files are read again for every connection, so that a certificate can be renewed while the service runs."""
    certificate, key = _certificate(tmp_path, "ours")
    clients = trustme.CA()
    with TlsFront(redis_server.port, clients=clients) as front:
        security = Security(ca_file=_authority(front, tmp_path), certificate_file=certificate, key_file=key)
        async with connected(f"rediss://localhost:{front.port}", security) as client:
            with pytest.raises(RedisConnectionError):
                await client.ping()
            _certificate(tmp_path, "ours", of=clients)
            assert await client.ping()


async def test_redis_that_is_not_there(tmp_path: Path) -> None:
    """If nothing listens, or the host is unknown, the reason says so."""
    found = {
        f"rediss://localhost:{free_port()}": "ConnectionRefusedError",
        "redis://nowhere.invalid": "gaierror",
        f"unix://{tmp_path / 'nothing'}": "FileNotFoundError",
    }
    for url, reason in found.items():
        async with connected(url) as client:
            with pytest.raises(RedisConnectionError) as raised:
                await client.ping()
        assert code_of(raised.value) == reason


async def test_password_where_there_is_none(redis_server: RedisServer) -> None:
    """The reason is more specific than Redis's own code, which is just ERR."""
    async with connected(f"redis://:himitsu@127.0.0.1:{redis_server.port}") as client:
        with pytest.raises(AuthenticationError) as raised:
            await client.ping()
    assert code_of(raised.value) == "NOPASSWORD"


@contextmanager
def demanding(authority: trustme.CA) -> Iterator[int]:
    """The port of a server that tells its one client that a certificate is required."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED

    def tell() -> None:
        accepted, _ = listener.accept()
        with context.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False) as connection:
            with suppress(ssl.SSLError):
                connection.do_handshake()
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=tell)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


async def test_certificate_that_is_not_shown(tmp_path: Path) -> None:
    """The reason is the server's alert."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with demanding(authority) as port:
        async with connected(f"rediss://localhost:{port}", Security(ca_file=tmp_path / "ca.pem")) as client:
            with pytest.raises(RedisConnectionError) as raised:
                await client.ping()
    assert code_of(raised.value) == "TLSV13_ALERT_CERTIFICATE_REQUIRED"


def _certificate(folder: Path, name: str, *, of: trustme.CA | None = None) -> tuple[Path, Path]:
    """A certificate and its key, of an authority of its own unless one is given."""
    made, files = (of or trustme.CA()).issue_cert(name), (folder / f"{name}.pem", folder / f"{name}.key")
    made.cert_chain_pems[0].write_to_path(files[0])
    made.private_key_pem.write_to_path(files[1])
    return files


async def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    """They are reported at the start, each with its setting, rather than by failing connections."""
    (nothing := tmp_path / "nothing.pem").write_text("himitsu")
    certificate, key = _certificate(tmp_path, "ours")
    _, another = _certificate(tmp_path, "another")
    wrong = {
        "CA_FILE: .*nothing.pem: contains no CA certificate": Security(ca_file=nothing),
        "CERTIFICATE_FILE: .*nothing.pem: no certificate": Security(certificate_file=nothing),
        "CERTIFICATE_FILE: .*ours.pem: no certificate": Security(certificate_file=certificate),
        "CERTIFICATE_FILE: .*KEY_VALUES_MISMATCH": Security(certificate_file=certificate, key_file=another),
        "CERTIFICATE_FILE: .*ours.pem and .*nothing.pem: no": Security(certificate_file=certificate, key_file=nothing),
        "KEY_FILE: ANTECEDENT_REDIS_CERTIFICATE_FILE is not set": Security(key_file=key),
    }
    for said, security in wrong.items():
        with pytest.raises(SettingsError, match=f"^ANTECEDENT_REDIS_{said}") as raised:
            connect("rediss://localhost", 1, security)
        assert "himitsu" not in str(raised.value)
    connect("rediss://localhost", 1, Security(certificate_file=certificate, key_file=key))


async def test_host_name_can_be_left_unchecked(front: TlsFront, tmp_path: Path) -> None:
    """On request only the authority is checked, for certificates that name no host."""
    security = Security(ca_file=_authority(front, tmp_path), check_hostname=False)
    async with connected(f"rediss://127.0.0.1:{front.port}", security) as client:
        assert await client.ping()


async def test_certificate_of_the_client(redis_server: RedisServer, tmp_path: Path) -> None:
    """A Redis that demands a client certificate gets it, and refuses clients without one."""
    clients = trustme.CA()
    ours = tmp_path / "ours.pem"
    clients.issue_cert("antecedent").private_key_and_cert_chain_pem.write_to_path(ours)
    with TlsFront(redis_server.port, clients=clients) as front:
        url, authority = f"rediss://localhost:{front.port}", _authority(front, tmp_path)
        async with connected(url, Security(ca_file=authority, certificate_file=ours)) as client:
            assert await client.ping()
        async with connected(url, Security(ca_file=authority)) as client:
            with pytest.raises(RedisConnectionError):
                await client.ping()


@pytest.mark.parametrize("kind", ["redis", "redis+sentinel", "redis+cluster"])
async def test_no_password_in_what_is_printed(kind: str) -> None:
    """Neither connection errors nor the client itself show a password, wherever in the URL it is."""
    path = "/master?sentinel_password=hunter3" if kind == "redis+sentinel" else ""
    async with connected(f"{kind}://user:hunter2@127.0.0.1:{free_port()}{path}") as client:
        with pytest.raises(Exception, match=r"\S") as caught:
            await client.ping()
        assert "hunter" not in f"{caught.value!r} {caught.value} {client!r}"
