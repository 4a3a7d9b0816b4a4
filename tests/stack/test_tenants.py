"""Two tenants on every route of the application: another tenant's data looks as if it did not exist.

Routes are taken from the application itself: a new one fails the first test until it is added to a table here.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from starlette.routing import Mount, WebSocketRoute

from service.access.key_file import KeyFile
from service.app import create_app
from service.http import authentication
from service.settings import Settings
from tests.support.client import PAIR, SHAKE_HANDS, begin, say
from tests.support.keys import made
from tests.support.servers import RedisServer, Replicas, eventually

Route = tuple[str, str]
Call = Callable[[httpx.Client, str], httpx.Response]

NOBODYS = "A" * 22
"""The id of a session or glossary that has never existed."""
SENTENCES = ("彼女は来た。", "座った。")
DEEPLS = {"source_lang": "JA", "target_lang": "EN"}
FILE = {"file": ("a.txt", "座った。".encode())}
TERMS = PAIR | {"entries": "彼女\tthe lady", "entries_format": "tsv"}
GLOSSARY = TERMS | {"name": "names"}

OPEN: dict[Route, str] = {
    ("GET", "/openapi.json"): "the description of the API, which is in the repository as well",
    ("GET", "/"): "a page to translate with, which asks for a key where one is needed",
    ("MOUNT", "/page"): "its other files",
    ("MOUNT", "/page/samples"): "a document to begin with",
    ("GET", "/docs"): "a page of the API",
    ("MOUNT", "/docs/assets"): "its other files",
    ("GET", "/health/startup"): "a probe",
    ("GET", "/health/live"): "a probe",
    ("GET", "/health/ready"): "a probe",
    ("GET", "/health/dependencies"): "a probe",
    ("GET", "/metrics"): "numbers without tenants",
    ("GET", "/libretranslate/languages"): "the languages, for which LibreTranslate's clients give no key",
}
"""Routes that need no key, with what they show."""

OF_A_SESSION: dict[Route, Call] = {
    ("POST", "/v1/sessions/{session_id}/sentences"): lambda client, session: say(
        client, f"/v1/sessions/{session}", SENTENCES[0], 0
    ),
    ("PATCH", "/v1/sessions/{session_id}/sentences/{position}"): lambda client, session: client.patch(
        f"/v1/sessions/{session}/sentences/0", json={"translation": "forged"}
    ),
    ("GET", "/v1/sessions/{session_id}"): lambda client, session: client.get(f"/v1/sessions/{session}"),
    ("DELETE", "/v1/sessions/{session_id}"): lambda client, session: client.delete(f"/v1/sessions/{session}"),
    ("WEBSOCKET", "/v1/sessions/{session_id}/stream"): lambda client, session: client.get(
        f"/v1/sessions/{session}/stream", headers=SHAKE_HANDS
    ),
}
"""Routes that name a session."""

OF_A_TENANT: dict[Route, Call] = {
    ("POST", "/v1/documents"): lambda client, _: client.post("/v1/documents", json=PAIR | {"text": "座った。"}),
    ("GET", "/v1/files"): lambda client, _: client.get("/v1/files"),
    ("POST", "/v1/files"): lambda client, _: client.post("/v1/files", data=PAIR, files=FILE),
    ("POST", "/v1/sessions"): lambda client, _: client.post("/v1/sessions", json=PAIR),
    ("POST", "/v2/translate"): lambda client, _: client.post(
        "/v2/translate", json={"text": ["座った。"], "target_lang": "EN"}
    ),
    ("POST", "/libretranslate/detect"): lambda client, _: client.post("/libretranslate/detect", json={"q": "座った。"}),
    ("POST", "/libretranslate/translate"): lambda client, _: client.post(
        "/libretranslate/translate", json={"q": "座った。", "source": "ja", "target": "en"}
    ),
    ("POST", "/v2/glossaries"): lambda client, _: client.post("/v2/glossaries", json=GLOSSARY),
    ("GET", "/v2/glossaries"): lambda client, _: client.get("/v2/glossaries"),
    ("POST", "/v3/glossaries"): lambda client, _: client.post(
        "/v3/glossaries", json={"name": "x", "dictionaries": [TERMS]}
    ),
    ("GET", "/v3/glossaries"): lambda client, _: client.get("/v3/glossaries"),
    ("POST", "/v2/document"): lambda client, _: client.post("/v2/document", data=DEEPLS, files=FILE),
    ("POST", "/v2/document/"): lambda client, _: client.post("/v2/document/", data=DEEPLS, files=FILE),
    ("GET", "/v1/sessions/{session_id}/stream"): lambda client, session: client.get(f"/v1/sessions/{session}/stream"),
}
"""Other routes for the scope translate."""

OF_A_GLOSSARY: dict[Route, Call] = {
    ("GET", "/v2/glossaries/{glossary_id}"): lambda client, glossary: client.get(f"/v2/glossaries/{glossary}"),
    ("GET", "/v2/glossaries/{glossary_id}/entries"): lambda client, glossary: client.get(
        f"/v2/glossaries/{glossary}/entries"
    ),
    ("DELETE", "/v2/glossaries/{glossary_id}"): lambda client, glossary: client.delete(f"/v2/glossaries/{glossary}"),
    ("GET", "/v3/glossaries/{glossary_id}"): lambda client, glossary: client.get(f"/v3/glossaries/{glossary}"),
    ("PATCH", "/v3/glossaries/{glossary_id}"): lambda client, glossary: client.patch(
        f"/v3/glossaries/{glossary}", json={"dictionaries": [TERMS]}
    ),
    ("DELETE", "/v3/glossaries/{glossary_id}"): lambda client, glossary: client.delete(f"/v3/glossaries/{glossary}"),
    ("GET", "/v3/glossaries/{glossary_id}/entries"): lambda client, glossary: client.get(
        f"/v3/glossaries/{glossary}/entries", params=PAIR
    ),
    ("PUT", "/v3/glossaries/{glossary_id}/dictionaries"): lambda client, glossary: client.put(
        f"/v3/glossaries/{glossary}/dictionaries", json=TERMS
    ),
    ("DELETE", "/v3/glossaries/{glossary_id}/dictionaries"): lambda client, glossary: client.delete(
        f"/v3/glossaries/{glossary}/dictionaries", params=PAIR
    ),
}
"""Routes that name a glossary."""


def _of_file(client: httpx.Client, file: str, what: str = "") -> httpx.Response:
    document, _, key = file.partition(" ")
    return client.post(f"/v2/document/{document}{what}", json={"document_key": key})


OF_A_FILE: dict[Route, Call] = {
    ("POST", "/v2/document/{document_id}"): _of_file,
    ("POST", "/v2/document/{document_id}/result"): lambda client, file: _of_file(client, file, "/result"),
}
"""Routes that name a file of DeepL's clients, given as its id and key separated by a space."""

