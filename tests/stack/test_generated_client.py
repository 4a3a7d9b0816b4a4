"""A client generated from the OpenAPI document, against a real server."""

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import SENTENCES
from tests.support.servers import RedisServer, Replicas
from tests.support.stand_in import expected

PACKAGE = "generated_antecedent_client"


@pytest.fixture(scope="module")
def url(shared_replicas: Replicas, redis_server: RedisServer) -> str:
    """The URL of a running service."""
    return shared_replicas.new(redis_url=redis_server.url).start().url


@pytest.fixture(scope="module")
def generated(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Generate the client's package, without any warnings, and make it importable."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "config.yaml").write_text("post_hooks: []\n")
    command = [str(Path(sys.executable).with_name("openapi-python-client")), "generate", "--fail-on-warning"]
    where = ["--url", f"{url}/openapi.json", "--output-path", str(folder / PACKAGE)]
    done = subprocess.run(
        [*command, *where, "--meta", "none", "--config", str(folder / "config.yaml")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(folder)
        yield
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]


def part(name: str) -> Any:
    """A module of the generated client."""
    return importlib.import_module(f"{PACKAGE}.{name}")


@pytest.mark.usefixtures("generated")
def test_generated_client_translates_a_document_and_a_session(url: str) -> None:
    """Every call takes and returns the document's classes, including errors."""
    bodies = part("models")
    with part("client").Client(base_url=url, httpx_args={"trust_env": False}) as client:
        request = bodies.DocumentRequest(source_lang="ja", target_lang="en", sentences=SENTENCES[:2])
        document = part("api.documents.translate_document").sync(client=client, body=request)
        assert [sentence.translation for sentence in document.sentences] == [
            expected(SENTENCES[0]),
            expected(SENTENCES[1], SENTENCES[:1]),
        ]
        begun = part("api.sessions.create_session").sync(
            client=client, body=bodies.SessionRequest(source_lang="ja", target_lang="en")
        )
        say = part("api.sessions.translate_sentence").sync
        for position, text in enumerate(SENTENCES):
            body = bodies.SentenceRequest(text=text, position=position)
            answer = say(begun.session_id, client=client, body=body)
            assert answer.translation == expected(text, SENTENCES[max(0, position - 2) : position])
        beyond = bodies.SentenceRequest(text="跳ぶ。", position=9)
        problem = say(begun.session_id, client=client, body=beyond)
        assert (problem.status, problem.code, problem.additional_properties["next_position"]) == (
            409,
            "position_gap",
            5,
        )
        state = part("api.sessions.read_session").sync(begun.session_id, client=client)
        assert [sentence.source for sentence in state.sentences] == SENTENCES
        forgotten = part("api.sessions.delete_session").sync_detailed(begun.session_id, client=client)
        assert forgotten.status_code == 204


@pytest.mark.usefixtures("generated")
def test_generated_client_translates_a_file(url: str) -> None:
    """It can fill in the form that the document describes, including a glossary."""
    bodies = part("models")
    with part("client").Client(base_url=url, httpx_args={"trust_env": False}) as client:
        form = bodies.FileForm(
            file=part("types").File(BytesIO(b"a.\nb."), "a.txt"),
            source_lang="ja",
            target_lang="en",
            beam_size=2,
            glossary="b\tc",
        )
        file = part("api.files.send_file").sync(client=client, body=form)
        info = part("api.files.read_file").sync(file.id, client=client, wait_seconds=20)
        assert (info.filename, info.status, info.sentences) == ("a.txt", bodies.FileInfoStatus.DONE, 2)
        assert file.id in [each.id for each in part("api.files.list_files").sync(client=client).files]
        answer = part("api.files.read_translated_file").sync_detailed(file.id, client=client)
        assert answer.content == b"A.\nC. [a.]"
        assert part("api.files.delete_file").sync_detailed(file.id, client=client).status_code == 204
        problem = part("api.files.read_file").sync(file.id, client=client)
        assert (problem.status, problem.code) == (404, "file_not_found")


@pytest.mark.usefixtures("generated")
async def test_generated_client_has_calls_for_asyncio(url: str) -> None:
    """Documents sent concurrently over one client each get their own answer."""
    bodies, call = part("models"), part("api.documents.translate_document").asyncio
    async with part("client").Client(base_url=url, httpx_args={"trust_env": False}) as client:
        requests = [bodies.DocumentRequest(source_lang="ja", target_lang="en", sentences=[text]) for text in SENTENCES]
        documents = await asyncio.gather(*(call(client=client, body=request) for request in requests))
    found = [document.sentences[0].translation for document in documents]
    assert found == [expected(text) for text in SENTENCES]
