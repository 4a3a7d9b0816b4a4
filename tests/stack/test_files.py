"""Files by way of our own API, on real servers that share a Redis."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import docx
import httpx
import odfdo
import openpyxl
import pytest
from redis import Redis

from tests.support.books import book
from tests.support.client import PAIR, measured
from tests.support.servers import RedisServer, Replica, Replicas, bundle, eventually

NOBODYS = "A" * 22
WAIT = {"wait_seconds": 20}


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis for these tests only, because services that share one translate each other's files."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def replica(shared_replicas: Replicas, own_redis: RedisServer) -> Replica:
    """A replica that keeps at most three files."""
    limits = {
        "max_files": "3",
        "max_files_bytes": "30000000",
        "max_sentence_characters": "300",
        "max_document_sentences": "20",
    }
    return shared_replicas.new(redis_url=own_redis.url, max_glossary_terms="2", batch_sentences="1", **limits).start()


@pytest.fixture(autouse=True)
def nothing_is_left(replica: Replica, own_redis: RedisServer) -> Iterator[None]:
    """Remove files after each test."""
    del replica
    yield
    with closing(Redis.from_url(own_redis.url)) as redis:
        redis.flushdb()


def send(
    client: httpx.Client, content: str | bytes, name: str = "a.txt", *, key: str | None = None, **fields: Any
) -> httpx.Response:
    """Send a file, perhaps with an idempotency key."""
    headers = {} if key is None else {"Idempotency-Key": key}
    raw = content.encode() if isinstance(content, str) else content
    return client.post("/v1/files", data=PAIR | fields, files={"file": (name, raw)}, headers=headers)


def sent(client: httpx.Client, content: str | bytes, name: str = "a.txt", **fields: Any) -> str:
    """Send a file that must be accepted, and return its path."""
    answer = send(client, content, name, **fields)
    assert answer.status_code == 202, answer.text
    return f"/v1/files/{answer.json()['id']}"


def fetched(client: httpx.Client, path: str) -> bytes:
    """Wait for a translation and return it."""
    answer = client.get(f"{path}/translation", params=WAIT)
    assert answer.status_code == 200, answer.text
    return answer.content


def test_a_file_comes_back_as_a_file(client: httpx.Client) -> None:
    """Sentences are read in context; the answers describe the file and its progress."""
    answer = send(client, "か。き。\n\n- く。\n", "手紙.txt")
    assert answer.status_code == 202
    info = answer.json()
    assert info.pop("status") in {"queued", "translating"}
    assert info == PAIR | {
        "id": info["id"],
        "filename": "手紙.txt",
        "sentences": 3,
        "translated": info["translated"],
        "unsure": None,
        "seconds_remaining": info["seconds_remaining"],
        "problem": None,
    }
    path = f"/v1/files/{info['id']}"
    done = client.get(path, params=WAIT).json()
    assert (done["status"], done["translated"], done["seconds_remaining"]) == ("done", 3, None)
    for _ in range(2):
        answer = client.get(f"{path}/translation")
        assert answer.content.decode() == "か。 き。 [か。]\n\n- く。 [か。 | き。]\n"
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%E6%89%8B%E7%B4%99.txt"


@pytest.mark.parametrize("name", ["../../手紙.txt", "C:\\letters\\手紙.txt"])
def test_a_name_has_no_folders(client: httpx.Client, name: str) -> None:
    """Folders are dropped from a file's name, wherever it is given, so that a download cannot end up elsewhere."""
    for path in (sent(client, "か。", name), sent(client, "か。", "x", filename=name)):
        assert client.get(path).json()["filename"] == "手紙.txt"
        answer = client.get(f"{path}/translation", params=WAIT)
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%E6%89%8B%E7%B4%99.txt"


def test_a_file_of_words(client: httpx.Client) -> None:
    """The result is a Word file again; its kind may come from a field instead of the upload's name."""
    made, content = docx.Document(), BytesIO()
    made.add_heading("か", 1)
    made.add_paragraph("a")
    made.save(content)
    path = sent(client, content.getvalue(), "upload", filename="か.docx")
    found = docx.Document(BytesIO(fetched(client, path)))
    assert [each.text for each in found.paragraphs] == ["か", "A [か]"]
    assert client.get(path).json()["filename"] == "か.docx"