OF_OUR_FILE: dict[Route, Call] = {
    ("GET", "/v1/files/{file_id}"): lambda client, file: client.get(f"/v1/files/{file}"),
    ("GET", "/v1/files/{file_id}/translation"): lambda client, file: client.get(f"/v1/files/{file}/translation"),
    ("DELETE", "/v1/files/{file_id}"): lambda client, file: client.delete(f"/v1/files/{file}"),
}
"""Routes that name a file of our own API."""

OF_ANY_KEY: dict[Route, Call] = {
    ("GET", "/v1/models"): lambda client, _: client.get("/v1/models"),
    ("GET", "/v1/info"): lambda client, _: client.get("/v1/info"),
    ("GET", "/v2/languages"): lambda client, _: client.get("/v2/languages"),
    ("POST", "/v2/languages"): lambda client, _: client.post("/v2/languages", data={"type": "target"}),
    ("GET", "/v2/usage"): lambda client, _: client.get("/v2/usage"),
    ("POST", "/v2/usage"): lambda client, _: client.post("/v2/usage"),
    ("GET", "/v2/glossary-language-pairs"): lambda client, _: client.get("/v2/glossary-language-pairs"),
}
"""Routes that describe the service."""

OF_AN_ADMINISTRATOR: dict[Route, Call] = {
    ("POST", "/v1/models"): lambda client, _: client.post("/v1/models", json={"bundle": "nothing"}),
    ("DELETE", "/v1/models/{name}"): lambda client, _: client.delete("/v1/models/nothing"),
}
"""Routes that change the service."""

