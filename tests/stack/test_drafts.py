"""Drafts for an edited document, on a real server with the shipped model: unchanged text is not decoded again."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.client import translate
from tests.support.servers import ROOT, RedisServer, Replica

SHIPPED = ROOT / "models" / "pretrained" / "ja-en"
SENTENCES = (ROOT / "service" / "samples" / "ja.txt").read_text(encoding="utf-8").split()[:8]
EDITED = 3


@pytest.fixture(scope="module")
def client(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of `python -m service` on the shipped model, in float32."""
    settings = {
        "ANTECEDENT_BUNDLES": str(SHIPPED),
        "ANTECEDENT_REDIS_URL": redis_server.url,
        "ANTECEDENT_COMPUTE_TYPE": "float32",
    }
    replica = Replica(tmp_path_factory.mktemp("replica"), "service", settings)
    with replica.start().client() as client:
        yield client
    assert replica.end() == 0


def counted(client: httpx.Client) -> tuple[int, int]:
    """The numbers of target tokens generated so far, and of those kept from drafts."""
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    tokens, kept = (int(float(lines[f"antecedent_{name}_total"])) for name in ("tokens", "tokens_kept"))
    return tokens, kept


def texts(answer: httpx.Response) -> list[str]:
    """The translations of an answer."""
    assert answer.status_code == 200
    return [sentence["translation"] for sentence in answer.json()["sentences"]]


def test_edited_document_is_decoded_where_it_has_changed(client: httpx.Client) -> None:
    """With the old translations as drafts the result is the same as without, but most of them are kept."""
    before = texts(translate(client, *SENTENCES, beam_size=1))
    edited = [*SENTENCES[:EDITED], "彼は京都に住んでいた。", *SENTENCES[EDITED + 1 :]]
    drafts = [None if position == EDITED else text for position, text in enumerate(before)]
    expected = texts(translate(client, *edited, beam_size=1))
    assert expected[EDITED] != before[EDITED]
    tokens, kept = counted(client)
    found = texts(translate(client, *edited, drafts=drafts))
    assert found == expected
    generated, saved = (now - then for now, then in zip(counted(client), (tokens, kept), strict=True))
    assert saved > 0.7 * generated
    assert saved < generated


def test_drafts_of_another_document_change_nothing(client: httpx.Client) -> None:
    """Whatever the drafts say, and in any order, the translations stay the same."""
    expected = texts(translate(client, *SENTENCES, beam_size=1))
    assert texts(translate(client, *SENTENCES, drafts=[*expected[1:], "Nonsense, of course."])) == expected


def test_drafts_without_their_sentences_are_refused(client: httpx.Client) -> None:
    """Too few drafts, too wide a beam, or another strategy: the problem says what is wrong."""
    for members in ({"drafts": []}, {"drafts": ["a"], "beam_size": 2}, {"drafts": ["a"], "strategy": "rerank"}):
        refused = translate(client, SENTENCES[0], **members)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")
        assert "drafts need" in refused.json()["detail"]


def test_reranked_document_reads_its_context(client: httpx.Client) -> None:
    """The backbone's proposals are ranked with the preceding sentences, whose number is in the answer."""
    body = translate(client, *SENTENCES[:4], strategy="rerank", beam_size=4).json()["sentences"]
    assert [sentence["context_size"] for sentence in body] == [0, 1, 2, 3]
    assert all(sentence["translation"] for sentence in body)
