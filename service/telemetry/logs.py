"""Logs: one JSON object a line on standard error, with the ids of request and key; never a user's text, ids or keys.

An exception is logged by its type and the places that it came through, since its message may quote what a user sent.
"""

import logging
import sys
import traceback
from typing import Any, TextIO

import structlog
from opentelemetry import trace
from opentelemetry.trace import format_span_id, format_trace_id
from structlog.typing import EventDict, WrappedLogger

from service.telemetry.log_handler import LogHandler

Log = structlog.typing.FilteringBoundLogger


def configure(level: str, stream: TextIO | None = None) -> None:
    """Send structlog's and the standard library's lines of at least `level` to `stream` (default: standard error)."""
    handler = LogHandler(stream or sys.stderr)
    handler.addFilter(_without_exceptions_in_words)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_processors(),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    structlog.configure(
        processors=[*_processors(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def log_unretrieved(_loop: object, context: dict[str, Any]) -> None:
    """Log an error that asyncio found nobody to await or catch; asyncio's own message may quote what a user sent."""
    error = context.get("exception")
    places = {"error": type(error).__name__, "where": where(error)} if isinstance(error, BaseException) else {}
    get_logger(__name__).error("error_of_nobody", **places)


def get_logger(name: str) -> Log:
    """Return a logger whose lines carry `logger: name`."""
    logger: Log = structlog.get_logger(name)
    return logger


def where(error: BaseException) -> list[str]:
    """Return the places an exception came through, outermost first, as `file:line function`, without its message."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]


def _processors() -> list[structlog.typing.Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _name_trace,
        _no_messages_of_exceptions,
    ]


def _name_trace(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Add the ids of the current trace and span, where traces are on."""
    current = trace.get_current_span().get_span_context()
    if current.is_valid:
        event["trace_id"], event["span_id"] = format_trace_id(current.trace_id), format_span_id(current.span_id)
    return event


def _without_exceptions_in_words(record: logging.LogRecord) -> bool:
    """Replace exceptions in a library's message by their types: a collector's address, for one, may hold a key."""
    if isinstance(record.args, tuple):
        record.args = tuple(type(each).__name__ if isinstance(each, BaseException) else each for each in record.args)
    return True


def _no_messages_of_exceptions(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace `exc_info`, of structlog or of the standard library, by the exception's type and places."""
    record = event.get("_record")
    found = event.pop("exc_info", None) or (record.exc_info if record is not None else None)
    if record is not None:
        record.exc_info = record.exc_text = None
    error = sys.exc_info()[1] if found is True else found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["where"] = where(error)
    return event
