"""Files sent by DeepL's own Python client, unmodified, to real servers that share a Redis."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import deepl
import docx
import httpx
import odfdo
import openpyxl
import pptx
import pytest
from redis import Redis

from service.files.jobs import MOST_ATTEMPTS
from service.store.files import FileKey
from tests.support.servers import RedisServer, Replica, Replicas, bundle, eventually

PAIR = ("JA", "EN-US")
T = TypeVar("T")
NOBODY = "default"
"""The tenant of a service without keys."""
SCRIPT = """\ufeff[Script Info]\r
Title: か\r
[Events]\r
Dialogue: 0,0:00:03.00,0:00:04.00,か,,0,0,0,,%s\r
Dialogue: 0,0:00:01.00,0:00:02.00,か,,0,0,0,,{\\an8\\i1}%s{\\i0}\r
Comment: 0,0:00:01.00,0:00:02.00,か,,0,0,0,,a\r
"""
"""Subtitles in an order that is not that of time."""

KA, KI = "か" * 30, "き" * 30
"""Lines that look like those of a wrapped paragraph."""


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the client poll the status continually, instead of every five seconds, and repeat nothing by itself."""
    clock = SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, 0.02)), time=time.time)
    monkeypatch.setattr(deepl.translator, "time", clock)
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis for these tests only, because services that share one translate each other's files."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def servers(shared_replicas: Replicas, own_redis: RedisServer) -> list[Replica]:
    """Two replicas, of which only the second translates files."""
    limits = {"max_files": "3", "max_sentence_characters": "300", "max_document_sentences": "20"}
    settings = {"redis_url": own_redis.url, "batch_sentences": "1"} | limits
    return [shared_replicas.new(**settings, files_at_once=number).start() for number in ("0", "2")]


@pytest.fixture
def clients(deepl_clients: list[deepl.DeepLClient], own_redis: RedisServer) -> Iterator[list[deepl.DeepLClient]]:
    """A client of each server; files are removed after each test."""
    yield deepl_clients
    with closing(Redis.from_url(own_redis.url)) as redis:
        redis.flushdb()


def send(
    client: deepl.Translator, content: str | bytes, name: str = "file.txt", **members: object
) -> deepl.DocumentHandle:
    """Send a file."""
    pair = {"source_lang": PAIR[0], "target_lang": PAIR[1]}
    return client.translate_document_upload(content, filename=name, **pair | members)  # type: ignore[arg-type]


def receive(client: deepl.Translator, handle: deepl.DocumentHandle) -> bytes:
    """Wait for a translation, and download it."""
    status = client.translate_document_wait_until_done(handle)
    assert status.ok, status.error_message
    answer = client.translate_document_download(handle)
    assert answer is not None
    return bytes(answer.content)


def until_served(call: Callable[[], T]) -> T:
    """Repeat a call until it succeeds: where Redis has little time, it may not answer on a busy machine."""
    found: list[T] = []

    def succeeds() -> bool:
        with suppress(deepl.DeepLException):
            found.append(call())
        return bool(found)

    eventually(succeeds, "it is served")
    return found[0]


def translated(client: deepl.Translator, content: str | bytes, name: str = "file.txt", **members: object) -> str:
    """Send a file and return its translation."""
    return receive(client, send(client, content, name, **members)).decode()


def test_a_file_is_translated_by_another_replica(clients: list[deepl.DeepLClient]) -> None:
    """A file sent to one replica and translated by another can be fetched from both; sentences are read in context."""
    one, other = clients
    text = "か。き。\n\n- く。\n"
    handle = send(one, text)
    status = other.translate_document_wait_until_done(handle)
    assert (status.done, status.billed_characters, status.error_message) == (True, len(text), None)
    for client in clients:
        assert receive(client, handle).decode() == "か。 き。 [か。]\n\n- く。 [か。 | き。]\n"


