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
    """The address of a service on the stand-in runtime."""
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
    """Let users come, and count the outcomes by what was asked for and its code or result."""
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
    """Users of all kinds get the answers of the quiet run, and leave; nothing has to be repeated."""
    found = visit(url, tmp_path, kind, load, tuple(map(quiet, DOCUMENTS)))
    assert found[ARRIVAL, Result.BEGUN] == found[ARRIVAL, Result.ENDED] > 0
    assert {result for _, result in found} == {Result.BEGUN, Result.ENDED, Result.ANSWERED}


def test_those_who_misbehave_are_served_too(url: str, tmp_path: Path) -> None:
    """Sentences are sent twice, too early, or on streams that break: in the end each has exactly one answer."""
    found = visit(url, tmp_path, Kind.LIVE, Once(), tuple(map(quiet, DOCUMENTS)), mischief=0.5)
    assert found[ARRIVAL, Result.ENDED] == len(DOCUMENTS)
    assert found["sentence", Result.ANSWERED] == sum(map(len, DOCUMENTS))
    assert not [code for _, code in found if code.startswith(tuple(Wrong))]


@pytest.mark.parametrize("kind", list(Kind))
def test_translation_that_differs_from_the_quiet_run_is_found(url: str, tmp_path: Path, kind: Kind) -> None:
    """This is what a sentence with the context of another document would look like."""
    leaked = tuple((*quiet(document)[:2], ("CC [vv | ww]", 2), *quiet(document)[3:]) for document in DOCUMENTS)
    found = visit(url, tmp_path, kind, Closed(clients=1, seconds=0.1), leaked)
    wrong = {code for what, code in found if what == kind and code not in set(Result)}
    assert {code.partition(":")[0] for code in wrong} == {Wrong.DIFFERENT}
    assert not found[kind, Result.ANSWERED] or kind is Kind.LIVE


def test_first_event_counts_by_itself(url: str, tmp_path: Path) -> None:
    """For readers of events, the first sentence has an outcome of its own."""
    found = visit(url, tmp_path, Kind.EVENTS, Closed(clients=1, seconds=0.2), tuple(map(quiet, DOCUMENTS)))
    assert found[FIRST_EVENT, Result.ANSWERED] == found[Kind.EVENTS, Result.ANSWERED] > 0


@pytest.mark.parametrize("kind", list(Kind))
def test_users_ask_for_the_languages_of_the_scenario(url: str, tmp_path: Path, kind: Kind) -> None:
    """A service without that pair refuses every user, which shows that users do not ask for another pair instead."""
    pair = {"source_lang": "en", "target_lang": "ja"}
    found = visit(url, tmp_path, kind, Closed(clients=1, seconds=0.1), tuple(map(quiet, DOCUMENTS)), pair=pair)
    assert {code for what, code in found if what == kind} == {"language_pair_not_served"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("kind", list(Kind))
def test_user_who_does_not_get_to_the_end_says_why(tmp_path: Path, kind: Kind) -> None:
    """Otherwise only his absence would show; here the quiet run's answers, to compare with, are missing."""
    found = visit("http://nowhere", tmp_path, kind, Once(), ())
    assert found[ARRIVAL, Result.BEGUN] == found[kind, "IndexError('tuple index out of range')"] == len(DOCUMENTS)
    assert not found[ARRIVAL, Result.ENDED]
