import random
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from loadtests.outcomes import Recorder
from loadtests.users import documents
from loadtests.users.balancer import Balancer
from loadtests.users.documents import EventReader
from tests.support.client import PAIR

SENTENCE = b'id: 0\nevent: sentence\ndata: {"position": 0, "source": "a", "translation": "A", "context_size": 0}\n\n'
DONE = b"event: done\ndata: {}\n\n"


class Answer(httpx.SyncByteStream):
    """A stream of so many comments, which keep the connection open, and then the document."""

    def __init__(self, comments: int) -> None:
        self._comments = comments

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(self._comments):
            time.sleep(0.01)
            yield b": still here\n\n"
        yield SENTENCE + DONE


def test_comments_are_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that sends nothing but keep-alive comments has lost the sentence, so it is asked again."""
    answers = [Answer(10**6), Answer(1)]
    repeated: list[str] = []

    def answer(_: httpx.Request) -> httpx.Response:
        monkeypatch.undo()
        if len(answers) == 2:
            monkeypatch.setattr(documents, "ATTEMPT_SECONDS", 0.2)
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=answers.pop(0))

    with httpx.Client(transport=httpx.MockTransport(answer)) as http, closing(Recorder(tmp_path / "r")) as recorder:
        balancer = Balancer(http, ["http://one"], random.Random(1), 30, repeated.append)
        EventReader(http, balancer, recorder, PAIR, ("a",), (("A", 0),), time.monotonic()).read()
    assert repeated == ["no_answer"]