def test_from_path_to_path(clients: list[deepl.DeepLClient], tmp_path: Path) -> None:
    """Most programs use it this way."""
    source, target = tmp_path / "か.txt", tmp_path / "a.txt"
    source.write_text("か。\na", encoding="utf-8")
    clients[0].translate_document_from_filepath(source, target, source_lang=PAIR[0], target_lang=PAIR[1])
    assert target.read_text() == "か。\nA [か。]"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.HTML", "<p title='x'>か。</p><p>b</p>", "\ufeff<p title='x'>か。</p><p>B [か。]</p>"),
        ("a.htm", "<!-- a --><li>a", "\ufeff<!-- a --><li>A"),
        ("a.md", "# か\n\n- a\n", "# か\n\n- A [か]\n"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nか。\n", "1\n00:00:01,000 --> 00:00:02,000\nか。\n"),
        (
            "b.srt",
            "1\n00:00:01,000 --> 00:00:02,000\nか、\n\n2\n00:00:03,000 --> 00:00:04,000\nき。\n",
            "1\n00:00:01,000 --> 00:00:02,000\nか、\n\n2\n00:00:03,000 --> 00:00:04,000\nき。\n",
        ),
        (
            "c.srt",
            f"00:01:05 --> 00:02:05\n{KA}\n{KI}\nく。",
            f"00:01:05 --> 00:02:05\n{KA}\n{KI} [{KA}]\nく。 [{KA} | {KI}]",
        ),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\na\n", None),
        ("a.ass", SCRIPT % ("b", "a"), SCRIPT % ("B [a]", "A")),
        ("a.SSA", SCRIPT % ("か", "b"), SCRIPT % ("か [b]", "B")),
        ("a.txt", "\ufeffa\r\nb\r\n", "\ufeffA\r\nB [a]\r\n"),
        ("a.txt", "a".encode("utf-16"), "A"),
        ("a.txt", "", ""),
        ("a.txt", " \n", " \n"),
    ],
)
def test_what_is_no_sentence_stays(
    clients: list[deepl.DeepLClient], name: str, content: str | bytes, expected: str | None
) -> None:
    """Tags, list markers, times, line breaks and byte order marks stay."""
    found = translated(clients[1], content, name)
    if expected is None:
        assert isinstance(content, str)
        assert [line for line in found.splitlines() if "-->" in line] == ["00:01.000 --> 00:02.000"]
    else:
        assert found == expected


def test_a_file_of_words(clients: list[deepl.DeepLClient]) -> None:
    """A Word file's text is translated in context; a heading stays one."""
    made = docx.Document()
    made.add_heading("か", 1)
    made.add_paragraph("a").add_run("b").bold = True
    sent, got = BytesIO(), BytesIO()
    made.save(sent)
    got.write(receive(clients[1], send(clients[0], sent.getvalue(), "か.docx")))
    found = [[(run.text, run.bold) for run in each.runs] for each in docx.Document(got).paragraphs]
    assert found[0] == [("か", None)]
    assert docx.Document(got).paragraphs[0].style.name == "Heading 1"
    assert "".join(text for text, _ in found[1]).startswith("A")
    with pytest.raises(deepl.DeepLException, match=r"is not a valid \.docx"):
        send(clients[0], "か", "か.docx")


def test_a_file_of_open_document(clients: list[deepl.DeepLClient]) -> None:
    """The same for LibreOffice's format."""
    made = odfdo.Document("text")
    made.body.clear()
    for text in ("か", "a"):
        made.body.append(odfdo.Paragraph(text))
    sent, got = BytesIO(), BytesIO()
    made.save(sent)
    got.write(receive(clients[1], send(clients[0], sent.getvalue(), "か.odt")))
    found = [each.text_recursive for each in odfdo.Document(got).body.get_paragraphs()]
    assert found[0] == "か"
    assert found[1].startswith("A")


def test_a_file_of_slides(clients: list[deepl.DeepLClient]) -> None:
    """Each slide is read in the context of those before it."""
    made = pptx.Presentation()
    for title in ("か", "a"):
        made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = title
    sent, got = BytesIO(), BytesIO()
    made.save(sent)
    got.write(receive(clients[1], send(clients[0], sent.getvalue(), "か.pptx")))
    found = [each.shapes.title.text for each in pptx.Presentation(got).slides]
    assert found[0] == "か"
    assert found[1].startswith("A")


def test_a_workbook(clients: list[deepl.DeepLClient]) -> None:
    """Each cell is read in the context of those before it."""
    made = openpyxl.Workbook()
    for text in ("か", "a"):
        made.active.append([text])
    sent, got = BytesIO(), BytesIO()
    made.save(sent)
    got.write(receive(clients[1], send(clients[0], sent.getvalue(), "か.xlsx")))
    (first,), (second,) = openpyxl.load_workbook(got).active.values
    assert first == "か"
    assert second == "A [か]"


