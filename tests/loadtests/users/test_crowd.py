from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from loadtests.outcomes import ARRIVAL, Outcomes, Recorder, Result
from loadtests.scenario import Closed, Expected, Kind, Once, Open, Scenario
from loadtests.users.balancer import http_client
from loadtests.users.conversation import Wrong
from loadtests.users.crowd import Crowd
from loadtests.users.documents import FIRST_EVENT
from tests.support.client import PAIR
from tests.support.servers import RedisServer, Replicas
from tests.support.stand_in import expected

DOCUMENTS = (("aa", "bb", "cc", "dd", "ee"), ("vv", "ww", "xx"))
WINDOW = 2


@pytest.fixture(scope="module")
def url(shared_replicas: Replicas, redis_server: RedisServer) -> str:
    """Of a service on the stand-in runtime."""
    return shared_replicas.new(redis_url=redis_server.url).start().url


def quiet(document: tuple[str, ...]) -> Expected:
    """What the stand-in answers to a document."""
    contexts = [document[max(0, position - WINDOW) : position] for position in range(len(document))]
    return tuple((expected(one, context), len(context)) for one, context in zip(document, contexts, strict=True))


def visit(
    url: str,
    folder: Path,
    kind: Kind,
    load: Open | Closed | Once,
    answers: tuple[Expected, ...],
    *,
    mischief: float = 0,
    pair: Mapping[str, str] = PAIR,
) -> Counter[tuple[str, str]]:
    """Let users come; gives how often each thing has ended how."""
    scenario = Scenario(
        urls=(url,),
        pair=pair,
        documents=DOCUMENTS,
        expected=answers,
        load=load,
        shares={kind: 1.0},
        pace_seconds=0.05,
        patience_seconds=30,
        mischief=mischief,
        outcomes=folder / "outcomes",
    )
    recorder = Recorder(scenario.outcomes)
    with http_client() as http:
        Crowd(kind, scenario, recorder, http).run()
    recorder.close()
    found = Outcomes(scenario.outcomes).read()
    return Counter((outcome.what, str(outcome.code or outcome.result)) for outcome in found)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("load", [Open(rate=40, seconds=1), Closed(clients=2, seconds=0.3)], ids=["open", "closed"])
def test_everybody_is_served(url: str, tmp_path: Path, kind: Kind, load: Open | Closed) -> None:
    """All kinds of user get what the quiet run has given, and leave; nothing has to be repeated."""
    found = visit(url, tmp_path, kind, load, tuple(map(quiet, DOCUMENTS)))
    assert found[ARRIVAL, Result.BEGUN] == found[ARRIVAL, Result.ENDED] > 0
    assert {result for _, result in found} == {Result.BEGUN, Result.ENDED, Result.ANSWERED}


def test_those_who_misbehave_are_served_too(url: str, tmp_path: Path) -> None:
    """Twice, too early, torn, left in the middle: in the end each sentence has its one answer."""
    found = visit(url, tmp_path, Kind.LIVE, Once(), tuple(map(quiet, DOCUMENTS)), mischief=0.5)
    assert found[ARRIVAL, Result.ENDED] == len(DOCUMENTS)
    assert found["sentence", Result.ANSWERED] == sum(map(len, DOCUMENTS))
    assert not [code for _, code in found if code.startswith(tuple(Wrong))]


@pytest.mark.parametrize("kind", list(Kind))
def test_translation_that_differs_from_the_quiet_run_is_found(url: str, tmp_path: Path, kind: Kind) -> None:
    """As it would be if a sentence met the context of another document."""
    leaked = tuple((*quiet(document)[:2], ("CC [vv | ww]", 2), *quiet(document)[3:]) for document in DOCUMENTS)
    found = visit(url, tmp_path, kind, Closed(clients=1, seconds=0.1), leaked)
    wrong = {code for what, code in found if what == kind and code not in set(Result)}
    assert {code.partition(":")[0] for code in wrong} == {Wrong.DIFFERENT}
    assert not found[kind, Result.ANSWERED] or kind is Kind.LIVE


def test_first_event_counts_by_itself(url: str, tmp_path: Path) -> None:
    """A reader of events has his first sentence before the last one."""
    found = visit(url, tmp_path, Kind.EVENTS, Closed(clients=1, seconds=0.2), tuple(map(quiet, DOCUMENTS)))
    assert found[FIRST_EVENT, Result.ANSWERED] == found[Kind.EVENTS, Result.ANSWERED] > 0


@pytest.mark.parametrize("kind", list(Kind))
def test_users_ask_for_the_languages_of_the_scenario(url: str, tmp_path: Path, kind: Kind) -> None:
    """A service that does not serve them refuses each user: nobody asks for others in silence."""
    pair = {"source_lang": "en", "target_lang": "ja"}
    found = visit(url, tmp_path, kind, Closed(clients=1, seconds=0.1), tuple(map(quiet, DOCUMENTS)), pair=pair)
    assert {code for what, code in found if what == kind} == {"language_pair_not_served"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("kind", list(Kind))
def test_user_who_does_not_get_to_the_end_says_why(tmp_path: Path, kind: Kind) -> None:
    """Only that he is lost would be told otherwise; here there is no answer of a quiet run to compare with."""
    found = visit("http://nowhere", tmp_path, kind, Once(), ())
    assert found[ARRIVAL, Result.BEGUN] == found[kind, "IndexError('tuple index out of range')"] == len(DOCUMENTS)
    assert not found[ARRIVAL, Result.ENDED]