NO_KEY = {"v1": 401, "v2": 403, "v3": 403, "libretranslate": 403}
"""The status without a key; all but the first follow DeepL and LibreTranslate."""
_OF_THE_MOMENT = {"connection", "date", "x-request-id"}
PROTECTED = OF_A_SESSION | OF_A_TENANT | OF_A_GLOSSARY | OF_A_FILE | OF_OUR_FILE | OF_ANY_KEY | OF_AN_ADMINISTRATOR


@dataclass(frozen=True)
class Clients:
    """Clients of one service, each with its own key or none."""

    owner: httpx.Client
    colleague: httpx.Client
    """Has a different key of the same tenant as the owner."""
    stranger: httpx.Client
    administrator: httpx.Client
    """Belongs to the owner's tenant, too."""
    nobody: httpx.Client


@pytest.fixture(scope="module")
def clients(
    shared_replicas: Replicas, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clients]:
    """One of each kind of client."""
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    keys = [_key(file, tenant, "translate") for tenant in ("owner", "owner", "stranger")]
    keys.append(_key(file, "owner", "admin"))
    replica = shared_replicas.new(redis_url=redis_server.url, keys="file", keys_file=str(file)).start()
    with ExitStack() as stack:
        each = [stack.enter_context(replica.client()) for _ in range(5)]
        for client, key in zip(each, keys, strict=False):
            client.headers["Authorization"] = f"Bearer {key}"
        yield Clients(*each)


def _key(file: Path, tenant: str, scope: Any) -> str:
    key, record = made(tenant, scope)
    asyncio.run(KeyFile(file).add(record))
    return key


@pytest.fixture
def session(clients: Clients) -> str:
    """The id of a session of the owner, with two sentences and an idempotency key."""
    path = begin(clients.owner, memory=[{"source": SENTENCES[0], "target": "The lady came."}])
    say(clients.owner, path, SENTENCES[0])
    say(clients.owner, path, SENTENCES[1], **{"Idempotency-Key": "mine"})
    return path.rpartition("/")[2]


def look(answer: httpx.Response) -> tuple[object, ...]:
    """Everything in an answer except what always differs: the request's id, the time, the remaining quota."""
    headers = {name: value for name, value in answer.headers.items() if name not in _OF_THE_MOMENT}
    quota = {name for name in headers if name.startswith("ratelimit")}
    content = answer.json() if answer.content else {}
    content.pop("request_id", None)
    return answer.status_code, {name: headers[name] for name in headers.keys() - quota}, quota, content


def routes() -> Iterator[Route]:
    """Every route of the application, by method and pattern."""
    for context in iter_route_contexts(create_app(Settings()).routes):
        assert context.path is not None
        if isinstance(context.route, Mount):
            yield "MOUNT", context.path
        elif isinstance(context.route, WebSocketRoute):
            yield "WEBSOCKET", context.path
        else:
            for method in (context.methods or set()) - {"HEAD"}:
                yield method, context.path


def test_every_route_has_a_case() -> None:
    """This fails for a route for which nobody has decided here who may use it."""
    assert set(routes()) == OPEN.keys() | PROTECTED.keys()