def test_a_glossary_that_is_deleted_meanwhile_counts(servers: list[Replica], clients: list[deepl.DeepLClient]) -> None:
    """A file is translated with the terms that the glossary had when it was sent."""
    with closing(deepl.DeepLClient("any", server_url=servers[0].url)) as client:
        glossary = client.create_glossary("names", *PAIR, {"紫式部": "Lady Murasaki"})
        handle = send(client, "紫式部", glossary=glossary.glossary_id)
        client.delete_glossary(glossary)
        assert receive(client, handle).decode() == "LADY MURASAKI"
        with pytest.raises(deepl.DeepLException, match="no such glossary"):
            send(client, "紫式部", glossary=glossary.glossary_id)


@pytest.mark.parametrize(
    ("content", "name", "members", "problem"),
    [
        ("a", "a.pdf", {}, "files that end with .pdf are not translated"),
        ("a", "README", {}, "whose names have no extension"),
        (b"\x82\xa9", "a.txt", {}, "is not in UTF-8: byte 0"),
        ("か".encode("iso-2022-jp"), "a.txt", {}, "is not in UTF-8, but in ISO-2022"),
        ("a".encode("utf-16-le"), "a.srt", {}, "in UTF-16 without a byte order mark, or no text"),
        ("a", "a.txt", {"output_format": "html"}, "a file can only be translated into its own format"),
        ("a", "a.txt", {"source_lang": "FR"}, "no model serves fr-en-us"),
        ("a", "a.txt", {"formality": "more"}, "formality"),
        ("a", "a.txt", {"extra_body_parameters": {"style": "x"}}, "style"),
        ("か。" * 21, "a.txt", {}, "more than 20 sentences"),
        ("a", "a" * 300 + ".txt", {}, "at most 255"),
        ("<p>a", "a.txt", {"extra_body_parameters": {"filename": "a.docm"}}, "end with .docm"),
    ],
)
def test_what_cannot_be_translated_is_refused_at_once(
    clients: list[deepl.DeepLClient], content: str | bytes, name: str, members: dict[str, object], problem: str
) -> None:
    """The error names the problem, and nothing is stored."""
    with pytest.raises(deepl.DeepLException, match=problem):
        send(clients[0], content, name, **members)


@pytest.mark.usefixtures("clients")  # removes files afterwards
def test_what_is_empty_is_not_said(servers: list[Replica]) -> None:
    """A program's form may contain all of its fields, some of them empty."""
    with servers[0].client() as client:
        empty = {"target_lang": "EN", "source_lang": "", "formality": "", "glossary_id": "", "output_format": ""}
        assert client.post("/v2/document", data=empty, files=FILE).status_code == 200


@pytest.mark.usefixtures("clients")  # likewise
def test_a_file_is_sent_to_an_address_with_a_slash_too(servers: list[Replica]) -> None:
    """DeepL's client for Java uses such an address."""
    with servers[0].client() as client:
        sent = client.post("/v2/document/", data={"target_lang": "EN"}, files=FILE)
    assert sent.json().keys() == {"document_id", "document_key"}


def test_what_fails_says_why(clients: list[deepl.DeepLClient]) -> None:
    """The status gives the reason; fetching the translation anyway fails."""
    handle = send(clients[0], "か。\nrefuse")
    status = clients[0].translate_document_wait_until_done(handle)
    assert not status.ok
    assert status.error_message == "the model refuses this sentence"
    with pytest.raises(deepl.DeepLException, match="Bad request"):
        clients[0].translate_document_download(handle)


def test_only_its_key_opens_a_file(clients: list[deepl.DeepLClient]) -> None:
    """With a wrong key, a file's id is treated like one that never existed."""
    handle = send(clients[0], "か。")
    wrong = deepl.DocumentHandle(handle.document_id, "another")
    for call in (clients[0].translate_document_get_status, clients[0].translate_document_download):
        with pytest.raises(deepl.DeepLException, match="Not found"):
            call(wrong)
        with pytest.raises(deepl.DeepLException, match="Not found"):
            call(deepl.DocumentHandle("A" * 22, handle.document_key))


def test_there_may_be_so_many(clients: list[deepl.DeepLClient], tmp_path: Path) -> None:
    """Downloaded files make room, but can still be downloaded again."""
    gate = tmp_path / "gate"
    handles = [send(clients[0], text) for text in ("か。", "き。", f"wait-for:{gate}")]
    with pytest.raises(deepl.TooManyRequestsException, match="at most 3 files"):
        send(clients[0], "け。")
    with pytest.raises(deepl.DocumentNotReadyException):
        clients[0].translate_document_download(handles[2])
    assert receive(clients[0], handles[0]).decode() == "か。"
    handles.append(send(clients[0], "け。"))
    assert receive(clients[0], handles[0]).decode() == "か。"
    gate.touch()
    assert receive(clients[0], handles[3]).decode() == "け。"
    assert receive(clients[0], handles[2]).decode() == f"WAIT-FOR:{gate}".upper()


