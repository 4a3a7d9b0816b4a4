"""The command line: `python -m loadtests COMMAND --help` explains each command. Wiring only.

Exit status: 0; 1 if something that must hold does not; 2 for bad usage or if a load test cannot be run, with one clear
line on standard error.
"""

import signal
import sys

import psutil
import redis
import typer

from loadtests.commands import measurements, profiles
from models.commands.streams import outliving_readers
from models.errors import AntecedentError

app = typer.Typer(
    help="Put load and faults on a service that is started for the test, and check the requirements.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"max_content_width": 120},
)
for command in (
    profiles.smoke,
    profiles.capacity,
    profiles.overload,
    profiles.soak,
    profiles.faults,
    profiles.rolling,
    measurements.order,
    measurements.throughput,
    measurements.sizing,
    measurements.fuzz,
):
    app.command()(command)


def main() -> int:
    """Run a command; return the exit status."""
    # Whatever ends it also ends the service that it has started; under `nohup`, the terminal may close.
    hung_up = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    for number in (signal.SIGINT, signal.SIGTERM, *hung_up):
        signal.signal(number, signal.default_int_handler)
    try:
        with outliving_readers():  # the report of an hour comes after what it shows
            app(prog_name="python -m loadtests")
    except (AntecedentError, OSError, redis.RedisError, psutil.Error) as error:
        print(f"loadtests: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
