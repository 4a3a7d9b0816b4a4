"""The frames that a worker receives between steps."""

import socket
import threading
from collections.abc import Iterator

import pytest

from service.inference.inbox import Inbox
from service.inference.wire import HEADER


def frame(body: bytes) -> bytes:
    """A body preceded by its length."""
    return HEADER.pack(len(body)) + body


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Inbox]]:
    """The sender's end of a connection, and the inbox at the other end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, Inbox(theirs)


def test_frames_come_whole_and_in_order(ends: tuple[socket.socket, Inbox]) -> None:
    """This holds for any pieces that the socket delivers; without waiting, there may be no frames."""
    ours, inbox = ends
    assert inbox.frames(wait=False) == []
    large = frame(b"x" * 100_000)
    ours.sendall(frame(b"one") + frame(b"") + large[:70_000])
    assert inbox.frames(wait=False) == [b"one", b""]
    assert inbox.frames(wait=False) == []
    ours.sendall(large[70_000:] + frame(b"two")[:2])
    assert inbox.frames(wait=True) == [b"x" * 100_000]
    ours.sendall(frame(b"two")[2:])
    assert inbox.frames(wait=True) == [b"two"]


def test_waiting_goes_on_until_a_frame_is_whole(ends: tuple[socket.socket, Inbox]) -> None:
    """Half a frame does not end the wait."""
    ours, inbox = ends
    ours.sendall(frame(b"one")[:5])
    rest = threading.Timer(0.05, ours.sendall, [frame(b"one")[5:]])
    rest.start()
    assert inbox.frames(wait=True) == [b"one"]
    rest.join()


def test_end_of_the_other_side_is_the_end(ends: tuple[socket.socket, Inbox]) -> None:
    """Nobody is left to receive answers, so even the last frame is ignored."""
    ours, inbox = ends
    ours.sendall(frame(b"one"))
    ours.close()
    assert inbox.frames(wait=True) is None
