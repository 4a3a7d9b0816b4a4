"""The connection to Redis: one server, behind Sentinel or a Cluster, with one interface for all of them."""

import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from redis.asyncio import Redis, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import SSLConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import SentinelConnectionPool, SentinelManagedConnection
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import AuthenticationError, RedisClusterException, RedisError

from service.errors import SettingsError
from service.store.address import Account, Address, Kind, parse_address
from service.store.cluster import Cluster

RedisClient = Redis | Cluster
_C = TypeVar("_C", Redis, Cluster)

CLIENT_NAME = "antecedent"
"""The name of our connections in `CLIENT LIST`."""

_UNBOUNDED = 2**31 - 1
"""The pool never waits or refuses: `Commands` bounds the number of concurrent calls, and so of connections."""


@dataclass(frozen=True, slots=True)
class Security:
    """What the service presents to Redis and requires of it; a file that is not given is not used.

    The files are read for each new connection, so that a new password or certificate needs no restart.
    """

    password_file: Path | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    check_hostname: bool = True


NO_SECURITY = Security()
"""The password of the URL, if any, and the machine's certificate authorities."""


def connect(url: str, timeout: float, security: Security = NO_SECURITY) -> RedisClient:
    """Return a client for a URL of `address.py`; it connects when first used, and waits `timeout` seconds for a reply.

    It repeats nothing by itself: `Commands` does, and bounds the total time.

    Raises:
        SettingsError: the URL is wrong, or a file is missing or not what it should be.
    """
    address = parse_address(url)
    _check(address, security)
    options = _options(timeout) | _tls(address, security) | _credentials(address.account, security.password_file)
    if address.kind is Kind.CLUSTER:
        return _trusting(_cluster(address, options))
    if address.kind is Kind.SENTINEL:
        return _behind_sentinel(address, options, timeout, security)
    options |= {"db": address.database, "max_connections": _UNBOUNDED, "retry": _never()}
    if address.kind is Kind.SOCKET:
        return Redis(unix_socket_path=address.path, **options)
    ((host, port),) = address.hosts
    return _trusting(Redis(host=host, port=port, **options))


def node_name(redis: RedisClient, key: str | None) -> str:
    """Return the name of the node that serves a key, as far as is known; it is always the same without a Cluster."""
    if key is None or not isinstance(redis, Cluster):
        return "redis"
    try:
        node = redis.get_node_from_key(key)
    except RedisClusterException:  # nothing is known of the slots yet
        return "redis"
    return "redis" if node is None else str(node.name)


async def probe(redis: RedisClient, name: str) -> None:
    """Succeed if the node answers, or is no longer one of the Cluster's masters.

    Raises:
        RedisError, RedisClusterException, OSError: it is still away.
    """
    if not isinstance(redis, Cluster):
        await redis.ping()
        return
    await redis.look_again(name)  # its slots may have gone to its replica
    node = redis.nodes_manager.get_node(node_name=name)
    if node is not None:
        await node.execute_command("PING")


async def info_of_any(redis: RedisClient) -> dict[str, Any]:
    """Return the INFO of the first server of the URL that gives it, whatever kind it is; empty if none does."""
    for info in _infos(redis):
        with suppress(RedisError, OSError):
            found: dict[str, Any] = await info()
            return found
    return {}


def _infos(redis: RedisClient) -> list[Callable[[], Awaitable[Any]]]:
    if isinstance(redis, Cluster):
        return [partial(node.execute_command, "INFO") for node in redis.nodes_manager.startup_nodes.values()]
    if isinstance(redis.connection_pool, _MasterPool):
        return [sentinel.info for sentinel in redis.connection_pool.sentinel_manager.sentinels]
    return [redis.info]


async def forget_connections(redis: RedisClient) -> None:
    """Have the next command open a new connection: the host name may now stand for another server."""
    if isinstance(redis, Redis):
        await redis.connection_pool.disconnect(inuse_connections=False)


def _check(address: Address, security: Security) -> None:
    if security.password_file and address.account.password:
        raise SettingsError("ANTECEDENT_REDIS_PASSWORD_FILE: ANTECEDENT_REDIS_URL also has a password; give only one")
    for name in ("password_file", "ca_file", "certificate_file", "key_file"):
        file: Path | None = getattr(security, name)
        if file is not None and not (os.access(file, os.R_OK) and file.is_file()):
            raise SettingsError(f"ANTECEDENT_REDIS_{name.upper()}: there is no file {file}, or it may not be read")
        if file is not None and name != "password_file" and not address.tls:
            raise SettingsError(f"ANTECEDENT_REDIS_{name.upper()}: ANTECEDENT_REDIS_URL does not use TLS")
    _check_certificates(security)


