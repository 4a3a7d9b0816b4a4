"""Every example of docs/clients.md runs unchanged and prints what the page says, some over a bad connection too."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Request, Response

from models.data.documents import Sentence
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from tests.support.bad_line import bad_line
from tests.support.client import measured
from tests.support.phrase_book import PHRASES
from tests.support.roots import fresh_database, load, make_key, make_root
from tests.support.servers import ROOT, RedisServer, Replica, Replicas, bundle, eventually
from tests.support.stand_in import expected

PAGE = ROOT / "docs" / "clients.md"
ADDRESS = "127.0.0.1:8000"
SESSION, STREAM = "A document that grows: a session", "A session over a WebSocket"
MANY = "Many documents at once"
SUFFIXES = {"sh": ".sh", "python": ".py", "javascript": ".mjs"}
COMMANDS = {
    "sh": ("bash", "-euo", "pipefail"),
    "python": (sys.executable,),
    "javascript": ("node", "--experimental-websocket"),
}
BOTH = pytest.mark.parametrize("language", ["python", "javascript"])
_QUIET_SECONDS = 0.5
"""After so long without an answer, a service is taken to have answered everything."""
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """The code of an example in a section of the page, and its output there."""

    section: str
    language: str
    code: str
    output: str

    def __str__(self) -> str:
        return f"{self.section}, {self.language}"


def examples() -> list[Example]:
    """All examples of the page, each of which is followed by its output."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        fences = _FENCE.findall(section)
        for (language, code), (kind, output) in zip(fences[::2], fences[1::2], strict=True):
            assert kind == "text"
            found.append(Example(section.splitlines()[0], language, code, output))
    return found


