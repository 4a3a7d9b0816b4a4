"""What Locust runs: three kinds of user, who come when a scenario says, whether or not others have been served.

`locust -f loadtests/locustfile.py --headless --users 3 --scenario FILE`; the profiles of `python -m loadtests` write
the scenario, run this, and judge the outcomes. Importing Locust patches the whole process for its green threads, so
only Locust may import this.
"""

import sys
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, ClassVar

from locust import User, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.exception import StopUser

from loadtests.errors import LoadTestError
from loadtests.outcomes import ARRIVAL, Outcome, Recorder, Result
from loadtests.scenario import Kind, Scenario
from loadtests.users.balancer import http_client
from loadtests.users.crowd import Crowd

_SHOWN = {Result.ANSWERED, Result.REFUSED, Result.FAILED, Result.WRONG}


class CrowdUser(User):
    """Stands for all users of one kind: sends them out, and stays until the last one is back."""

    abstract = True
    fixed_count = 1
    kind: ClassVar[Kind]
    scenario: ClassVar[Scenario]
    all_there: ClassVar[Barrier]
    all_back: ClassVar[Barrier]

    @task
    def send_out(self) -> None:
        """Begin together with the other kinds; the last kind to end ends the run."""
        with http_client() as http:
            crowd = Crowd(self.kind, self.scenario, Recorder(self.scenario.outcomes, self._show), http)
            self.all_there.wait()
            crowd.run()
            self.all_back.wait()
        raise StopUser

    def _show(self, outcome: Outcome) -> None:
        """Show an outcome in Locust's own statistics."""
        if outcome.result in _SHOWN and outcome.what != ARRIVAL:
            self.environment.events.request.fire(
                request_type=outcome.result,
                name=outcome.what,
                response_time=1000 * outcome.seconds,
                response_length=0,
                exception=None if outcome.result is Result.ANSWERED else RuntimeError(outcome.code),
            )


class DocumentUser(CrowdUser):
    """Wants documents whole."""

    kind = Kind.DOCUMENT


class EventsUser(CrowdUser):
    """Wants documents by server-sent events."""

    kind = Kind.EVENTS


class LiveUser(CrowdUser):
    """Speaks."""

    kind = Kind.LIVE


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def add_options(parser: LocustArgumentParser, **_: Any) -> None:  # noqa: ANN401 - whatever Locust adds
    """Take the scenario from the command line."""
    parser.add_argument("--scenario", required=True, metavar="FILE", help="A scenario as JSON.")


@events.init.add_listener  # type: ignore[untyped-decorator]
def gather(environment: Environment, **_: Any) -> None:  # noqa: ANN401 - whatever Locust adds
    """Have all kinds begin together, and the run end when all have ended; exit if the scenario cannot be read."""
    runner, options = environment.runner, environment.parsed_options
    if runner is None or options is None:
        return
    try:
        CrowdUser.scenario = Scenario.read(Path(options.scenario))
    except LoadTestError as error:
        sys.exit(f"locust: {error}")  # Locust would restart a failing user for ever
    if (options.num_users or 1) < len(Kind):
        sys.exit(f"locust: --users has to be {len(Kind)}: one for each kind, and each waits for the others")
    CrowdUser.all_there = Barrier(len(Kind))
    CrowdUser.all_back = Barrier(len(Kind), action=lambda: Thread(target=runner.quit).start())