@pytest.mark.parametrize("route", PROTECTED, ids=" ".join)
def test_nobody_gets_anything(clients: Clients, session: str, route: Route) -> None:
    """Without a key a route answers the same whether or not its object exists, and mostly like an unknown path."""
    version = route[1].split("/")[1]
    answer = PROTECTED[route](clients.nobody, session)
    assert answer.status_code == NO_KEY[version]
    assert look(answer) == look(PROTECTED[route](clients.nobody, NOBODYS))
    if f"/{version}/" in authentication.PROTECTED:
        assert look(answer) == look(clients.nobody.get(f"/{version}/no/such/path"))


@pytest.mark.parametrize("route", OF_A_SESSION, ids=" ".join)
def test_session_of_another_tenant_looks_like_none(clients: Clients, session: str, route: Route) -> None:
    """For reading, extending, correcting, deleting and streaming, it looks like one that has never existed."""
    before = clients.owner.get(f"/v1/sessions/{session}").json()
    answer = OF_A_SESSION[route](clients.stranger, session)
    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")
    assert look(answer) == look(OF_A_SESSION[route](clients.stranger, NOBODYS))
    assert clients.owner.get(f"/v1/sessions/{session}").json() == before


@pytest.mark.parametrize("route", OF_A_SESSION, ids=" ".join)
def test_session_is_there_for_all_keys_of_its_tenant(clients: Clients, session: str, route: Route) -> None:
    """Any other key of the tenant, such as the successor of the first, can do everything with it."""
    assert OF_A_SESSION[route](clients.colleague, session).status_code in {101, 200, 204}


@pytest.fixture
def glossary(clients: Clients) -> Iterator[str]:
    """The id of a glossary of the owner."""
    glossary = clients.owner.post("/v2/glossaries", json=GLOSSARY).json()["glossary_id"]
    yield glossary
    clients.owner.delete(f"/v2/glossaries/{glossary}")


def _translate_with(client: httpx.Client, glossary: str) -> httpx.Response:
    body = {"text": ["彼女は来た。"], "source_lang": "JA", "target_lang": "EN", "glossary_id": glossary}
    return client.post("/v2/translate", json=body)


def _listed(client: httpx.Client) -> list[str]:
    return [each["glossary_id"] for each in client.get("/v2/glossaries").json()["glossaries"]]


@pytest.mark.parametrize("route", OF_A_GLOSSARY, ids=" ".join)
def test_glossary_of_another_tenant_looks_like_none(clients: Clients, glossary: str, route: Route) -> None:
    """For reading, changing, deleting and translating with it, it looks like one that has never existed."""
    for call in (OF_A_GLOSSARY[route], _translate_with):
        answer = call(clients.stranger, glossary)
        assert (answer.status_code, answer.json()["code"]) == (404, "glossary_not_found")
        assert look(answer) == look(call(clients.stranger, NOBODYS))
    assert glossary not in _listed(clients.stranger)
    assert glossary in _listed(clients.owner)
    assert OF_A_GLOSSARY[route](clients.colleague, glossary).status_code in {200, 204}


@pytest.fixture
def file(clients: Clients) -> str:
    """The id and key of a translated file of the owner."""
    sent = " ".join(clients.owner.post("/v2/document", data=DEEPLS, files=FILE).json().values())
    eventually(lambda: _of_file(clients.owner, sent).json()["status"] == "done", "it is translated")
    return sent


@pytest.mark.parametrize("route", OF_A_FILE, ids=" ".join)
def test_file_of_another_tenant_looks_like_none(clients: Clients, file: str, route: Route) -> None:
    """Even with the file's id and key, an API key of the owner's tenant is needed."""
    answer = OF_A_FILE[route](clients.stranger, file)
    assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")
    assert look(answer) == look(OF_A_FILE[route](clients.stranger, NOBODYS))
    assert OF_A_FILE[route](clients.colleague, file).status_code == 200


