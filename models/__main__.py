"""The command line: `python -m models COMMAND --help` explains each command.

Exit status: 0, 1 for a failed check, 2 for bad usage or input, with one clear line on standard error.
"""

import gc
import io
import sys
from typing import Final

import typer

from models.commands.benchmarks import bench
from models.commands.bundles import export, translate, unpack
from models.commands.comparison import compare
from models.commands.evaluation import contrast, cxmi, evaluate
from models.commands.pictures import plot
from models.commands.tables import changes, significance, table
from models.commands.training import (
    amplify,
    average,
    bert,
    describe,
    import_marian,
    retokenize,
    survey,
    tokenizer,
    train,
    values,
)
from models.errors import AntecedentError, SelfTestError

_COLLECT_AFTER: Final = 10_000
"""New objects: with Python's own 700, a twentieth of a command's start was spent in looking through torch."""

app = typer.Typer(
    help="Train, evaluate, export and use context-aware translation models. BUNDLE can also be a checkpoint.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"max_content_width": 120},
)
for command in (
    values,
    tokenizer,
    survey,
    bert,
    import_marian,
    train,
    average,
    amplify,
    retokenize,
    describe,
    evaluate,
    contrast,
    cxmi,
    compare,
    export,
    unpack,
    translate,
    bench,
    table,
    significance,
    changes,
    plot,
):
    app.command()(command)


def main() -> int:
    """Run a command; an error that was raised on purpose, or a file that cannot be used, is one line and status 2.

    It is status 1 where all was in order, and what came out of it was not as it should be.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no report is lost because a terminal lacks a character
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_COLLECT_AFTER)
    try:
        app()
    except (AntecedentError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, SelfTestError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
