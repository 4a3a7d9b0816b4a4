"""Redis URLs."""

import pytest

from service.errors import SettingsError
from service.store.address import Account, Address, Kind, parse_address


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://redis", Address(Kind.SINGLE, (("redis", 6379),))),
        ("redis://[::1]:1/3", Address(Kind.SINGLE, (("::1", 1),), database=3)),
        ("redis://:p%40ss@h", Address(Kind.SINGLE, (("h", 6379),), account=Account("", "p@ss"))),
        ("redis://:p@ss@h", Address(Kind.SINGLE, (("h", 6379),), account=Account("", "p@ss"))),
        ("rediss://user:pass@h:6380", Address(Kind.SINGLE, (("h", 6380),), tls=True, account=Account("user", "pass"))),
        ("unix:///run/redis.sock?db=2", Address(Kind.SOCKET, path="/run/redis.sock", database=2)),
        ("unix://:pass@/run/a%20b", Address(Kind.SOCKET, path="/run/a b", account=Account("", "pass"))),
        (
            "redis+sentinel://user:pass@a,b:1/mymaster/4",
            Address(
                Kind.SENTINEL,
                (("a", 26379), ("b", 1)),
                account=Account("user", "pass"),
                master="mymaster",
                database=4,
            ),
        ),
        (
            "rediss+sentinel://a/mymaster?sentinel_username=u&sentinel_password=p%2Fq",
            Address(Kind.SENTINEL, (("a", 26379),), tls=True, master="mymaster", sentinel_account=Account("u", "p/q")),
        ),
        (
            "redis+sentinel://a/mymaster?sentinel_password=q7Tz+Lk/9w==",
            Address(Kind.SENTINEL, (("a", 26379),), master="mymaster", sentinel_account=Account("", "q7Tz+Lk/9w==")),
        ),
        ("redis+cluster://a:7000,b", Address(Kind.CLUSTER, (("a", 7000), ("b", 6379)))),
        ("rediss+cluster://:p@a/0", Address(Kind.CLUSTER, (("a", 6379),), tls=True, account=Account("", "p"))),
    ],
)
def test_what_a_url_says(url: str, address: Address) -> None:
    """A URL of any kind of Redis gives its hosts, its user and whatever else that kind needs."""
    assert parse_address(url) == address


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://:hunter2@redis", "must begin with"),
        ("hunter2", "must begin with"),
        ("redis://:hunter2@", "no host"),
        ("redis://:hunter2@a,b", "several hosts"),
        ("redis://:hunter2@a:port", "not a URL"),
        ("redis://:hunter2@a/first", "not a number"),
        ("redis://:hunter2@a/1/2", "not a number"),
        ("redis://:a?hunter2@a", "not a URL"),
        ("redis://a?password=hunter2", "an option other than none"),
        ("unix:///socket?password=hunter2", "an option other than db"),
        ("redis+sentinel://:hunter2@a,b", "does not name the master"),
        ("redis+cluster://:hunter2@a/1", "only database 0"),
    ],
)
def test_url_that_says_nothing_sensible(url: str, reason: str) -> None:
    """The error says why, but quotes nothing of the URL, since it might be a password."""
    with pytest.raises(SettingsError, match=f"^ANTECEDENT_REDIS_URL: .*{reason}") as caught:
        parse_address(url)
    assert "hunter2" not in str(caught.value)


def test_passwords_are_not_shown() -> None:
    """The passwords are not in the `repr` of an address, which debuggers and logs may print."""
    address = parse_address("redis+sentinel://:hunter2@a/m?sentinel_password=hunter3")
    assert "hunter" not in repr(address)
