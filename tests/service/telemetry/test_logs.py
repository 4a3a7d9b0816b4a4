"""Log lines are JSON, carry the request's id, and contain nothing that a user has written."""

import asyncio
import gc
import io
import json
import logging
import os
from collections.abc import Iterator

import pytest
import structlog

from service.telemetry import logs

SECRET = "himitsu"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """The stream for log lines; the logging of the test run is restored afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    written = io.StringIO()
    logs.configure("info", written)
    yield written
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def _fail() -> None:
    raise ValueError(SECRET)


def test_line_is_json_with_the_requests_id(stream: io.StringIO) -> None:
    """Values bound for a request are in each of its lines; lines below the level are not written."""
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        logs.get_logger("here").info("event", seconds=0.5)
        logs.get_logger("here").debug("not this")
    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert (found["event"], found["seconds"], found["request_id"]) == ("event", 0.5, "r1")
    assert (found["level"], found["logger"]) == ("info", "here")


def test_a_reader_that_stops_reading_holds_up_nobody(stream: io.StringIO) -> None:
    """Lines are dropped, which is reported once it reads again; none that it gets is damaged."""
    reader, writer = os.pipe()
    with os.fdopen(reader, encoding="utf-8") as read, os.fdopen(writer, "w", encoding="utf-8") as written:
        logs.configure("info", written)
        log = logs.get_logger("here")
        for number in range(1000):
            log.info(
                "event", number=number, padding="か" * 2000
            )  # a thousand would need six megabytes; a pipe has 64 KiB
        os.set_blocking(reader, False)
        for line in iter(read.readline, ""):
            found = [json.loads(line)] if line.endswith("}\n") else []
            assert all(each["event"] == "event" for each in found)
        log.info("again")
        last = [json.loads(line) for line in read.read().splitlines() if line]
    assert [each["event"] for each in last] == ["again", "log_lines_dropped"]
    assert 900 < last[1]["lines"] < 1000
    assert stream.getvalue() == ""


async def test_what_nobody_awaits_is_logged_without_its_message(stream: io.StringIO) -> None:
    """The line of asyncio itself would quote the exception, and with it whatever that quotes."""

    async def fails() -> None:
        _fail()

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(logs.log_unretrieved)
    task = loop.create_task(fails())
    await asyncio.wait([task])
    del task
    gc.collect()
    found = json.loads(stream.getvalue())
    assert (found["event"], found["error"]) == ("error_of_nobody", "ValueError")
    assert any("_fail" in place for place in found["where"])
    assert SECRET not in stream.getvalue()


@pytest.mark.parametrize("library", ["structlog", "logging"])
def test_exceptions_are_logged_without_their_messages(stream: io.StringIO, library: str) -> None:
    """An exception may quote a user's text, so only its type and the places that it passed through are logged."""
    logger = logs.get_logger("here") if library == "structlog" else logging.getLogger("there")
    try:
        _fail()
    except ValueError:
        logger.exception("it failed")
    found = json.loads(stream.getvalue())
    assert found["error"] == "ValueError"
    assert any("_fail" in place for place in found["where"])
    assert SECRET not in stream.getvalue()


def test_exceptions_in_the_words_of_a_library_are_named_by_their_type(stream: io.StringIO) -> None:
    """OpenTelemetry logs the exception of a failed export, whose message has the address and perhaps a key in it."""
    logging.getLogger("there").warning("error %s, again in %.1f s", ValueError(SECRET), 0.5)
    assert json.loads(stream.getvalue())["event"] == "error ValueError, again in 0.5 s"
