"""Users who want a whole document, at once or by events; each answer is compared with the quiet run's."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import httpx
from httpx_sse import EventSource

from loadtests.outcomes import Recorder, Result
from loadtests.scenario import Expected, Kind
from loadtests.users.balancer import ATTEMPT_SECONDS, PAUSE_SECONDS, Balancer, GaveUpError, reason_of
from loadtests.users.conversation import ViolationError, Wrong, check_answer

FIRST_EVENT = "first event"
_Sentences = tuple[str, ...]


def translate_whole(
    balancer: Balancer,
    recorder: Recorder,
    pair: Mapping[str, str],
    document: _Sentences,
    expected: Expected,
    due: float,
) -> None:
    """Have a document, due at `due`, translated as a whole.

    Raises:
        ViolationError, GaveUpError: as in `Balancer.ask`, or an answer is wrong.
    """
    answer = balancer.ask("POST", "/v1/documents", json={**pair, "sentences": document})
    if not answer.is_success:
        raise GaveUpError(str(answer.json().get("code")), due)
    _check(answer.json()["sentences"], document, expected)
    recorder.add(Kind.DOCUMENT, Result.ANSWERED, due=due, sentences=len(document))


class EventReader:
    """Has a document translated by events; if they end early, asks for the rest with what came before as context."""

    def __init__(
        self,
        http: httpx.Client,
        balancer: Balancer,
        recorder: Recorder,
        pair: Mapping[str, str],
        document: _Sentences,
        expected: Expected,
        due: float,
    ) -> None:
        self._http = http
        self._balancer = balancer
        self._recorder = recorder
        self._pair = pair
        self._document = document
        self._expected = expected
        self._due = due
        self._next = 0
        self._heard = 0.0
        """When the last event came, or the request was sent."""

    def read(self) -> None:
        """Read every sentence.

        Raises:
            ViolationError: a sentence is missing, doubled, in another place or wrong.
            GaveUpError: the reader's patience ran out.
        """
        since = self._due
        while True:
            had = self._next
            reason, wait = self._read_once()
            if not reason:
                break
            since = time.monotonic() if self._next > had else since
            self._balancer.repeat(reason, since, wait)
        if self._next != len(self._document):
            raise ViolationError(Wrong.LOST, "a document has ended before its last sentence")
        self._recorder.add(Kind.EVENTS, Result.ANSWERED, due=self._due)

    def _read_once(self) -> tuple[str, float]:
        """Read as far as one answer goes; return why it broke off, and the seconds to wait before asking again."""
        first = self._next
        context = self._document[max(0, first - 8) : first]
        body = {**self._pair, "sentences": self._document[first:], "context": context}
        url, accept = f"{self._balancer.url()}/v1/documents", {"Accept": "text/event-stream"}
        self._heard = time.monotonic()
        try:
            with self._http.stream("POST", url, json=body, headers=accept) as answer:
                if not answer.is_success:
                    answer.read()
                    return self._refused(answer)
                answer.stream = _Impatient(cast("httpx.SyncByteStream", answer.stream), lambda: self._heard)
                for event in EventSource(answer).iter_sse():
                    if event.event == "done":
                        return "", 0.0
                    message = event.json()
                    if event.event == "error":
                        return str(message["code"]), float(message.get("retry_after_seconds", PAUSE_SECONDS))
                    self._take(message, first)
        except httpx.TransportError as error:
            return reason_of(error), PAUSE_SECONDS
        raise ViolationError(Wrong.LOST, "events have ended without a last one")

    def _refused(self, answer: httpx.Response) -> tuple[str, float]:
        code = str(answer.json().get("code"))
        if "retry-after" not in answer.headers:
            raise GaveUpError(code, self._due)
        return code, float(answer.headers["retry-after"])

    def _take(self, sentence: dict[str, Any], first: int) -> None:
        """Take the next sentence of an answer that began with sentence `first`."""
        placed = sentence | {"position": sentence["position"] + first}
        check_answer(placed, self._next, self._document[self._next], self._expected[self._next])
        if not self._next:
            self._recorder.add(FIRST_EVENT, Result.ANSWERED, due=self._due)
        self._next += 1
        self._heard = time.monotonic()
        self._recorder.add("event", Result.ANSWERED, sentences=1)


class _Impatient(httpx.SyncByteStream):
    """The bytes of an answer, until no event has come for too long: comments alone would keep the connection busy."""

    def __init__(self, stream: httpx.SyncByteStream, heard: Callable[[], float]) -> None:
        self._stream = stream
        self._heard = heard

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() > self._heard() + ATTEMPT_SECONDS:
                raise httpx.ReadTimeout("a sentence has no event")
            yield part

    def close(self) -> None:
        self._stream.close()


def _check(sentences: list[dict[str, Any]], document: _Sentences, expected: Expected) -> None:
    if len(sentences) != len(document):
        raise ViolationError(Wrong.LOST, "a document has lost or doubled sentences")
    for position, sentence in enumerate(sentences):
        check_answer(sentence, position, document[position], expected[position])