@pytest.mark.parametrize("route", OF_OUR_FILE, ids=" ".join)
def test_our_file_of_another_tenant_looks_like_none(clients: Clients, route: Route) -> None:
    """Its id means nothing to another tenant, for whom the same idempotency key stands for another file."""
    ours, theirs = (
        client.post("/v1/files", data=PAIR, files=FILE, headers={"Idempotency-Key": route[1]}).json()["id"]
        for client in (clients.owner, clients.stranger)
    )
    assert ours != theirs
    for client, own, other in ((clients.colleague, ours, theirs), (clients.stranger, theirs, ours)):
        listed = {file["id"] for file in client.get("/v1/files").json()["files"]}
        assert own in listed
        assert other not in listed
    answer = OF_OUR_FILE[route](clients.stranger, ours)
    assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")
    assert look(answer) == look(OF_OUR_FILE[route](clients.stranger, NOBODYS))
    waited = clients.colleague.get(f"/v1/files/{ours}", params={"wait_seconds": 20})
    assert waited.json()["status"] == "done"
    assert OF_OUR_FILE[route](clients.colleague, ours).status_code in {200, 204}


def test_idempotency_key_of_another_tenant(clients: Clients, session: str) -> None:
    """A key that one tenant has used reveals nothing to another, in that session or in its own."""
    header = {"Idempotency-Key": "mine"}
    taken, free = ({"Idempotency-Key": name} for name in ("mine", "not yet used"))
    path = f"/v1/sessions/{session}"
    assert look(say(clients.stranger, path, SENTENCES[1], **taken)) == look(
        say(clients.stranger, path, SENTENCES[1], **free)
    )
    own = begin(clients.stranger)
    first = say(clients.stranger, own, SENTENCES[1], **header).json()
    assert (first["position"], first["context_size"]) == (0, 0)


def test_session_that_another_tenant_has_begun_with_the_same_key(clients: Clients) -> None:
    """The session is found with any key of its tenant, but not by another tenant."""
    ours, theirs, found = (
        client.post("/v1/sessions", json=PAIR, headers={"Idempotency-Key": "to begin with"}).json()["session_id"]
        for client in (clients.owner, clients.stranger, clients.colleague)
    )
    assert found == ours != theirs


@pytest.mark.parametrize("route", OF_A_SESSION | OF_A_TENANT | OF_A_GLOSSARY | OF_OUR_FILE, ids=" ".join)
def test_administrator_does_not_translate(clients: Clients, session: str, route: Route) -> None:
    """The scope admin includes no other: such a key cannot even see whether its own tenant's documents exist."""
    answer = PROTECTED[route](clients.administrator, session)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert look(answer) == look(PROTECTED[route](clients.administrator, NOBODYS))


@pytest.mark.parametrize("route", OF_ANY_KEY, ids=" ".join)
def test_every_key_sees_what_the_service_is(clients: Clients, route: Route) -> None:
    """Administrators need to see what is loaded, and translators what they can choose from."""
    for client in (clients.administrator, clients.owner, clients.stranger):
        assert OF_ANY_KEY[route](client, "").status_code == 200
    assert OF_ANY_KEY[route](clients.nobody, "").status_code == NO_KEY[route[1].split("/")[1]]


@pytest.mark.parametrize("route", OF_AN_ADMINISTRATOR, ids=" ".join)
def test_only_an_administrator_changes_the_service(clients: Clients, route: Route) -> None:
    """A key for translation is refused for any name; an administrator's gets an error about the name itself."""
    refused = OF_AN_ADMINISTRATOR[route](clients.owner, "")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert OF_AN_ADMINISTRATOR[route](clients.administrator, "").json()["code"] not in {"forbidden", "unauthenticated"}


@pytest.mark.parametrize("route", [route for route in OPEN if route[0] == "GET"], ids=" ".join)
def test_open_routes_name_no_tenant(clients: Clients, session: str, route: Route) -> None:
    """Routes that need no key reveal nothing about tenants."""
    answer = clients.nobody.get(route[1])
    assert answer.status_code == 200
    for name in ("owner", "stranger", session):
        assert name not in answer.text
