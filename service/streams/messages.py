"""Messages of a stream, which are JSON objects: what a client sends, and what it gets in return."""

from typing import Any

import orjson
from pydantic import ValidationError

from models.errors import AntecedentError
from service.errors import InvalidMessageError
from service.http.problems import message_of, mistake
from service.schemas.sentences import TranslatedSentence
from service.schemas.sessions import SentenceRequest
from service.store.document import State
from service.strict_json import JsonLimits, NotStrictJsonError, parse

_LIMITS = JsonLimits(depth=16, values=64)
"""Limits of a message, far above any sentence's: if one is slightly odd, the error is then about its members."""


def sentence(message: str | bytes) -> SentenceRequest:
    """Return the sentence in a client's message.

    Raises:
        InvalidMessageError: there is none; says what is wrong where, and repeats nothing that may be text.
    """
    if isinstance(message, bytes):
        raise InvalidMessageError("a message must be text, not binary")
    try:
        return SentenceRequest.model_validate(parse(message.encode(), _LIMITS))
    except NotStrictJsonError as error:
        raise InvalidMessageError(f"the message {error}") from None
    except ValidationError as error:
        raise InvalidMessageError(mistake(error.errors(include_url=False, include_input=False)[0])) from None


def greeting(session_id: str, state: State) -> str:
    """Return the first message of a stream."""
    session = state.session
    return _json(
        {
            "type": "session",
            "session_id": session_id,
            "model": session.model,
            "window": session.window,
            "next_position": state.next_position,
        }
    )


def translation(answer: TranslatedSentence) -> str:
    """Return the answer to a sentence."""
    return _json({"type": "translation"} | answer.model_dump())


def problem(error: AntecedentError, request_id: str, position: int | None) -> str:
    """Return what takes the place of an answer: the members of a problem, but with the `type` `error`."""
    members = message_of(error, request_id) | {"type": "error"}
    if position is not None:
        members["position"] = position
    return _json(members)


def _json(members: dict[str, Any]) -> str:
    return orjson.dumps(members).decode()