@dataclass(frozen=True)
class Service:
    """A service's address, its keys by their placeholders on the page, and its key file."""

    address: str
    keys_file: Path
    keys: dict[str, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the services' files."""
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def settings(folder: Path, redis_server: RedisServer) -> dict[str, str]:
    """Settings of both services."""
    for name in ("ja-en", "ja-en-formal"):
        bundle(folder / "bundles" / name, name=name, window=5)
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
    """A service with a key for each scope, whose models can be changed."""
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


@pytest.fixture(scope="module")
def stand_in(shared_replicas: Replicas, redis_server: RedisServer) -> Service:
    """A service that translates anything, but accepts no long messages."""
    little = {"stream_message_bytes": "400", "max_sentence_characters": "12"}
    return served(shared_replicas.new(redis_url=redis_server.url, **little))


@pytest.fixture
def service(example: Example, request: pytest.FixtureRequest) -> Service:
    """The service that an example is for."""
    keyed = "YOUR_" in example.code or example.section == "Keys"
    found: Service = request.getfixturevalue("keyed_service" if keyed else "open_service")
    return found


@pytest.mark.parametrize("example", examples(), ids=str)
def test_example_prints_what_the_page_says(example: Example, service: Service, tmp_path: Path) -> None:
    """The code, pasted unchanged, prints the output shown below it."""
    assert_prints(example, run(example, service, service.address, tmp_path))


@pytest.mark.parametrize("example", [one for one in examples() if one.section in {SESSION, STREAM}], ids=str)
async def test_client_that_loses_its_connection_goes_on(example: Example, service: Service, tmp_path: Path) -> None:
    """If the connection breaks before or during the answers, the client reconnects and completes the document."""
    async with bad_line(service.address) as line:
        assert_prints(example, await asyncio.to_thread(run, example, service, line.address, tmp_path))
    assert line.broken >= 1


@BOTH
def test_client_of_many_documents_repeats_what_is_refused(
    language: str, replicas: Replicas, redis_server: RedisServer, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """Even a key that is limited to one request at a time gets all of its documents eventually."""
    service, gate = served(replicas.new(redis_url=redis_server.url, concurrency_per_key="1")), tmp_path / "gate"
    (example,) = [one for one in examples() if (one.section, one.language) == (MANY, language)]
    (documents,) = re.findall(r"documents = (\[\[.*\]\])", example.code)
    code = example.code.replace(documents, json.dumps([[f"wait-for:{gate}"]] * 2))
    done = pool.submit(run, replace(example, code=code), service, service.address, tmp_path)
    with httpx.Client(base_url=f"http://{service.address}", trust_env=False) as client:
        refused = 'antecedent_rejections_total{code="too_many_requests_at_once"} 1.0'
        eventually(lambda: done.done() or measured(client, refused), "one of them is refused")
    gate.touch()
    assert done.result().splitlines() == [expected(f"wait-for:{gate}")] * 2


@BOTH
async def test_stream_client_gets_the_answers_that_were_lost(language: str, stand_in: Service, tmp_path: Path) -> None:
    """However long the document is, the service keeps the answers that a disconnected client has not received."""
    texts = [f"sentence {number}" for number in range(100)]
    async with stream_line(stand_in, 11) as line:
        done = await execute_stream(language, texts, stand_in, line, tmp_path)
    assert done.stdout.splitlines() == translations(texts), done.stderr
    assert len(line.tried) == 2


async def test_browser_leaves_a_silent_line(stand_in: Service, tmp_path: Path) -> None:
    """A browser cannot notice by pings that a connection is dead; it gives up after a while (shortened here)."""
    texts = [f"sentence {number}" for number in range(50)]
    changes = {"90_000": "2_000"}
    async with stream_line(stand_in, 11, then="stay") as line:
        done = await execute_stream("javascript", texts, stand_in, line, tmp_path, changes)
    assert done.stdout.splitlines() == translations(texts), done.stderr
    assert len(line.tried) >= 2


@BOTH
async def test_stream_client_waits_longer_each_time(language: str, stand_in: Service, tmp_path: Path) -> None:
    """This happens while connections deliver nothing but the greeting."""
    async with stream_line(stand_in, 1, 1) as line:
        done = await execute_stream(language, ["a", "b"], stand_in, line, tmp_path)
    assert done.stdout.splitlines() == translations(["a", "b"]), done.stderr
    first, second = (after - before for before, after in pairwise(line.tried))
    assert first >= 1
    assert second >= 2


@BOTH
async def test_stream_client_waits_for_the_place_of_its_dead_connection(
    language: str, replicas: Replicas, redis_server: RedisServer, tmp_path: Path
) -> None:
    """A key limited to one stream is refused another until the service has noticed that the first is dead."""
    service = served(replicas.new(redis_url=redis_server.url, concurrency_per_key="1"))
    async with stream_line(service, 2, then="linger") as line:
        done = await execute_stream(language, ["a", "b", "c"], service, line, tmp_path)
    assert done.stdout.splitlines() == translations(["a", "b", "c"]), done.stderr
    assert line.refused[0] == 429


@BOTH
@pytest.mark.parametrize(
    ("text", "reason"),
    [("refuse", "refuses this sentence"), ("long " * 100, "1009")],
    ids=["an error for good", "a close for good"],
)
async def test_stream_client_stops_after_what_no_connection_would_mend(
    text: str, reason: str, language: str, stand_in: Service, tmp_path: Path
) -> None:
    """It reports the error and does not reconnect."""
    async with stream_line(stand_in) as line:
        done = await execute_stream(language, ["a", text, "b"], stand_in, line, tmp_path)
    assert done.returncode == 1
    assert reason in done.stderr
    assert len(line.tried) == 1


@BOTH
async def test_stream_client_of_a_session_that_is_gone_stops(language: str, stand_in: Service, tmp_path: Path) -> None:
    """A browser does not learn why its handshake is refused, so it has to find out."""

    def delete(session: str) -> None:
        httpx.delete(f"http://{stand_in.address}{session}", trust_env=False).raise_for_status()

    async with stream_line(stand_in, before=delete) as line:
        done = await execute_stream(language, ["a"], stand_in, line, tmp_path)
    assert (done.returncode, line.refused) == (1, [404])
    assert {"python": "HTTP 404", "javascript": "session"}[language] in done.stderr


@BOTH
async def test_stream_client_whose_model_is_gone_stops(
    language: str, replicas: Replicas, redis_server: RedisServer, tmp_path: Path
) -> None:
    """The session still exists, but no stream of it can be opened."""
    root = make_root(tmp_path / "root")
    database = fresh_database(redis_server, 9)
    service = served(replicas.new(bundles="one", bundle_root=str(root), redis_url=database))

    def swap(session: str) -> None:
        with httpx.Client(base_url=f"http://{service.address}", trust_env=False, timeout=60) as client:
            load(client, "two").raise_for_status()

    async with stream_line(service, before=swap) as line:
        done = await execute_stream(language, ["a"], service, line, tmp_path)
    assert (done.returncode, line.refused) == (1, [409])
    assert {"python": "HTTP 409", "javascript": "model"}[language] in done.stderr


def test_page_has_an_example_of_each_use_in_each_language() -> None:
    """All uses have examples in Shell, Python and JavaScript, except no Shell for WebSockets or concurrent requests."""
    uses = {(example.section, example.language) for example in examples()}
    sections = dict.fromkeys(example.section for example in examples())
    assert [use for section in sections for language in SUFFIXES if (use := (section, language)) not in uses] == [
        (MANY, "sh"),
        (STREAM, "sh"),
    ]


def test_page_shows_what_the_shipped_model_says() -> None:
    """The phrase book agrees with the shipped model, except for articles, which depend on the type of numbers."""
    model = Runtime.load(ROOT / "models" / "pretrained" / "ja-en", compute_type="float32")  # same on all machines
    poet, *others = PHRASES
    asked = [TranslationRequest(poet), *(TranslationRequest(each, (Sentence(poet),)) for each in others)]
    found = [translation.text for translation in model.translate(asked, Options())]
    alone = model.translate([TranslationRequest(others[-1])], Options())
    shown = [*found[:-1], alone[0].text]
    assert [re.sub(r"\bthe\b", "a", each) for each in shown] == [
        re.sub(r"\bthe\b", "a", each) for each in PHRASES.values()
    ]


@dataclass(eq=False)
class Line:
    """A proxy on loopback for the streams of one client, which are open one at a time.

    For each number in `brings`, one stream delivers only that many messages of the service. The service still receives
    what the client sends, but its further answers are lost. Once there are no more, `then` decides what happens: the
    line breaks; it breaks, but the service does not notice until it has refused another stream; or it stays open until
    the client leaves.

    `before` is called with the path of the session before each stream is opened.
    """

    service: str
    brings: list[int]
    then: Literal["break", "linger", "stay"]
    before: Callable[[str], None]
    address: str = ""

    def __post_init__(self) -> None:
        self.tried: list[float] = []
        """When the client requested each stream, by the monotonic clock."""
        self.refused: list[int] = []
        """The status of each refused stream."""
        self.another_refused = asyncio.Event()
        """Set once a stream has been refused."""
        self._there: dict[ServerConnection, ClientConnection] = {}

    async def open(self, client: ServerConnection, request: Request) -> Response | None:
        """Pass a handshake on to the service."""
        self.tried.append(time.monotonic())
        await asyncio.to_thread(self.before, request.path.removesuffix("/stream"))
        try:
            self._there[client] = await connect(f"ws://{self.service}{request.path}", proxy=None)
        except InvalidStatus as refusal:
            self.refused.append(refusal.response.status_code)
            self.another_refused.set()
            return refusal.response
        return None

    async def forward(self, client: ServerConnection) -> None:
        """Serve one stream until either side closes it or the line breaks."""
        there = self._there.pop(client)
        brings = self.brings.pop(0) if self.brings else None
        answers = _pass_on(there, client) if brings is None else self._fall_silent(there, client, brings)
        directions = (asyncio.create_task(_pass_on(client, there)), asyncio.create_task(answers))
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        if brings is not None and self.then == "linger":
            await self.another_refused.wait()
        for direction in directions:
            direction.cancel()
        await there.close()
        if there.close_code in {1005, 1006}:  # never sent in a frame
            await client.close()
        else:
            await client.close(there.close_code, there.close_reason)

    async def _fall_silent(self, there: ClientConnection, client: ServerConnection, brings: int) -> None:
        with suppress(ConnectionClosed, TimeoutError):
            for _ in range(brings):
                await client.send(await there.recv())
            while True:
                async with asyncio.timeout(_QUIET_SECONDS):
                    await there.recv()
        if self.then == "stay":
            await client.wait_closed()
        else:
            client.transport.abort()


async def _pass_on(one: ServerConnection | ClientConnection, other: ServerConnection | ClientConnection) -> None:
    with suppress(ConnectionClosed):
        while True:
            await other.send(await one.recv())


@asynccontextmanager
async def stream_line(
    service: Service,
    *brings: int,
    then: Literal["break", "linger", "stay"] = "break",
    before: Callable[[str], None] = lambda session: None,
) -> AsyncIterator[Line]:
    """A line for the streams of a service; see `Line`."""
    line = Line(service.address, list(brings), then, before)
    async with serve(
        line.forward,
        "127.0.0.1",
        0,
        process_request=line.open,
        select_subprotocol=lambda client, offered: offered[0] if offered else None,
    ) as server:
        host, port = server.sockets[0].getsockname()
        line.address = f"{host}:{port}"
        try:
            yield line
        finally:
            line.another_refused.set()  # otherwise a lingering stream would be served for ever


def served(replica: Replica) -> Service:
    """Start a replica without keys."""
    return Service(replica.start().url.removeprefix("http://"), Path("none.json"), {})


def translations(texts: list[str]) -> list[str]:
    """The stand-in's translations of a document."""
    return [expected(text, texts[max(0, at - 2) : at]) for at, text in enumerate(texts)]


async def execute_stream(
    language: str, texts: list[str], service: Service, line: Line, folder: Path, changes: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the example of a stream over a line, with other sentences and perhaps other changes.

    An error ends a script but not a page, on which everything else goes on. So the JavaScript example is made to catch
    the error here, and ends when it has nothing more to do.
    """
    (example,) = [one for one in examples() if (one.section, one.language) == (STREAM, language)]
    (sentences,) = re.findall(r"^(?:const )?sentences = (\[.*\])", example.code, re.MULTILINE)
    changes = {sentences: json.dumps(texts), f"ws://{ADDRESS}": f"ws://{line.address}"} | (changes or {})
    if language == "javascript":
        as_on_a_page = "(error) => (console.error(error.message), (process.exitCode = 1), [])"
        changes["translate(session_id, sentences)"] = f"translate(session_id, sentences).catch({as_on_a_page})"
    code = example.code
    for old, new in changes.items():
        assert old in code
        code = code.replace(old, new)
    return await asyncio.to_thread(execute, replace(example, code=code), service, service.address, folder)


def run(example: Example, service: Service, address: str, folder: Path) -> str:
    """Run an example against a service and return its output."""
    done = execute(example, service, address, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def execute(example: Example, service: Service, address: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run an example against a service until it ends."""
    skip_without(example)
    code = example.code.replace(ADDRESS, address)
    for placeholder, key in service.keys.items():
        code = code.replace(placeholder, key)
    file = folder / f"example{SUFFIXES[example.language]}"
    file.write_text(code)
    return subprocess.run(
        [*COMMANDS[example.language], str(file)],
        cwd=folder,
        env=environment(service),
        capture_output=True,
        check=False,
        text=True,
        timeout=180,
    )


def environment(service: Service) -> dict[str, str]:
    """The environment of a reader who has activated the project's Python and uses no proxy."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PATH": path, "ANTECEDENT_KEYS_FILE": str(service.keys_file)}


def skip_without(example: Example) -> None:
    """Skip the test if this machine lacks the tools for an example."""
    for tool in {"sh": ("bash", "curl"), "javascript": ("node",)}.get(example.language, ()):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if example.language == "javascript":
        version = subprocess.run(["node", "--version"], capture_output=True, check=True, text=True).stdout
        if int(version.strip().lstrip("v").split(".")[0]) < 20:
            pytest.skip("node 20 is the first with WebSocket")


def assert_prints(example: Example, printed: str) -> None:
    """Check that the output is that of the page, where … stands for anything within a line."""
    expected = ".*".join(map(re.escape, example.output.strip().split("…")))
    assert re.fullmatch(expected, printed.replace("\r\n", "\n").strip()), printed