def test_what_fails_makes_room(clients: list[deepl.DeepLClient]) -> None:
    """A failed file does not count, since there is nothing to download."""
    for _ in range(4):
        assert not clients[0].translate_document_wait_until_done(send(clients[0], "refuse")).ok


def test_progress_is_told(clients: list[deepl.DeepLClient], tmp_path: Path) -> None:
    """A file's status changes to translating, with an estimate of the time left once part of it is done."""
    gates = [tmp_path / str(number) for number in range(2)]
    handle = send(clients[0], f"か。\nwait-for:{gates[0]}\nwait-for:{gates[1]}")

    def status() -> deepl.DocumentStatus:
        return clients[0].translate_document_get_status(handle)

    eventually(Path(f"{gates[0]}.begun").exists, "it is at the model")
    assert status().status is deepl.DocumentStatus.Status.TRANSLATING
    gates[0].touch()
    eventually(lambda: status().seconds_remaining is not None, "some of it is done")
    gates[1].touch()
    eventually(lambda: status().done, "it is done")
    assert status().seconds_remaining is None


def _lone(replicas: Replicas, redis: RedisServer) -> Replica:
    return replicas.new(redis_url=redis.url, session_lease_seconds="0.5", drain_seconds="1").start()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_replica_that_goes_loses_no_file(
    replicas: Replicas, mortal_redis: RedisServer, tmp_path: Path, how: signal.Signals
) -> None:
    """Whether it is killed or terminated, another replica starts over and translates the file."""
    gate = tmp_path / "gate"
    one, other = _lone(replicas, mortal_redis), replicas.new(redis_url=mortal_redis.url, session_lease_seconds="0.5")
    with closing(deepl.Translator("any", server_url=one.url)) as client:
        handle = send(client, f"か。\nwait-for:{gate}")
        eventually(Path(f"{gate}.begun").exists, "it is at the model")
        one.end(how)
    other.start()
    gate.touch()
    with closing(deepl.Translator("any", server_url=other.url)) as client:
        assert receive(client, handle).decode() == f"か。\nWAIT-FOR:{gate} [か。]".upper()
    with closing(Redis.from_url(mortal_redis.url, decode_responses=True)) as redis:
        attempts = redis.hget(_name(handle), "attempts")
        assert attempts == ("2" if how is signal.SIGKILL else "1")
        eventually(lambda: redis.zcard("antecedent:files") == 0, "nobody looks at it any more")


def test_redis_that_is_away_for_a_while_loses_no_file(
    replicas: Replicas, mortal_redis: RedisServer, tmp_path: Path
) -> None:
    """What was translated during the outage is stored when Redis is back."""
    gate = tmp_path / "gate"
    quick = {"redis_timeout_seconds": "0.3", "redis_total_seconds": "0.5", "session_lease_seconds": "0.3"}
    replica = replicas.new(redis_url=mortal_redis.url, **quick).start()
    with closing(deepl.Translator("any", server_url=replica.url)) as client:
        handle = until_served(lambda: send(client, f"か。\nwait-for:{gate}"))
        eventually(Path(f"{gate}.begun").exists, "it is at the model")
        mortal_redis.kill()
        gate.touch()
        eventually(lambda: "redis_away" in replica.log, "it has been missed")
        mortal_redis.start()
        found = until_served(lambda: receive(client, handle))
        assert found.decode() == f"か。\nWAIT-FOR:{gate} [か。]".upper()