def test_a_page_of_sphinx(client: httpx.Client) -> None:
    """Titles, paragraphs and tables are read in context, and remain what they are; examples and directives stay."""
    page = "か\n==\n\na::\n\n    a\n\n.. toctree::\n\n   a\n"
    expected = "か\n==\n\nA: [か]\n\n::\n\n    a\n\n.. toctree::\n\n   a\n"
    assert fetched(client, sent(client, page, "か.rst")).decode() == expected
    assert fetched(client, sent(client, "か\n==\n\na\n--\n", "か.rst")).decode() == "か\n==\n\nA [か]\n------\n"
    table = "か\n==\n\n=  =\n1  a\n=  =\n"
    assert fetched(client, sent(client, table, "か.rst")).decode() == "か\n==\n\n=  ======\n1  A [か]\n=  ======\n"


def test_a_workbook(client: httpx.Client) -> None:
    """Cells are read in the context of those before them, and equal cells get the same translation."""
    made, content = openpyxl.Workbook(), BytesIO()
    for row in (["か。", 1], ["a", "=A1"], ["か。", "a。\nb。"]):
        made.active.append(row)
    made.save(content)
    found = openpyxl.load_workbook(BytesIO(fetched(client, sent(client, content.getvalue(), "か.xlsx"))))
    assert [[cell.value for cell in row] for row in found.active] == [
        ["か。", 1],
        ["A [か。]", "=A1"],
        ["か。", "A。 [か。 | a]\nB。 [a | a。]"],
    ]


def test_a_workbook_of_libreoffice(client: httpx.Client) -> None:
    """The same as for Excel."""
    made, sheet, content = odfdo.Document("spreadsheet"), odfdo.Table("one"), BytesIO()
    for place, value in {"A1": "か。", "A2": "a", "A3": "か。"}.items():
        sheet.set_value(place, value)
    made.body.clear()
    made.body.append(sheet)
    made.save(content)
    found = odfdo.Document(BytesIO(fetched(client, sent(client, content.getvalue(), "か.ods")))).body.get_table(0)
    assert found is not None
    assert [found.get_value(place) for place in ("A1", "A2", "A3")] == ["か。", "A [か。]", "か。"]


def test_a_book(client: httpx.Client) -> None:
    """A book's pages and its tables of contents form one document."""
    found = BytesIO(fetched(client, sent(client, book(), "か.epub")))
    with ZipFile(found) as archive:
        assert "<p>か。 [<a href='a%20b.xhtml'>か</a> | 題]</p>" in archive.read("OEBPS/a b.xhtml").decode()
        assert "<text>き [か。 | か]</text>" in archive.read("OEBPS/toc.ncx").decode()


def test_messages_of_a_program(client: httpx.Client) -> None:
    """Each message is read in context; those that are already translated serve only as context."""
    catalog = 'msgid "か。\\n"\nmsgstr "v\\n"\n\nmsgid "a。き。"\nmsgstr ""\n'
    found = fetched(client, sent(client, catalog, "a.po"))
    assert found.decode() == catalog.replace('msgid "a', '#, fuzzy\nmsgid "a').replace(
        'msgstr ""', 'msgstr "A。 [か。] き。 [か。 | a。]"'
    )
    for name in ("a.json", "a.arb"):
        found = fetched(client, sent(client, '{"あ": ["か。", 1],\n "い": "a\\nb"}', name))
        assert found.decode() == '{"あ": ["か。", 1],\n "い": "A [か。]\\nB [か。 | a]"}'
    found = fetched(client, sent(client, "あ = か。\n# a\nb: a\\n\\\n  b\n", "a.properties"))
    assert found.decode() == "あ = か。\n# a\nb: A [か。]\\n\\\n  B [か。 | a]\n"
    resources = "<resources >\n<string name='a'>か。</string> <string name='b'>it\\'s a</string></resources>"
    found = fetched(client, sent(client, resources, "strings.xml"))
    assert found.decode() == resources.replace("it\\'s a", "IT\\'S A [か。]")
    resx = "<root>\n<data name='a'><value>か。</value></data>\r\n<data name='b'><value>&amp;a</value></data></root>\n"
    found = fetched(client, sent(client, resx, "a.resx"))
    assert found.decode() == resx.replace("&amp;a", "&amp;A [か。]")


