"""Forms with a file."""

import encodings
from collections.abc import MutableMapping

import pytest
from fastapi import Request
from starlette.types import Message

from service.http.multipart import Upload, file_of


async def uploaded(name: str) -> Upload:
    """Parse a form whose file has that name."""

    async def receive() -> Message:
        part = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\na\r\n--b--\r\n'
        return {"type": "http.request", "body": part.encode()}

    headers = [(b"content-type", b"multipart/form-data; boundary=b")]
    _, upload = await file_of(Request({"type": "http", "method": "POST", "headers": headers}, receive))
    return upload


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("=?utf-8?B?57SrLnR4dA==?=", "紫.txt"),
        ("=?UTF-8?Q?=E7=B4=AB.txt?=", "紫.txt"),
        ("=?shift_jis?B?joc=?=", "=?shift_jis?B?joc=?="),
        ("=?utf-8?Q?a?= =?latin-1?Q?=E9?=", "=?utf-8?Q?a?= =?latin-1?Q?=E9?="),
    ],
)
async def test_names_as_mails_have_them_are_in_utf_8(sent: str, name: str) -> None:
    """.NET and Spring encode names like mail headers, always in UTF-8; other charsets are left undecoded."""
    assert (await uploaded(sent)).name == name


async def test_no_charset_that_a_client_makes_up_is_kept() -> None:
    """Python caches every charset that it has failed to find, for ever."""
    remembered: MutableMapping[str, object] = encodings._cache  # type: ignore[attr-defined]
    before = set(remembered)
    await uploaded("=?made_up_by_a_client?q?a?=")
    assert set(remembered) - before == set()
