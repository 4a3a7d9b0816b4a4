"""Every example of docs/clients.md runs as it is and prints what the page says; some run on a bad line, too."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.bad_line import bad_line
from tests.support.roots import fresh_database, make_key
from tests.support.servers import ROOT, RedisServer, Replica, bundle

PAGE = ROOT / "docs" / "clients.md"
ADDRESS = "127.0.0.1:8000"
SESSION, STREAM = "A document that grows: a session", "A session over a WebSocket"
SUFFIXES = {"sh": ".sh", "python": ".py", "javascript": ".mjs"}
COMMANDS = {
    "sh": ("bash", "-euo", "pipefail"),
    "python": (sys.executable,),
    "javascript": ("node", "--experimental-websocket"),
}
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """Code of a section of the page, and what it prints."""

    section: str
    language: str
    code: str
    output: str

    def __str__(self) -> str:
        return f"{self.section}, {self.language}"


def examples() -> list[Example]:
    """All of the page: each is followed by what it prints."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        fences = _FENCE.findall(section)
        for (language, code), (kind, output) in zip(fences[::2], fences[1::2], strict=True):
            assert kind == "text"
            found.append(Example(section.splitlines()[0], language, code, output))
    return found


@dataclass(frozen=True)
class Service:
    """Where a service is, the keys that it knows, and its file of keys."""

    address: str
    keys_file: Path
    keys: dict[str, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the files of the services."""
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def settings(folder: Path, redis_server: RedisServer) -> dict[str, str]:
    """Of both services."""
    for name in ("ja-en", "ja-en-formal"):
        bundle(folder / "bundles" / name, name=name)
    return {"ANTECEDENT_BUNDLES": str(folder / "bundles" / "ja-en"), "ANTECEDENT_REDIS_URL": redis_server.url}


@pytest.fixture(scope="module")
def open_service(folder: Path, settings: dict[str, str]) -> Iterator[Service]:
    """A service without keys."""
    (folder / "open").mkdir()
    replica = Replica(folder / "open", "tests.support.phrase_book", settings)
    try:
        yield Service(replica.start().url.removeprefix("http://"), folder / "none.json", {})
    finally:
        replica.close()


@pytest.fixture(scope="module")
def keyed_service(folder: Path, settings: dict[str, str], redis_server: RedisServer) -> Iterator[Service]:
    """A service with a key for each scope, whose models may be changed."""
    (folder / "keyed").mkdir()
    keys_file = folder / "keys.json"
    stored = {"keys": "file", "keys_file": str(keys_file)}
    keys = {"YOUR_KEY": make_key(stored, "translate"), "YOUR_ADMIN_KEY": make_key(stored, "admin")}
    keyed = {
        "ANTECEDENT_KEYS": "file",
        "ANTECEDENT_KEYS_FILE": str(keys_file),
        "ANTECEDENT_BUNDLE_ROOT": str(folder / "bundles"),
        "ANTECEDENT_REDIS_URL": fresh_database(redis_server, 9),
    }
    replica = Replica(folder / "keyed", "tests.support.phrase_book", settings | keyed)
    try:
        yield Service(replica.start().url.removeprefix("http://"), keys_file, keys)
    finally:
        replica.close()


@pytest.fixture
def service(example: Example, request: pytest.FixtureRequest) -> Service:
    """The service that an example is for."""
    keyed = "YOUR_" in example.code or example.section == "Keys"
    found: Service = request.getfixturevalue("keyed_service" if keyed else "open_service")
    return found


@pytest.mark.parametrize("example", examples(), ids=str)
def test_example_prints_what_the_page_says(example: Example, service: Service, tmp_path: Path) -> None:
    """The code, pasted as it is, prints what stands below it."""
    assert_prints(example, run(example, service, service.address, tmp_path))


@pytest.mark.parametrize("example", [one for one in examples() if one.section in {SESSION, STREAM}], ids=str)
async def test_client_that_loses_its_connection_goes_on(example: Example, service: Service, tmp_path: Path) -> None:
    """A connection that breaks before, or amid, the answers is opened again, and the document ends as it should."""
    async with bad_line(service.address) as line:
        assert_prints(example, await asyncio.to_thread(run, example, service, line.address, tmp_path))
    assert line.broken >= 1


def test_page_has_an_example_of_each_use_in_each_language() -> None:
    """Shell, Python and JavaScript for all; there is no shell for WebSockets."""
    uses = {(example.section, example.language) for example in examples()}
    sections = dict.fromkeys(example.section for example in examples())
    assert [use for section in sections for language in SUFFIXES if (use := (section, language)) not in uses] == [
        (STREAM, "sh")
    ]


def run(example: Example, service: Service, address: str, folder: Path) -> str:
    """Run an example against a service, and give what it prints."""
    skip_without(example)
    code = example.code.replace(ADDRESS, address)
    for placeholder, key in service.keys.items():
        code = code.replace(placeholder, key)
    file = folder / f"example{SUFFIXES[example.language]}"
    file.write_text(code)
    done = subprocess.run(
        [*COMMANDS[example.language], str(file)],
        cwd=ROOT,
        env=environment(service),
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(service: Service) -> dict[str, str]:
    """That of a reader who has activated the project's Python, and has no proxy in between."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PATH": path, "ANTECEDENT_KEYS_FILE": str(service.keys_file)}


def skip_without(example: Example) -> None:
    """Skip what this machine has no tool for."""
    for tool in {"sh": ("bash", "curl"), "javascript": ("node",)}.get(example.language, ()):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if example.language == "javascript":
        version = subprocess.run(["node", "--version"], capture_output=True, check=True, text=True).stdout
        if int(version.strip().lstrip("v").split(".")[0]) < 20:
            pytest.skip("node 20 is the first with WebSocket")


def assert_prints(example: Example, printed: str) -> None:
    """See that the output is the page's, … standing for anything within a line."""
    expected = ".*".join(map(re.escape, example.output.strip().split("…")))
    assert re.fullmatch(expected, printed.replace("\r\n", "\n").strip()), printed
