"""Runs command lines in a process of their own, or in this one, which saves importing torch for each command."""

import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess

from models.__main__ import main


def run_alone(*arguments: str | Path, given: str = "", **environment: str) -> "CompletedProcess[str]":
    """Run `python -m models` with these arguments, this standard input and these environment variables."""
    command, variables = [sys.executable, "-m", "models", *map(str, arguments)], os.environ | environment
    return subprocess.run(
        command, input=given, capture_output=True, text=True, encoding="utf-8", check=False, env=variables
    )


def run(*arguments: str | Path, given: str = "") -> "CompletedProcess[str]":
    """The same in this process."""
    return run_here(main, *arguments, given=given)


def run_here(start: Callable[[], int], *arguments: str | Path, given: str = "") -> "CompletedProcess[str]":
    """Call a program's entry point in this process, with standard streams of its own, as if it were a new process."""
    command = [start.__module__, *map(str, arguments)]
    streams = [TextIOWrapper(BytesIO(text), encoding="utf-8") for text in (given.encode(), b"", b"")]
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    sys.argv, (sys.stdin, sys.stdout, sys.stderr) = command, streams
    try:
        status = start()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
    shown, said = (_text_of(stream) for stream in streams[1:])
    return CompletedProcess(command, status, shown, said)


def _text_of(stream: TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, BytesIO)
    return stream.buffer.getvalue().decode()
