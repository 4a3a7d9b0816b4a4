"""Standard output and standard error of a command that has more to do than to print."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast


class _Outliving:
    """A stream that accepts everything printed, and discards it from its first failure on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Print a text, if it can be."""
        with self._given_up_if_not_written():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Print what is left, if it can be."""
        with self._given_up_if_not_written():
            self._stream.flush()

    @contextmanager
    def _given_up_if_not_written(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            # What is still buffered would fail again when the process ends, and determine its exit status.
            with suppress(OSError), Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), self._stream.fileno())


@contextmanager
def outliving_readers() -> Iterator[None]:
    """Let no pipe that is closed (`| head`), no terminal that is gone and no full disk end what prints in between."""
    before = sys.stdout, sys.stderr
    with Path(os.devnull).open("w") as nowhere:  # for a stream that was closed from the start (`2>&-`)
        sys.stdout, sys.stderr = (cast(TextIO, _Outliving(stream or nowhere)) for stream in before)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = before
