"""Request bodies that are multipart forms (RFC 7578), with or without a file."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from email.errors import MessageError
from email.header import decode_header, make_header
from typing import Any, Final

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from service.errors import ClientLeftError
from service.http.json_body import refuse_compressed
from service.http.origins import media_type

MULTIPART: Final = "multipart/form-data"
_CHARSETS: Final = {b"utf-8", b"utf8"}
"""No others: some that Python knows take minutes to decode, and names unknown to it stay in memory for ever."""
_MOST_FIELDS: Final = 32
_MOST_FILES: Final = 2
"""One more than is allowed, so that the error can say what is wrong."""
_LONGEST_FIELD: Final = 2**20
"""Most bytes of a field that is not a file."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent, under the name that the client gives."""

    name: str
    content: bytes


class _Strict(MultiPartParser):
    """Refuses fields that are not UTF-8 rather than read them as Latin-1; writes nothing to disk, which may be full.

    A field may also be UTF-16 with a byte order mark, which is never UTF-8: Trados exports translation memories so.
    """

    spool_max_size = 2**62

    def on_part_end(self) -> None:
        """End a field or a file; a complete field is converted to UTF-8."""
        part = self._current_part
        if part.file is None:
            is_wide = part.data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
            part.data = bytearray(part.data.decode("utf-16" if is_wide else "utf-8").encode())
        super().on_part_end()


async def file_of(request: Request) -> tuple[dict[str, Any], Upload]:
    """Return the members of a form except `file`, and the file.

    Raises:
        HTTPException: the body is not such a form, or not well-formed.
        ClientLeftError: the client left before its end.
    """
    if media_type(request.headers) != MULTIPART:
        raise HTTPException(415, f"the body must be {MULTIPART}, with the file as `file`")
    form = await _parsed(request, _MOST_FIELDS)
    try:
        upload = await _upload(form)
        return _members(form), upload
    finally:
        await form.close()


async def fields_of(request: Request, most: int) -> list[tuple[str, str]]:
    """Return the fields of a form without a file, at most `most` of them.

    Raises:
        HTTPException: the body is not such a form, or not well-formed.
        ClientLeftError: the client left before its end.
    """
    form = await _parsed(request, most)
    try:
        fields = form.multi_items()
        if any(isinstance(value, UploadFile) for _, value in fields):
            raise HTTPException(400, "the body has a file: send text as a field (with curl, `<` and not `@`)")
        return [(name, str(value)) for name, value in fields]
    finally:
        await form.close()


async def _parsed(request: Request, most_fields: int) -> FormData:
    refuse_compressed(request.headers)
    _, options = parse_options_header(request.headers["content-type"])
    if options.get(b"charset", b"utf-8").lower() not in _CHARSETS:
        raise HTTPException(400, f"the body is not valid {MULTIPART}: its charset is not UTF-8")
    parser = _Strict(
        request.headers, request.stream(), max_files=_MOST_FILES, max_fields=most_fields, max_part_size=_LONGEST_FIELD
    )
    try:
        return await parser.parse()
    except ClientDisconnect:
        raise ClientLeftError from None
    except MultiPartException as error:
        raise HTTPException(400, f"the body is not valid {MULTIPART}: {error.message}") from None
    except UnicodeDecodeError:
        raise HTTPException(400, "the body has a field that is not UTF-8") from None


def _members(form: FormData) -> dict[str, Any]:
    members = [(name, value) for name, value in form.multi_items() if name != "file"]
    if any(isinstance(value, UploadFile) for _, value in members):
        raise HTTPException(
            400, "the body has a file other than `file`: send text as a field (with curl, `<` and not `@`)"
        )
    if len({name for name, _ in members}) < len(members):
        raise HTTPException(400, "the body has a field more than once")
    return dict(members)


async def _upload(form: FormData) -> Upload:
    found = form.getlist("file")
    if len(found) != 1 or not isinstance(file := found[0], UploadFile):
        raise HTTPException(400, "the body has no file named `file`, or several")
    return Upload(_name(file.filename or ""), await file.read())


def _name(sent: str) -> str:
    """Return a file's name; if it is not ASCII, .NET encodes it as in a mail header."""
    try:
        words = decode_header(sent) if sent.startswith("=?") else []
        is_read = words and all(charset is None or charset.encode() in _CHARSETS for _, charset in words)
        return str(make_header(words)) if is_read else sent
    except (MessageError, LookupError, ValueError):  # of an invalid charset, say
        return sent
