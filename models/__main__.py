"""The command line: `python -m models COMMAND --help` explains each command. Wiring only.

Exit status: 0, 1 for a failed check, 2 for bad usage or input, with one clear line on standard error.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from models.config import load_config
from models.errors import AntecedentError

app = typer.Typer(
    help="Train, evaluate, export and use context-aware translation models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of a run.", show_default=False)]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be used; count and name them.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures there.")]


@app.command()
def tokenizer(config: Config, skip_bad: SkipBad = False) -> None:
    """Train the SentencePiece model of a run on its training corpus."""
    from models.training.run import make_tokenizer

    run = load_config(config)
    made = make_tokenizer(run, skip_bad=skip_bad)
    typer.echo(f"{run.tokenizer.path}: {', '.join(made.files())}")


@app.command()
def train(
    config: Config,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the newest checkpoint, if any.")] = False,
    minutes: Annotated[float | None, typer.Option(help="End after so many minutes.", min=0)] = None,
    skip_bad: SkipBad = False,
) -> None:
    """Train one run; `torchrun --nproc-per-node N -m models train CONFIG` trains on N devices."""
    from models.training.run import train as train_run

    final = train_run(load_config(config), resume=resume, minutes=minutes, skip_bad=skip_bad)
    typer.echo(f"final checkpoint: {final}")


def write_json(figures: dict[str, Any], file: Path | None) -> None:
    """Write figures to a file where one is given."""
    if file is not None:
        file.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Run a command; an error that was raised on purpose becomes one line and status 2."""
    try:
        app()
    except AntecedentError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
