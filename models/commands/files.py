"""What a command reads and writes: files, or the standard input and output where none are named."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import typer

from models.data.whole import PARTIAL, abandoned, beside, write_whole
from models.errors import DataError


@contextmanager
def readable(file: Path | None) -> Iterator[Path]:
    """The file; or the standard input, or a pipe, as a file, since a corpus is read more than once.

    What is wrong with it is told by the name that the user knows.
    """
    if file is not None and (file.is_file() or not file.exists()):
        yield file
        return
    with tempfile.NamedTemporaryFile() as spool:
        with nullcontext(sys.stdin.buffer) if file is None else file.open("rb") as stream:
            shutil.copyfileobj(stream, spool)
        spool.flush()
        try:
            yield Path(spool.name)
        except DataError as error:
            raise DataError(str(error).replace(spool.name, str(file or "standard input"))) from None


@contextmanager
def writable(file: Path | None) -> Iterator[TextIO]:
    """The standard output, or a file that appears when it is whole: what it replaces may be what is being read.

    A link stays, and what it names is replaced; unless that is the standard output, as `/dev/stdout` is. Until then it
    has a name of this process's own: another one may be writing the same file.
    """
    if file is None or _is_standard_output(file):
        if isinstance(sys.stdout, TextIOWrapper):  # as in files, whatever the locale
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
    elif file.exists() and not file.is_file():  # a pipe cannot be replaced
        with file.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
    else:
        with _appearing(file) as stream:
            yield stream


@contextmanager
def _appearing(file: Path) -> Iterator[TextIO]:
    target = file.resolve()
    for left in abandoned(target):
        left.unlink(missing_ok=True)
    partial = beside(target)
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        if file.suffix == ".gz":  # only now, so that a failure leaves plain text behind
            with partial.open("rb") as text:
                write_whole(file, text)
            partial.unlink()
        else:
            partial.replace(target)
    except BaseException:
        _leave(partial, target.with_name(f"{target.name}{PARTIAL}"))
        raise


def _is_standard_output(file: Path) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # the file does not exist yet, or there is no standard output
        return False


def _leave(partial: Path, place: Path) -> None:
    """Move what has been translated so far to where the user finds it, and say so."""
    if partial.exists() and partial.stat().st_size:
        partial.replace(place)
        typer.echo(f"{place}: contains what had been translated", err=True)
    else:
        partial.unlink(missing_ok=True)