def test_a_file_over_which_replicas_die_is_given_up(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """It is given up after a number of attempts, and its client is told."""
    idle = replicas.new(redis_url=mortal_redis.url, files_at_once="0").start()
    with closing(deepl.Translator("any", server_url=idle.url)) as client:
        handle = send(client, "か。")
        with closing(Redis.from_url(mortal_redis.url)) as redis:
            redis.hset(_name(handle), mapping={"attempts": MOST_ATTEMPTS, "status": "translating"})
        _lone(replicas, mortal_redis)
        status = client.translate_document_wait_until_done(handle)
        assert status.error_message == f"given up after {MOST_ATTEMPTS} attempts: what translated it has died"


def test_what_always_comes_too_late_is_given_up(replicas: Replicas, mortal_redis: RedisServer, tmp_path: Path) -> None:
    """A passing problem is retried a number of times; then the client is told what it was."""
    idle = replicas.new(redis_url=mortal_redis.url, files_at_once="0").start()
    with closing(deepl.Translator("any", server_url=idle.url)) as client:
        handle = send(client, f"wait-for:{tmp_path / 'never'}")
        with closing(Redis.from_url(mortal_redis.url)) as redis:
            redis.hset(_name(handle), "attempts", MOST_ATTEMPTS - 1)  # they would be five seconds apart
        replicas.new(redis_url=mortal_redis.url, deadline_seconds="0.2").start()
        status = client.translate_document_wait_until_done(handle)
    assert status.error_message == (
        f"given up after {MOST_ATTEMPTS} attempts: a sentence was not translated before its deadline"
    )


def test_a_replica_leaves_to_others_what_it_has_no_model_for(
    replicas: Replicas, mortal_redis: RedisServer, tmp_path: Path
) -> None:
    """The file waits for a replica with the model, as while models are being changed."""
    german = bundle(tmp_path / "german", name="german", source="de", target="en")
    receiver = replicas.new(redis_url=mortal_redis.url, files_at_once="0").start()
    other = replicas.new(redis_url=mortal_redis.url, bundles=str(german), files_at_once="1").start()
    with closing(deepl.Translator("any", server_url=receiver.url)) as client:
        handle = send(client, "か。")
        with closing(Redis.from_url(mortal_redis.url, decode_responses=True)) as redis:
            eventually(lambda: "no model serves" in (redis.hget(_name(handle), "result") or ""), "it was looked at")
            for _ in range(3):
                assert translated_german(other) == "A"
            assert redis.hget(_name(handle), "attempts") == "0"
        _lone(replicas, mortal_redis)
        assert receive(client, handle).decode() == "か。"


def translated_german(replica: Replica) -> str:
    """Translate a file in the language of the other replica's model."""
    with closing(deepl.Translator("any", server_url=replica.url)) as client:
        return translated(client, "a", source_lang="DE")


def test_a_record_that_nobody_can_read_stops_no_other(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """A file that only a later release understands, by its record or its kind, waits without blocking others."""
    replica = replicas.new(redis_url=mortal_redis.url, files_at_once="0").start()
    with closing(deepl.Translator("any", server_url=replica.url)) as client:
        odd, new = send(client, "か。"), send(client, "か。")
        with closing(Redis.from_url(mortal_redis.url, decode_responses=True)) as redis:
            redis.hset(_name(odd), "file", '{"from": "the future"}')
            redis.hset(_name(new), "file", str(redis.hget(_name(new), "file")).replace("file.txt", "file.new"))
        handle = send(client, "き。")
        _lone(replicas, mortal_redis)
        assert receive(client, handle).decode() == "き。"
        assert client.translate_document_get_status(new).ok  # a later release may read such files


def test_refused_files_cost_no_sentences(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """These clients automatically resend files that were refused for lack of room."""
    settings = {"max_files": "1", "files_at_once": "0", "sentences_per_minute": "3"}
    replica = replicas.new(redis_url=mortal_redis.url, **settings).start()
    with closing(deepl.Translator("any", server_url=replica.url)) as client:
        send(client, "か。")
        for _ in range(4):
            with pytest.raises(deepl.TooManyRequestsException, match="at most 1 files"):
                send(client, "か。")


def test_a_worker_that_dies_over_a_sentence(clients: list[deepl.DeepLClient], tmp_path: Path) -> None:
    """A single death is retried; a sentence that always kills its worker fails its file, but no other one."""
    assert translated(clients[1], f"crash-once:{tmp_path / 'mark'}").startswith("CRASH-ONCE")
    handle = send(clients[1], "crash")
    assert "died" in (clients[1].translate_document_wait_until_done(handle).error_message or "")
    assert translated(clients[1], "か。") == "か。"


FORM = {"target_lang": "EN", "source_lang": "JA"}
FILE = {"file": ("a.txt", b"a")}
PART = b'--b\r\nContent-Disposition: form-data; name="target_lang"\r\n\r\nEN\r\n--b--\r\n'


@pytest.mark.parametrize(
    ("request_of", "status", "problem"),
    [
        ({"data": FORM}, 415, "the body must be multipart/form-data"),
        ({"json": FORM}, 415, "the body must be multipart/form-data"),
        ({"data": FORM, "files": FILE, "headers": {"Origin": "null"}}, 403, "origin"),
        ({"data": FORM, "files": {"other": ("a.txt", b"a")}}, 400, "no file named `file`"),
        ({"data": FORM | {"file": "a"}, "files": {"x": ("a.txt", b"a")}}, 400, "no file named `file`"),
        (
            {"data": FORM, "files": [("file", ("a.txt", b"a")), ("file", ("b.txt", b"b"))]},
            400,
            "no file named `file`, or several",
        ),
        ({"data": {"target_lang": ["EN", "EN"]}, "files": FILE}, 400, "a field more than once"),
        ({"data": {"x" * 9 + str(n): "x" for n in range(40)}, "files": FILE}, 400, "Too many fields"),
        ({"data": FORM | {"filename": "x" * 2**21}, "files": FILE}, 400, "maximum size"),
        ({"data": {"source_lang": "JA"}, "files": FILE}, 400, "target_lang"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400, "Missing boundary"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data; boundary=b"}}, 400, "multipart/form-data"),
        *(
            (
                {"content": PART, "headers": {"Content-Type": f"multipart/form-data; boundary=b; charset={charset}"}},
                400,
                "its charset is not UTF-8",
            )
            for charset in ("undefined", "punycode", "no-such", "shift_jis")
        ),
        (
            {
                "content": PART.replace(b"EN", "猫".encode("shift_jis")),
                "headers": {"Content-Type": "multipart/form-data; boundary=b"},
            },
            400,
            "a field that is not UTF-8",
        ),
        ({"data": FORM, "files": {"file": ("a.txt", b"a" * 5_000_000)}}, 400, "text of more than 4194304 bytes"),
        ({"data": FORM, "files": {"file": ("a.docx", b"a" * 18_000_000)}}, 413, "the body has more than"),
    ],
)
def test_bodies_that_are_no_file(
    servers: list[Replica], request_of: dict[str, object], status: int, problem: str
) -> None:
    """The error says what is wrong with the body."""
    with servers[0].client() as client:
        answer = client.post("/v2/document", **request_of)  # type: ignore[arg-type]
    assert (answer.status_code, problem in answer.json()["detail"]) == (status, True), answer.text


def test_a_translation_is_a_file_for_browsers_too(servers: list[Replica], clients: list[deepl.DeepLClient]) -> None:
    """The download has a media type and a name in any script, and browsers must not guess another type."""
    handle = send(clients[0], "<p>か", "紫 式部.html")
    clients[0].translate_document_wait_until_done(handle)
    with servers[0].client() as client:
        answer = client.post(f"/v2/document/{handle.document_id}/result", json={"document_key": handle.document_key})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == ("attachment; filename*=UTF-8''%E7%B4%AB%20%E5%BC%8F%E9%83%A8.html")
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("=?utf-8?B?57Sr5byPLnR4dA==?=", 200),
        ("=?UTF-8?Q?=E7=B4=AB.txt?=", 200),
        ("=?utf-8?B?5?=", 400),
        ("=?é?q?a?=", 400),
        ("=?a\0?q?a?=", 400),
        ("=?x?B?57Sr?=.txt", 200),
        ("=?.txt", 200),
    ],
)
@pytest.mark.usefixtures("clients")  # removes files afterwards
def test_names_are_read_as_dotnet_writes_them(servers: list[Replica], name: str, status: int) -> None:
    """.NET encodes names that are not ASCII like mail headers; a name that only looks like one is taken literally."""
    part = f'--b\r\nContent-Disposition: form-data; name=file; filename="{name}"\r\n\r\na\r\n'.encode()
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    with servers[0].client() as client:
        sent = client.post("/v2/document", content=part + PART, headers=headers)
    assert sent.status_code == status, sent.text


def test_metrics_count_files(servers: list[Replica], clients: list[deepl.DeepLClient]) -> None:
    """They are counted by outcome."""

    def counted(status: str) -> float:
        lines = httpx.get(f"{servers[1].url}/metrics").text.splitlines()
        return sum(
            float(line.split()[-1]) for line in lines if line.startswith(f'antecedent_files_total{{status="{status}"')
        )

    done, failed = counted("done"), counted("error")
    translated(clients[0], "か。")
    clients[0].translate_document_wait_until_done(send(clients[0], "refuse"))
    assert (counted("done"), counted("error")) == (done + 1, failed + 1)


def _name(handle: deepl.DocumentHandle) -> str:
    return FileKey(NOBODY, handle.document_id).names()[0]
