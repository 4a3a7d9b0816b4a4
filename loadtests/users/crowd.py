"""All users of one kind: each comes when due, in its own thread, and waits for nobody else's answers."""

import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread

import httpx

from loadtests.outcomes import ARRIVAL, Recorder, Result
from loadtests.scenario import Closed, Kind, Open, Scenario
from loadtests.users.arrivals import arrivals
from loadtests.users.balancer import Balancer, GaveUpError
from loadtests.users.conversation import ViolationError
from loadtests.users.documents import EventReader, translate_whole
from loadtests.users.sessions import Speaker

_TOO_MANY = ("queue_full", "rate_limited", "session_rate_limited", "too_many_requests_at_once")
"""Codes of the answer 429."""


class Crowd:
    """The users of one kind in a scenario; their outcomes go to a recorder."""

    def __init__(self, kind: Kind, scenario: Scenario, recorder: Recorder, http: httpx.Client) -> None:
        self._kind = kind
        self._scenario = scenario
        self._recorder = recorder
        self._http = http
        self._rng = random.Random(f"{scenario.seed} {kind}")  # noqa: S311 - to be the same again, not to be secret

    def run(self) -> None:
        """Let all users come, and wait until the last one has left."""
        load = self._scenario.load
        if not self._scenario.shares.get(self._kind):
            return
        if isinstance(load, Open):
            threads = self._come_as_they_like(load)
        elif isinstance(load, Closed):
            threads = [_started(partial(self._one_after_another, load.seconds)) for _ in range(load.clients)]
        else:
            threads = [_started(partial(self._visit_now, number)) for number in range(len(self._scenario.documents))]
        for thread in threads:
            thread.join()

    def _come_as_they_like(self, load: Open) -> Sequence[Thread]:
        began = time.monotonic()
        threads = []
        for arrival in sorted(arrivals(self._kind, load, self._scenario, self._rng), key=lambda one: one.moments):
            time.sleep(max(0.0, began + arrival.moments[0] - time.monotonic()))
            moments = [began + moment for moment in arrival.moments]
            threads.append(_started(partial(self._visit, arrival.number, moments, hasty=False)))
        return threads

    def _one_after_another(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._visit_now(self._rng.randrange(len(self._scenario.documents)))

    def _visit_now(self, number: int) -> None:
        self._visit(number, [time.monotonic()] * len(self._scenario.documents[number]), hasty=True)

    def _visit(self, number: int, moments: Sequence[float], *, hasty: bool) -> None:
        """Serve one user, from arrival to departure."""
        self._recorder.add(ARRIVAL, Result.BEGUN)
        try:
            self._be_served(number, moments, hasty=hasty)
        except ViolationError as error:
            self._recorder.add(self._kind, Result.WRONG, code=f"{error.wrong}: {error}")
        except GaveUpError as error:
            result = Result.REFUSED if error.reason in _TOO_MANY else Result.FAILED
            self._recorder.add(self._kind, result, due=error.since, code=error.reason)
        except Exception as error:  # an answer in a form that no service should give, say: this user never leaves
            self._recorder.add(self._kind, Result.FAILED, code=repr(error))
            raise
        self._recorder.add(ARRIVAL, Result.ENDED)

    def _be_served(self, number: int, moments: Sequence[float], *, hasty: bool) -> None:
        scenario, recorder = self._scenario, self._recorder
        document, expected = scenario.documents[number], scenario.expected[number]
        rng = random.Random(f"{scenario.seed} {self._kind} {number} {moments[0]}")  # noqa: S311 - as above
        balancer = Balancer(self._http, scenario.urls, rng, scenario.patience_seconds, self._repeated)
        if self._kind is Kind.DOCUMENT:
            translate_whole(balancer, recorder, scenario.pair, document, expected, moments[0])
        elif self._kind is Kind.EVENTS:
            EventReader(self._http, balancer, recorder, scenario.pair, document, expected, moments[0]).read()
        else:
            speaker = Speaker(self._http, balancer, recorder, scenario.pair, rng, scenario.mischief)
            speaker.speak(document, expected, moments, hasty=hasty)

    def _repeated(self, reason: str) -> None:
        self._recorder.add(self._kind, Result.REPEATED, code=reason)


def _started(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work)
    thread.start()
    return thread
