"""The limit on the size of a body, on a small test application."""

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from service.http.body_limit import BodyLimitMiddleware


async def _read(chunks: list[bytes], announced: int | str | None = None, path: str = "/a") -> tuple[int | None, int]:
    """Read a body with a limit of ten bytes (five below /b/, twenty at /c).

    Returns:
        The status of a refusal, if any, and the number of chunks that were read.
    """
    waiting = list(chunks)

    async def receive() -> Message:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def reader(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass

    async def send(message: Message) -> None:
        raise AssertionError(message)

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    scope = {"type": "http", "path": path, "headers": headers}
    status = None
    try:
        await BodyLimitMiddleware(reader, most=10, most_at={"/b/": 5, "/c": 20})(scope, receive, send)
    except HTTPException as error:
        status = error.status_code
    return status, len(chunks) - len(waiting)


async def test_announced_body_is_refused_unread() -> None:
    """A Content-Length beyond the limit is enough: nothing is read."""
    assert await _read([b"12345678901"], announced=11) == (413, 0)


async def test_body_that_grows_is_refused_when_it_is_too_long() -> None:
    """With no Content-Length, or a false one, the chunk that exceeds the limit is the last one that is read."""
    for announced in (None, 3):
        assert await _read([b"12345", b"678901", b"2"], announced) == (413, 2)


async def test_length_with_many_zeros_is_its_number() -> None:
    """Even with more zeros than Python would parse as a number."""
    assert await _read([b"12345"], announced="0" * 5000 + "5") == (None, 1)
    assert await _read([b"12345678901"], announced="0" * 5000 + "11") == (413, 0)
    assert await _read([b""], announced="0" * 5000) == (None, 1)


async def test_body_of_just_the_limit_passes() -> None:
    """A body exactly at the limit is accepted."""
    assert await _read([b"12345", b"67890"], announced=10) == (None, 2)


async def test_some_paths_have_limits_of_their_own() -> None:
    """Such limits, lower or higher, apply whether or not the body's length is announced."""
    assert await _read([b"1234567890"] * 2, path="/c") == (None, 2)
    assert await _read([b"1234567890"] * 3, path="/c") == (413, 3)
    assert await _read([b"123", b"456", b"7"], path="/b/c") == (413, 2)
    assert await _read([b"123456"], announced=6, path="/b/c") == (413, 0)
    assert await _read([b"12345"], announced=5, path="/b/c") == (None, 1)