def test_pictures_may_make_a_file_large(client: httpx.Client) -> None:
    """A file may be larger than a text if that is due to pictures, which come back unchanged."""
    content = _docx(12_000_000)
    found = BytesIO(fetched(client, sent(client, content, "a.docx")))
    assert [each.text for each in docx.Document(found).paragraphs] == ["か。"]
    with ZipFile(found) as after, ZipFile(BytesIO(content)) as before:
        assert after.read("word/media/picture.png") == before.read("word/media/picture.png")
    text = send(client, b"a" * 5_000_000)
    assert (text.status_code, text.json()["detail"]) == (
        422,
        "file: is text of more than 4194304 bytes, which is the maximum",
    )
    sizes = [send(client, b"a" * size, "a.docx") for size in (17_000_000, 18_000_000)]
    assert [(answer.status_code, answer.json()["code"]) for answer in sizes] == [
        (422, "invalid_input"),
        (413, "body_too_large"),
    ]


def test_so_many_bytes_may_be_kept(client: httpx.Client) -> None:
    """Fetched files, which are still stored, count towards the limit on bytes; deleted ones make room."""
    path = sent(client, _docx(14_000_000), "a.docx")
    fetched(client, path)
    fetched(client, sent(client, _docx(14_000_000), "a.docx"))
    full = send(client, _docx(14_000_000), "a.docx")
    assert (full.status_code, full.json()["code"]) == (429, "too_many_files")
    assert "30000000 bytes" in full.json()["detail"]
    assert client.delete(path).status_code == 204
    assert send(client, _docx(14_000_000), "a.docx").status_code == 202


def _docx(size: int) -> bytes:
    """A Word file with one sentence and a picture of that many bytes."""
    content = BytesIO()
    made = docx.Document()
    made.add_paragraph("か。")
    made.save(content)
    with ZipFile(content, "a") as archive:
        archive.writestr("word/media/picture.png", os.urandom(size))
    return content.getvalue()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"strategy": "sentence"}, "A.\nB."),
        ({"model": "stand-in", "beam_size": "2"}, "A.\nB. [a.]"),
        ({"glossary": "b\tc\n\n"}, "A.\nC. [a.]"),
        (dict.fromkeys(("filename", "model", "strategy", "beam_size", "glossary", "memory"), ""), "A.\nB. [a.]"),
    ],
)
def test_how_it_is_translated(client: httpx.Client, fields: dict[str, str], expected: str) -> None:
    """Options work as for documents; an empty one counts as missing."""
    assert fetched(client, sent(client, "a.\nb.", **fields)).decode() == expected


@pytest.mark.parametrize(
    ("content", "name", "fields", "status", "problem"),
    [
        ("a", "a.pdf", {}, 422, "files that end with .pdf are not translated"),
        (b"\x82\xa9", "a.txt", {}, 422, "is not in UTF-8: byte 0"),
        ("a", "a.docx", {}, 422, "is not a valid .docx"),
        ("<project/>", "pom.xml", {}, 422, "file: of .xml, only Android's <resources> are translated, not <project>"),
        ("a", "a.txt", {"source_lang": "fr"}, 422, "no model serves fr-en"),
        ("a", "a.txt", {"model": "other"}, 404, "no model of that name"),
        ("a", "a.txt", {"strategy": "best"}, 422, "strategy"),
        ("a", "a.txt", {"beam_size": "9"}, 422, "beam_size"),
        ("a", "a.txt", {"beam_size": "2.0"}, 422, "beam_size: must be an integer"),
        ("a", "a.txt", {"glossary": "b=c"}, 422, "glossary: line 1 is not a source and a target separated by a tab"),
        ("a", "a.txt", {"glossary": "b\t"}, 422, "glossary: entry 0, target"),
        ("a", "a.txt", {"glossary": "a\ta\nb\tb\nc\tc"}, 422, "more than 2 terms"),
        ("a", "a.txt", {"style": "x"}, 422, "unknown member"),
        ("a", "a.txt", {"source_lang": ""}, 422, "source_lang: Field required"),
        ("a", "a.txt", {"filename": "a.txt/"}, 422, "filename: String should have at least 1 character"),
        ("か。" * 21, "a.txt", {}, 422, "more than 20 sentences"),
    ],
)
def test_what_cannot_be_translated_is_refused_at_once(
    client: httpx.Client, content: str | bytes, name: str, fields: dict[str, str], status: int, problem: str
) -> None:
    """The error names the problem, and nothing is stored."""
    answer = send(client, content, name, **fields)
    assert (answer.status_code, problem in answer.json()["detail"]) == (status, True), answer.text
    assert len([sent(client, "a") for _ in range(3)]) == 3


