"""LibreTranslate's interface, for programs whose LibreTranslate client can be given another address.

Such clients send their key as a member of the body. So here a body is read before the caller is known, up to a limit
of its own (`http/guards.py`) and not for long; a key in a header is accepted as well. Some clients send no body, and
all members in the address. They ask for the languages without a key.
"""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException

from service.access.caller import Caller
from service.http.authentication import presented_key
from service.http.form_body import body_of, members_of
from service.http.json_body import is_json
from service.libretranslate import (
    DetectRequest,
    LibreAnswer,
    LibreLanguage,
    LibreRequest,
    SourceLanguage,
    answer_to,
    languages_of,
    likely,
)
from service.routes.dependencies import ServicesDep, admitted
from service.routes.texts_apart import each_alone
from service.texts.detection import Detected, detect, source_of
from service.texts.reading import Asked, Ranked
from service.texts.tagged import HTML

_TEXTS: Final = "q"
_KEYS: Final = ("api_key", "apiKey")
"""The second is what the client of that name for Node.js calls it."""
BODY_SECONDS: Final = 5.0
"""For the whole body of somebody who is not known yet: longer, it would hold its memory for as long as it likes."""

router = APIRouter(prefix="/libretranslate", include_in_schema=False)


async def _members(request: Request, parts: ServicesDep) -> dict[str, Any]:
    """Return the members of the body except the key, and set the request's `state.caller` to the key's caller.

    Raises:
        UnauthenticatedError, KeysUnavailableError: see `Access.identify`.
        HTTPException: see `members_of`; or the body did not come in time.
    """
    try:
        async with asyncio.timeout(BODY_SECONDS):
            members = await members_of(request, lists=frozenset({_TEXTS}), in_address=True)
    except TimeoutError:
        late = f"the body has not come within {BODY_SECONDS:.0f} seconds"
        raise HTTPException(400, late, headers={"Connection": "close"}) from None
    if not is_json(request.headers.get("content-type", "")) and len(texts := members.get(_TEXTS, ())) == 1:
        members[_TEXTS] = texts[0]  # in a form, a list of one and a text are the same
    in_body = [members.pop(name, None) for name in _KEYS]
    sent = next((key for key in in_body if isinstance(key, str) and key), None)
    request.state.caller = parts.access.identify(sent or presented_key(request.scope))
    return members


MembersDep = Annotated[dict[str, Any], Depends(_members)]


@router.post("/translate", response_model_exclude_none=True)
async def translate_texts(members: MembersDep, request: Request, parts: ServicesDep) -> LibreAnswer:
    """Translates each text by itself."""
    who: Caller = request.state.caller
    who.require("translate")
    body = body_of(LibreRequest, members)
    single = isinstance(members.get(_TEXTS), str)
    if body.is_in_target:
        return answer_to(body, Detected(body.target, 0.0), [Ranked(text, ()) for text in body.q], single=single)
    source = await source_of(body.source, body.target, parts.models.catalogue.models, body.q)
    html = body.format == "html"
    asked = Asked(
        body.q,
        source.language,
        body.target,
        markup=HTML if html else None,
        join_lines=html,
        alternatives=body.alternatives,
    )
    translations = await each_alone(asked, body.context or "", request, who, parts)
    return answer_to(body, source, translations, single=single)


@router.post("/detect")
async def detect_language(members: MembersDep, request: Request, parts: ServicesDep) -> list[SourceLanguage]:
    """The languages that a text may be in, of those that are translated, the likeliest first."""
    who: Caller = request.state.caller
    who.require("translate")
    body = body_of(DetectRequest, members)
    sources = {model.pair[0] for model in parts.models.catalogue.models}
    async with admitted(request, parts, who, 1):
        return likely(await detect(body.q, sources))


@router.api_route("/languages", methods=["GET", "HEAD"])
async def list_languages(parts: ServicesDep) -> list[LibreLanguage]:
    """The languages that are read or written, each with those that are written for it."""
    return languages_of(model.pair for model in parts.models.catalogue.models)
