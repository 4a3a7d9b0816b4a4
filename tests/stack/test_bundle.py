"""The service on a real bundle, with the real runtime in its workers, gives the same results as the runtime itself.

Tested on a CPU, and on a GPU if there is one.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import torch

from models.data.documents import Sentence
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from tests.support.bundles import documents, make_bundle, put_nan
from tests.support.client import begin, say, translate
from tests.support.servers import RedisServer, Replica

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
ON_GPU = {"device": "cuda", "compute_type": "float32"}  # in bfloat16 a choice of words may depend on the batch
SOURCES = [sentence.source for sentence in documents(1, 6)[0].sentences]


@pytest.fixture(scope="module")
def real_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Doc-Transformer that reads two preceding sentences."""
    return make_bundle(tmp_path_factory.mktemp("real") / "bundle")


@pytest.fixture(
    scope="module",
    params=[pytest.param({}, id="cpu"), pytest.param(ON_GPU, id="cuda", marks=[pytest.mark.gpu, NO_GPU])],
)
def computing(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings for the device and the type of numbers."""
    return dict(request.param)


@pytest.fixture(scope="module")
def client(
    real_bundle: Path, computing: dict[str, str], redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of `python -m service` with that bundle."""
    settings = {"ANTECEDENT_BUNDLES": str(real_bundle), "ANTECEDENT_REDIS_URL": redis_server.url}
    settings |= {f"ANTECEDENT_{name.upper()}": value for name, value in computing.items()}
    replica = Replica(tmp_path_factory.mktemp("replica"), "service", settings)
    with replica.start().client() as client:
        yield client
    assert replica.end() == 0


@pytest.mark.parametrize("strategy", ["direct", "sentence"])
def test_document_is_what_the_runtime_gives(
    client: httpx.Client, real_bundle: Path, computing: dict[str, str], strategy: str
) -> None:
    """Texts, scores and context sizes pass through the queue, batches and processes unchanged."""
    found = translate(client, *SOURCES, strategy=strategy, beam_size=2).json()["sentences"]
    size = 2 if strategy == "direct" else 0
    requests = [
        TranslationRequest(source, tuple(map(Sentence, SOURCES[max(0, at - size) : at])))
        for at, source in enumerate(SOURCES)
    ]
    wanted = Runtime.load(real_bundle, **computing).translate(requests, Options(strategy=strategy, beam_size=2))
    assert [sentence["translation"] for sentence in found] == [one.text for one in wanted]
    assert [sentence["context_size"] for sentence in found] == [one.context_size for one in wanted]
    assert [sentence["score"] for sentence in found] == pytest.approx([one.score for one in wanted], abs=1e-4)


def test_alternatives_are_what_the_runtime_gives(client: httpx.Client, real_bundle: Path) -> None:
    """Alternatives are different texts, in the search's order; by default the beam is as wide as they require."""
    wanted = Runtime.load(real_bundle).translate([TranslationRequest(SOURCES[0])], Options(beam_size=6, n_best=6))[0]
    (found,) = translate(client, SOURCES[0], alternatives=5).json()["sentences"]
    others = dict.fromkeys(each.text for each in wanted.alternatives if each.text != wanted.text)
    assert found["translation"] == wanted.text
    assert [each["translation"] for each in found["alternatives"]] == list(others)
    assert len(others) > 1
    assert translate(client, SOURCES[0]).json()["sentences"][0]["alternatives"] == []


def test_items_of_several_sentences_lose_none(client: httpx.Client) -> None:
    """A caller's item gets one answer, but each sentence in it is translated, with context; symbols stay."""
    first, second, third = SOURCES[:3]
    apart = [sentence["translation"] for sentence in translate(client, first, second, third).json()["sentences"]]
    together = translate(client, first + second, third, "🙂").json()["sentences"]
    assert [sentence["translation"] for sentence in together[::2]] == [f"{apart[0]} {apart[1]}", "🙂"]
    session = begin(client)
    assert say(client, session, first + second, 0).json()["translation"] == together[0]["translation"]
    assert say(client, session, "🙂", 1).json()["translation"] == "🙂"


def test_marks_and_addresses_come_back(client: httpx.Client) -> None:
    """In documents and sessions, a tag around a sentence surrounds its translation, and an address occurs once."""
    (plain,) = translate(client, SOURCES[0]).json()["sentences"]
    marked, linked = f"<b>{SOURCES[0]}</b>", f"{SOURCES[0]} https://example.org/a"
    first, second = translate(client, marked, linked).json()["sentences"]
    assert first["translation"] == f"<b>{plain['translation']}</b>"
    assert second["translation"].count("https://example.org/a") == 1
    session = begin(client)
    assert say(client, session, marked, 0).json()["translation"] == first["translation"]
    assert say(client, session, linked, 1).json()["translation"] == second["translation"]


def test_context_changes_the_translation(client: httpx.Client) -> None:
    """Context makes a difference to all but the first sentence, which has none."""
    together = [one["translation"] for one in translate(client, *SOURCES).json()["sentences"]]
    alone = [translate(client, source).json()["sentences"][0]["translation"] for source in SOURCES]
    assert together[0] == alone[0]
    assert together[1:] != alone[1:]


@pytest.mark.parametrize("how", [{}, {"beam_size": 1}, {"alternatives": 5}], ids=str)
def test_session_gives_what_the_document_gives(client: httpx.Client, how: dict[str, int]) -> None:
    """With the same search, sentence by sentence gives the same translations as all at once."""
    session = begin(client, **how)
    said = [say(client, session, source, at).json() for at, source in enumerate(SOURCES)]
    document = translate(client, *SOURCES, **how).json()["sentences"]
    for one, other in zip(said, document, strict=True):
        assert one["translation"] == other["translation"]
        assert one["score"] == pytest.approx(other["score"], abs=1e-4)
        assert [each["translation"] for each in one["alternatives"]] == [
            each["translation"] for each in other["alternatives"]
        ]


def test_sessions_have_a_search_of_their_own(client: httpx.Client) -> None:
    """A wider beam finds other translations than a greedy search, and the session reports its width."""
    greedy, wide = begin(client, beam_size=1), begin(client, beam_size=8)
    found = [[say(client, session, source).json()["translation"] for source in SOURCES] for session in (greedy, wide)]
    assert found[0] != found[1]
    assert [client.get(session).json()["beam_size"] for session in (greedy, wide, begin(client))] == [1, 8, None]


def test_empty_sentence_keeps_its_place(client: httpx.Client) -> None:
    """A blank sentence gets a blank translation at its position."""
    found = translate(client, SOURCES[0], " ", SOURCES[1]).json()["sentences"]
    assert [sentence["translation"] == "" for sentence in found] == [False, True, False]


def test_sentence_beyond_the_models_length_is_divided(client: httpx.Client) -> None:
    """Even without clause boundaries, so that a document is not refused because of one sentence."""
    endless = "から" * 200
    found = translate(client, SOURCES[0], endless).json()["sentences"][1]
    assert found["translation"]
    assert say(client, begin(client), endless, 0).status_code == 200


def test_bundle_with_one_byte_changed_is_refused(real_bundle: Path, redis_server: RedisServer, tmp_path: Path) -> None:
    """The service does not start, and says which file is damaged."""
    changed = tmp_path / "bundle"
    shutil.copytree(real_bundle, changed)
    weights = changed / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    settings = {"ANTECEDENT_BUNDLES": str(changed), "ANTECEDENT_REDIS_URL": redis_server.url}
    replica = Replica(tmp_path, "service", settings)
    replica.spawn()
    assert replica.wait() == 2
    assert replica.log.splitlines()[-1].startswith(f"antecedent: {changed}: model.safetensors is damaged")


def test_bundle_that_fails_its_self_test_is_refused(
    real_bundle: Path, redis_server: RedisServer, tmp_path: Path
) -> None:
    """The service does not start with a model that loads but cannot translate."""
    broken = tmp_path / "bundle"
    shutil.copytree(real_bundle, broken)
    put_nan(broken, "architecture.decoder.1.attention.output.bias")
    settings = {"ANTECEDENT_BUNDLES": str(broken), "ANTECEDENT_REDIS_URL": redis_server.url}
    replica = Replica(tmp_path, "service", settings)
    replica.spawn()
    assert replica.wait() == 2
    last = replica.log.splitlines()[-1]  # earlier lines may say that it is still loading
    assert last.startswith(f"antecedent: {broken}: has failed its self-test: a translation by strategy direct")