def _check_certificates(security: Security) -> None:
    """Read the certificates once, for a precise error: a connection reads them, too, but only says that it failed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca, certificate, key = security.ca_file, security.certificate_file, security.key_file
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except OSError as error:
            raise SettingsError(f"ANTECEDENT_REDIS_CA_FILE: {ca}: contains no CA certificate: {_why(error)}") from None
    if key is not None and certificate is None:
        raise SettingsError("ANTECEDENT_REDIS_KEY_FILE: ANTECEDENT_REDIS_CERTIFICATE_FILE is not set")
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key, password="")  # else OpenSSL asks for one on the terminal
        except OSError as error:
            files = " and ".join(str(file) for file in (certificate, key) if file is not None)
            said = f"{files}: no certificate with its unencrypted private key: {_why(error)}"
            raise SettingsError(f"ANTECEDENT_REDIS_CERTIFICATE_FILE: {said}") from None


def _why(error: OSError) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) else error.strerror) or "not PEM"


def _options(timeout: float) -> dict[str, Any]:
    return {
        "decode_responses": True,
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "health_check_interval": 0,  # a lost connection is found by a command, which is repeated
        "socket_keepalive": True,
        "client_name": CLIENT_NAME,
        "driver_info": None,
        "protocol": 2,  # fewer commands to connect, so fewer in the ACL; and every proxy speaks it
    }


def _tls(address: Address, security: Security) -> dict[str, Any]:
    if not address.tls:
        return {}
    files = {
        "ssl_ca_certs": security.ca_file,
        "ssl_certfile": security.certificate_file,
        "ssl_keyfile": security.key_file,
    }
    given = {name: str(file) for name, file in files.items() if file is not None}
    return given | {"ssl": True, "ssl_cert_reqs": "required", "ssl_check_hostname": security.check_hostname}


def _credentials(account: Account, password_file: Path | None) -> dict[str, Any]:
    if password_file is not None:
        return {"credential_provider": _PasswordFile(account.username, password_file)}
    return {"username": account.username or None, "password": account.password or None}


class _PasswordFile(CredentialProvider):
    def __init__(self, username: str, file: Path) -> None:
        self._username = username
        self._file = file

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        """Return the user name, if there is one, and the current password in the file.

        Raises:
            AuthenticationError: the file is not text; the decoder's own error would show some of it.
        """
        try:
            password = self._file.read_text("utf-8").strip()
        except UnicodeDecodeError:
            raise AuthenticationError(f"{self._file}: the password is not UTF-8") from None
        return (self._username, password) if self._username else (password,)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        """Do the same: reading a few bytes of a local file does not block noticeably."""
        return self.get_credentials()


def _cluster(address: Address, options: dict[str, Any]) -> Cluster:
    return Cluster(
        startup_nodes=[ClusterNode(host, port) for host, port in address.hosts],
        dynamic_startup_nodes=False,  # names outlive the addresses of restarted containers
        require_full_coverage=False,  # documents in other slots go on
        reinitialize_steps=0,  # look up a moved slot alone, and close no connections for it
        max_connections=_UNBOUNDED,
        retry=_never(),
        **options,
    )


def _behind_sentinel(address: Address, options: dict[str, Any], timeout: float, security: Security) -> Redis:
    account = _credentials(address.sentinel_account, None)
    each = timeout / len(address.hosts)  # they are asked in turn: a silent one must leave time for the others
    sentinels = Sentinel(  # type: ignore[no-untyped-call]
        address.hosts, sentinel_kwargs=_options(each) | _tls(address, security) | account | {"retry": _never()}
    )
    for sentinel in sentinels.sentinels:
        _trusting(sentinel)
    if address.tls:
        options |= {"connection_class": _TlsToMaster}
    pool = _MasterPool(  # type: ignore[no-untyped-call]
        address.master, sentinels, db=address.database, max_connections=_UNBOUNDED, retry=_never(), **options
    )
    return Redis.from_pool(pool)


class _Tls(SSLConnection):
    """Trusts the authorities that it is given and no others; redis-py would also trust those of the system."""

    def _connection_arguments(self) -> Mapping[str, Any]:
        asked = self.ssl_context
        context = ssl.create_default_context(cafile=asked.ca_certs)
        context.check_hostname = asked.check_hostname
        if asked.certfile is not None:
            context.load_cert_chain(asked.certfile, asked.keyfile, password="")
        asked.context = context
        return super()._connection_arguments()


class _TlsToMaster(SentinelManagedConnection, _Tls):
    """The same, to the server that the sentinels call the master."""


def _trusting(redis: _C) -> _C:
    """Replace redis-py's way to connect over TLS, if the client has it, by ours."""
    if isinstance(redis, Redis):
        if redis.connection_pool.connection_class is SSLConnection:
            redis.connection_pool.connection_class = _Tls
    elif redis.connection_kwargs["connection_class"] is SSLConnection:
        redis.connection_kwargs["connection_class"] = _Tls  # of the nodes that it will find
        for node in redis.nodes_manager.startup_nodes.values():
            node.connection_class = _Tls
    return redis


class _MasterPool(SentinelConnectionPool):
    """Connections to the server that the sentinels call the master; closing it also closes those to the sentinels."""

    async def aclose(self) -> None:
        await super().aclose()
        await self.sentinel_manager.aclose()


def _never() -> Retry:
    return Retry(NoBackoff(), 0)