def test_bodies_that_are_no_form_with_a_file(client: httpx.Client) -> None:
    """They are refused, and so are forms from pages of other origins, which a user has not agreed to."""
    json = client.post("/v1/files", json=PAIR)
    without = client.post("/v1/files", data=PAIR | {"file": "a"}, files={"x": ("a.txt", b"a")})
    page = client.post("/v1/files", data=PAIR, files={"file": ("a.txt", b"a")}, headers={"Origin": "http://a.example"})
    terms = client.post("/v1/files", data=PAIR, files={"file": ("a.txt", b"a"), "glossary": ("a.tsv", b"a\tb")})
    assert (terms.status_code, "send text as a field" in terms.json()["detail"]) == (400, True)
    packed = {"Content-Encoding": "gzip"}
    zipped = client.post("/v1/files", data=PAIR, files={"file": ("a.txt", b"a")}, headers=packed)
    assert (zipped.status_code, zipped.headers["Accept-Encoding"]) == (415, "identity")
    own = {"Origin": str(client.base_url).rstrip("/")}
    found = [(answer.status_code, answer.json()["code"]) for answer in (json, without, page)]
    assert found == [(415, "unsupported_media_type"), (400, "malformed_request"), (403, "origin_not_allowed")]
    assert client.post("/v1/files", data=PAIR, files={"file": ("a.txt", b"a")}, headers=own).status_code == 202


def test_a_retry_is_the_same_file(client: httpx.Client) -> None:
    """An idempotency key finds its file as long as it exists, even with no room for others; other content conflicts."""
    first = send(client, "か。", key="one")
    for _ in range(2):
        sent(client, "a")
    again = send(client, "か。", key="one")
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    for content, name, fields in (("き。", "a.txt", {}), ("か。", "b.txt", {}), ("か。", "a.txt", {"beam_size": "1"})):
        other = send(client, content, name, key="one", **fields)
        assert (other.status_code, other.json()["code"]) == (409, "file_conflict")
    fetched(client, f"/v1/files/{first.json()['id']}")
    sent(client, "a")
    for _ in range(2):  # nothing counts again
        assert send(client, "か。", key="one").json()["status"] == "done"
    full = send(client, "か。", key="two")
    assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (429, "too_many_files", "5")


