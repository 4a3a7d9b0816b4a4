"""Reads a document's event stream as a client does."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from httpx_sse import EventSource

from tests.support.client import PAIR

ACCEPT = {"Accept": "text/event-stream"}
Event = tuple[str, dict[str, Any]]


@contextmanager
def document_events(client: httpx.Client, **members: object) -> Iterator[Iterator[Event]]:
    """Request a document as events; yields the kind and data of each as it arrives."""
    with client.stream("POST", "/v1/documents", json=PAIR | members, headers=ACCEPT) as answer:
        assert answer.status_code == 200
        yield ((event.event, event.json()) for event in EventSource(answer).iter_sse())


def rebuilt(events: list[Event]) -> str:
    """The text that a complete stream of events makes up."""
    *sentences, (kind, end) = events
    assert kind == "done"
    assert end["sentences"] == len(sentences)
    return "".join(data["before"] + data["translation"] for _, data in sentences) + str(end["after"])
