"""`python -m service.demo`: translate a Japanese document, whole and sentence by sentence, with and without context.

Starts the service with a Redis of its own, in a folder that is removed afterwards, and uses it as any client would.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final, TypeVar

import httpx
from rich import box
from rich.console import Console
from rich.table import Column, Table

from models.errors import AntecedentError
from service.settings import PREFIX

PAIR: Final = {"source_lang": "ja", "target_lang": "en"}
_TIMEOUT_SECONDS = 60.0
_NAMED_ADDRESS = re.compile(r"at (http://\S+)")
_T = TypeVar("_T")


class DemoError(AntecedentError):
    """The demonstration cannot continue; the message says why."""

    code = "demo_failed"


def main() -> int:
    """Run the demonstration; returns the exit status."""
    console = Console()
    sentences = sample()
    try:
        # trust_env=False: a proxy named in the environment must not come between two processes of one machine.
        with (
            running_service() as address,
            httpx.Client(base_url=address, timeout=_TIMEOUT_SECONDS, trust_env=False) as client,
        ):
            show(console, client, sentences)
    except (DemoError, httpx.HTTPError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def sample() -> list[str]:
    """Return the sentences of a document about a woman, a temple and a man, most of which omit the subject."""
    return files("service").joinpath("samples", "ja.txt").read_text(encoding="utf-8").splitlines()


def show(console: Console, client: httpx.Client, sentences: Sequence[str]) -> None:
    """Translate the document in three ways, and print the results with timings.

    Raises:
        DemoError: the service refused a request.
        httpx.HTTPError: the service could not be reached.
    """
    for strategy in ("direct", "sentence"):
        translate(client, sentences, strategy)  # not timed: the first request pays for what workers load lazily
    with_context, seconds = timed(lambda: translate(client, sentences, "direct"))
    without, seconds_without = timed(lambda: translate(client, sentences, "sentence"))
    live, seconds_live = timed(lambda: converse(client, sentences))
    heads = (Column(head, overflow="fold") for head in ("Japanese", "with context", "without context"))
    table = Table(*heads, box=box.ROUNDED, show_lines=True)
    for row in zip(sentences, with_context, without, strict=True):
        table.add_row(*row)
    console.print(table)
    count = len(sentences)
    console.print(f"whole document, with context:     {seconds:6.2f} s for {count} sentences (POST /v1/documents)")
    console.print(f"whole document, without context:  {seconds_without:6.2f} s (CTranslate2, strategy sentence)")
    console.print(f"session, sentence by sentence:    {seconds_live:6.2f} s, {1000 * seconds_live / count:.0f} ms each")
    same = sum(one == other for one, other in zip(live, with_context, strict=True))
    console.print(f"session and whole document agree on {same} of {count} sentences")
    console.print("to translate a text of your own, run `make serve` and open http://127.0.0.1:8000 in a browser")


def translate(client: httpx.Client, sentences: Sequence[str], strategy: str) -> list[str]:
    """Translate a whole document in one request."""
    answer = _answer(client.post("/v1/documents", json={**PAIR, "sentences": sentences, "strategy": strategy}))
    return [sentence["translation"] for sentence in answer["sentences"]]


def converse(client: httpx.Client, sentences: Sequence[str]) -> list[str]:
    """Translate a document sentence by sentence, in a session that is forgotten afterwards."""
    session = f"/v1/sessions/{_answer(client.post('/v1/sessions', json=PAIR))['session_id']}"
    translations = [
        _answer(client.post(f"{session}/sentences", json={"text": sentence, "position": position}))["translation"]
        for position, sentence in enumerate(sentences)
    ]
    client.delete(session)
    return translations


@contextmanager
def running_service() -> Iterator[str]:
    """Start the service on a free loopback port, and yield its address.

    Raises:
        DemoError: it does not start; the message quotes its output.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        # The shell may have settings for another service, whose Redis and keys must not be used here.
        theirs = (f"{PREFIX}REDIS_", f"{PREFIX}KEYS")
        others = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
        settings = {f"{PREFIX}PORT": "0", f"{PREFIX}REDIS_FOLDER": folder, f"{PREFIX}LOG_LEVEL": "error"}
        process = subprocess.Popen(
            [sys.executable, "-m", "service"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=others | settings,
        )
        with process:
            try:
                address = _NAMED_ADDRESS.search("" if process.stdout is None else process.stdout.readline())
                if address is None:
                    process.wait()
                    errors.seek(0)
                    raise DemoError(f"the service did not start: {errors.read().strip()}")
                yield address.group(1)
            finally:
                process.terminate()


def timed(work: Callable[[], _T]) -> tuple[_T, float]:
    """Return the result of `work`, and the seconds that it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def _answer(response: httpx.Response) -> Any:  # noqa: ANN401 - what the service says
    if response.is_error:
        raise DemoError(
            f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text}"
        )
    return response.json()


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m service.demo",
        description="Translate a Japanese document as a whole and sentence by sentence, with context and without.",
    ).parse_args()
    sys.exit(main())