def test_a_retry_costs_no_sentences(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """A client that does not know whether its file arrived may send it again at no cost."""
    with replicas.new(redis_url=mortal_redis.url, sentences_per_minute="2").start().client() as client:
        path = sent(client, "か。\nき。", key="one")
        assert client.get(path, params=WAIT).json()["status"] == "done"
        for _ in range(3):
            assert send(client, "か。\nき。", key="one").status_code == 202
        assert send(client, "か。").json()["code"] == "rate_limited"


def test_a_retry_keeps_a_file_whose_receiver_has_died(client: httpx.Client, own_redis: RedisServer) -> None:
    """A replica may die between queueing a file and giving it its full time; by a retry, another may have taken it."""
    path = sent(client, "か。", key="one")
    assert client.get(path, params=WAIT).json()["status"] == "done"
    with closing(Redis.from_url(own_redis.url)) as redis:
        (name,) = redis.keys("*:file:*")
        redis.pexpire(name, 60_000)
        assert send(client, "か。", key="one").json()["status"] == "done"
        assert redis.pttl(name) > 60_000


def test_what_fails_says_why(client: httpx.Client) -> None:
    """The reason is in the status, and in the answer to fetching the translation anyway."""
    path = sent(client, "か。\nrefuse")
    told = client.get(path, params=WAIT).json()
    assert (told["status"], told["problem"]) == (
        "error",
        {
            "type": "urn:antecedent:error:invalid_request",
            "title": "Cannot be processed",
            "status": 422,
            "detail": "the model refuses this sentence",
            "code": "invalid_request",
            "retryable": False,
            "position": 1,
        },
    )
    answer = client.get(f"{path}/translation")
    assert (answer.status_code, answer.json()["code"]) == (422, "file_failed")
    assert answer.json()["problem"] == told["problem"]
    assert answer.json()["detail"] == "the file could not be translated: the model refuses this sentence"


def test_what_a_release_before_has_kept_is_told(client: httpx.Client, own_redis: RedisServer) -> None:
    """An earlier release stored just a sentence about what was wrong, without a code."""
    path = sent(client, "refuse")
    assert client.get(path, params=WAIT).json()["status"] == "error"
    with closing(Redis.from_url(own_redis.url)) as redis:
        (name,) = redis.keys(f"antecedent:*:file:{path.rpartition('/')[2]}")
        redis.hset(name, "result", "sentence 3 has 400 characters")
    problem = client.get(path).json()["problem"]
    assert (problem["code"], problem["detail"]) == ("file_failed", "sentence 3 has 400 characters")
    assert client.get(f"{path}/translation").json()["detail"].endswith(": sentence 3 has 400 characters")


def test_who_does_not_wait_is_told_to_come_again(client: httpx.Client, tmp_path: Path) -> None:
    """It is told the progress and when to ask again; a client that waits gets the file as soon as it is ready."""
    gates = [tmp_path / str(number) for number in range(2)]
    path = sent(client, "\n".join(f"wait-for:{gate}" for gate in gates))
    eventually(Path(f"{gates[0]}.begun").exists, "it is at the model")
    early = client.get(f"{path}/translation", params={"wait_seconds": 0.3})
    assert (early.status_code, early.json()["code"], early.headers["retry-after"]) == (409, "file_not_ready", "1")
    gates[0].touch()
    eventually(lambda: client.get(path).json()["translated"] == 1, "some of it is done")
    assert client.get(path).json()["seconds_remaining"] >= 0
    threading.Timer(0.5, gates[1].touch).start()
    assert fetched(client, path).decode().startswith("WAIT-FOR:")
    for seconds in ("-1", "61", "soon", "nan"):
        assert client.get(path, params={"wait_seconds": seconds}).status_code == 422


def test_files_whose_ids_are_lost_are_found(client: httpx.Client, tmp_path: Path) -> None:
    """A client that has crashed can list its files and fetch or delete them, so that they do not lock it out."""
    assert client.get("/v1/files").json() == {"files": []}
    gate = tmp_path / "gate"
    paths = [sent(client, content) for content in ("か。", "refuse", f"wait-for:{gate}")]
    eventually(Path(f"{gate}.begun").exists, "it is at the model")
    assert client.get(paths[1], params=WAIT).json()["status"] == "error"
    assert client.post("/v2/document", data=PAIR, files={"file": ("a.txt", b"a")}).status_code == 200
    full = send(client, "か。")
    assert (full.status_code, "GET /v1/files lists" in full.json()["detail"]) == (429, True)
    listed = client.get("/v1/files").json()["files"]
    assert listed == [client.get(path).json() for path in paths]
    assert [file["status"] for file in listed] == ["done", "error", "translating"]
    fetched(client, paths[0])
    client.delete(paths[2])
    gate.touch()
    assert [file["id"] for file in client.get("/v1/files").json()["files"]] == [path[-22:] for path in paths[:2]]
    assert send(client, "か。").status_code == 202


def test_a_deleted_file_is_gone(client: httpx.Client, tmp_path: Path) -> None:
    """Deletion works before, during and after translation; the rest of the file is not translated."""
    gate, mark = tmp_path / "gate", tmp_path / "never"
    paths = [sent(client, f"wait-for:{gate}\ncrash-once:{mark}"), sent(client, "か。"), sent(client, "き。")]
    eventually(Path(f"{gate}.begun").exists, "it is at the model")
    for path in paths:
        assert client.delete(path).status_code == 204
        for answer in (client.get(path), client.get(f"{path}/translation"), client.delete(path)):
            assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")
    done = sent(client, "か。")
    time.sleep(2)  # by then the translating replica has checked whether the file is still its own
    gate.touch()
    assert fetched(client, done).decode() == "か。"
    assert client.delete(done).status_code == 204
    assert client.get(f"{done}/translation").status_code == 404
    assert not mark.exists()


def test_a_look_at_a_translation_is_no_fetching(client: httpx.Client) -> None:
    """HEAD is safe: it does not count as fetching the file."""
    paths = [sent(client, "か。") for _ in range(3)]
    assert client.get(paths[0], params=WAIT).json()["status"] == "done"
    head = client.head(f"{paths[0]}/translation")
    assert (head.status_code, head.content, int(head.headers["content-length"])) == (200, b"", len("か。".encode()))
    assert send(client, "か。").status_code == 429
    assert fetched(client, paths[0]).decode() == "か。"
    assert send(client, "か。").status_code == 202


@pytest.mark.parametrize("content", ["", " \n\n", "---\n"])
def test_what_has_no_sentence(client: httpx.Client, content: str) -> None:
    """Such a file comes back unchanged, and its status reports 0 sentences."""
    path = sent(client, content)
    info = client.get(path, params=WAIT).json()
    assert (info["status"], info["sentences"], info["translated"]) == ("done", 0, 0)
    assert fetched(client, path).decode() == content


def test_ids_that_are_none(client: httpx.Client) -> None:
    """The answer reveals nothing except that there is no such file."""
    sent_to_deepl = client.post("/v2/document", data=PAIR, files={"file": ("a.txt", b"a")}).json()["document_id"]
    for file in (NOBODYS, "a", "A" * 23, "%00" * 22, sent_to_deepl):
        answer = client.get(f"/v1/files/{file}")
        assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found")


def test_a_replica_leaves_to_others_a_model_that_it_does_not_have(
    replicas: Replicas, mortal_redis: RedisServer, tmp_path: Path
) -> None:
    """The file waits for a replica that has the model, as while others are still loading a new one."""
    newer = {"redis_url": mortal_redis.url, "bundles": str(bundle(tmp_path / "newer", name="newer", accent="!"))}
    receiver = replicas.new(**newer, files_at_once="0").start()
    replicas.new(redis_url=mortal_redis.url).start()
    with receiver.client() as client, closing(Redis.from_url(mortal_redis.url, decode_responses=True)) as redis:
        path = sent(client, "か。", model="newer")
        (name,) = redis.keys("*:file:*")
        eventually(lambda: "model_not_found" in (redis.hget(name, "result") or ""), "it was looked at")
        assert (client.get(path).json()["status"], redis.hget(name, "attempts")) == ("queued", "0")
        replicas.new(**newer).start()
        assert fetched(client, path).decode() == "か。!"


def test_nobody_waits_at_a_replica_that_ends(replicas: Replicas, mortal_redis: RedisServer, tmp_path: Path) -> None:
    """A waiting client is told that the file is not ready, and can get it from another replica."""
    gate = tmp_path / "gate"
    quick = {"redis_url": mortal_redis.url, "session_lease_seconds": "0.5", "drain_seconds": "20"}
    one, other = (replicas.new(**quick).start() for _ in range(2))
    with one.client() as client, ThreadPoolExecutor() as pool:
        path = sent(client, f"wait-for:{gate}")
        waiting = pool.submit(client.get, path, params={"wait_seconds": 60})
        eventually(Path(f"{gate}.begun").exists, "it is at the model")
        eventually(lambda: measured(client, "antecedent_requests_running 2.0"), "it waits, beside this request")
        ending = pool.submit(one.end, signal.SIGTERM)
        assert waiting.result().json()["status"] == "translating"
        gate.touch()
        ending.result()
    with other.client() as client:
        assert fetched(client, path).decode().startswith("WAIT-FOR:")
