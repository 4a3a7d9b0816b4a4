"""A runtime without a model, for tests of the service: deterministic, quick, and ill-behaved when asked to be.

A translation is the source in capitals and, in brackets, the preceding sentences. Run as a module, it is the whole
service on this runtime: `python -m tests.support.stand_in`.
"""

import os
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from models.bundle.requests import Options, Translation, TranslationRequest
from models.errors import BundleError, RequestError

LOAD = "tests.support.stand_in:load"
_CRASH_ONCE = re.compile(r"crash-once:(\S+)")
_WAIT_FOR = re.compile(r"wait-for:(\S+)")


class StandIn:
    """Obeys words in the source: `crash`, `crash-once:MARK`, `raise`, `refuse`, `wait-for:FILE`."""

    def check(self, request: TranslationRequest, options: Options) -> None:
        """Refuse what asks to be refused."""
        del options
        if "refuse" in request.source:
            raise RequestError("the model refuses this sentence")

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Translate each alone."""
        for request in requests:
            _obey(request.source)
        return [_translate(request, options) for request in requests]


def expected(source: str, preceding: Sequence[str] = ()) -> str:
    """The translation of a sentence after others."""
    return source.upper() + (f" [{' | '.join(preceding)}]" if preceding else "")


def load(folder: Path, *, device: str, compute_type: str) -> StandIn:
    """A runtime for any bundle but one that has a file `damaged`."""
    del device, compute_type
    if (folder / "damaged").exists():
        raise BundleError(f"{folder}: model.safetensors is damaged")
    return StandIn()


def _translate(request: TranslationRequest, options: Options) -> Translation:
    preceding = [sentence.source for sentence in request.preceding] if options.strategy == "direct" else []
    text = expected(request.source, preceding)
    return Translation(text, -0.1 * len(text), len(preceding), len(text.split()), ())


def _obey(source: str) -> None:
    if found := _WAIT_FOR.search(source):
        while not Path(found[1]).exists():
            time.sleep(0.005)
    if found := _CRASH_ONCE.search(source):
        mark = Path(found[1])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    if "raise" in source.split():
        raise ValueError(source)
    if "crash" in source.split():
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    from service.__main__ import main

    sys.exit(main(translator=LOAD))
