"""Where Redis is: parses the forms of its URL, without connecting.

    redis://[[user]:password@]host[:6379][/database]                       rediss:// with TLS
    unix://[[user]:password@]/path/of/socket[?db=database]
    redis+sentinel://[[user]:password@]host[:26379],.../master[/database]  rediss+sentinel:// with TLS
    redis+cluster://[[user]:password@]host[:6379],...                      rediss+cluster:// with TLS

If the sentinels have a password of their own, it is given as `?sentinel_username=...&sentinel_password=...`.
"""

from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from service.errors import SettingsError

_REDIS_PORT, _SENTINEL_PORT = 6379, 26379


class Kind(Enum):
    """What kind of server the address belongs to."""

    SINGLE = "redis"
    SOCKET = "unix"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Account:
    """An ACL user and its password; without a name it is `default`, and an empty password means none."""

    username: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Address:
    """A Redis, and the account to use there; `master` and `sentinel_account` are for Sentinel, `path` for a socket."""

    kind: Kind
    hosts: tuple[tuple[str, int], ...] = ()
    tls: bool = False
    account: Account = Account()
    database: int = 0
    path: str = ""
    master: str = ""
    sentinel_account: Account = Account()

    @property
    def place(self) -> str:
        """Where it is, without any credentials."""
        return self.path or ",".join(f"{host}:{port}" for host, port in self.hosts)


_SCHEMES = {
    "redis": (Kind.SINGLE, False),
    "rediss": (Kind.SINGLE, True),
    "unix": (Kind.SOCKET, False),
    "redis+sentinel": (Kind.SENTINEL, False),
    "rediss+sentinel": (Kind.SENTINEL, True),
    "redis+cluster": (Kind.CLUSTER, False),
    "rediss+cluster": (Kind.CLUSTER, True),
}
_OPTIONS = {
    Kind.SINGLE: set[str](),
    Kind.SOCKET: {"db"},
    Kind.SENTINEL: {"sentinel_username", "sentinel_password"},
    Kind.CLUSTER: set[str](),
}


def parse_address(url: str) -> Address:
    """Parse a URL.

    Raises:
        SettingsError: it has none of the forms above; the message quotes no part of it, as it may hold a password.
    """
    try:
        return _address(urlsplit(url))
    except ValueError as error:
        reason = str(error) if isinstance(error, _UrlError) else "it is not a URL"
        raise SettingsError(f"ANTECEDENT_REDIS_URL: {reason}; see docs/configuration.md") from None


class _UrlError(ValueError):
    """What is wrong with a URL, without quoting it."""


def _address(parts: SplitResult) -> Address:
    if parts.scheme not in _SCHEMES:
        raise _UrlError(f"a Redis URL must begin with one of {', '.join(f'{scheme}://' for scheme in _SCHEMES)}")
    kind, tls = _SCHEMES[parts.scheme]
    userinfo, _, hosts = parts.netloc.rpartition("@")
    account = _account(*userinfo.partition(":")[::2])
    options = _options(parts.query, kind)
    if kind is Kind.SOCKET:
        return Address(kind, account=account, path=unquote(parts.path), database=_database(options.get("db", "")))
    default_port = _SENTINEL_PORT if kind is Kind.SENTINEL else _REDIS_PORT
    path = [unquote(part) for part in parts.path.strip("/").split("/")]
    master = path.pop(0) if kind is Kind.SENTINEL else ""
    if kind is Kind.SENTINEL and not master:
        raise _UrlError("it does not name the master, after the hosts of the sentinels")
    return Address(
        kind,
        hosts=_hosts(hosts, default_port, several=kind is not Kind.SINGLE),
        tls=tls,
        account=account,
        database=_database(*path, most=0 if kind is Kind.CLUSTER else None),
        master=master,
        sentinel_account=Account(options.get("sentinel_username", ""), options.get("sentinel_password", "")),
    )


def _account(username: str, password: str) -> Account:
    return Account(unquote(username), unquote(password))


def _options(query: str, kind: Kind) -> dict[str, str]:
    options = {
        name: values[-1] for name, values in parse_qs(query.replace("+", "%2B"), strict_parsing=bool(query)).items()
    }
    if not options.keys() <= _OPTIONS[kind]:
        raise _UrlError(f"it has an option other than {', '.join(sorted(_OPTIONS[kind])) or 'none'}")
    return options


def _hosts(hosts: str, default_port: int, *, several: bool) -> tuple[tuple[str, int], ...]:
    split = [urlsplit(f"//{host}") for host in hosts.split(",")]
    if len(split) > 1 and not several:
        raise _UrlError("it names several hosts, which is only possible for Sentinel and Cluster")
    found = tuple((host.hostname or "", host.port or default_port) for host in split)
    if not all(name for name, _ in found):
        raise _UrlError("it names no host")
    return found


def _database(*path: str, most: int | None = None) -> int:
    number = "/".join(path) or "0"
    if not number.isascii() or not number.isdigit():
        raise _UrlError("its database is not a number")
    if most is not None and int(number) > most:
        raise _UrlError("a Redis Cluster has only database 0")
    return int(number)
