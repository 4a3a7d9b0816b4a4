"""A runtime without a model, for tests of the service: deterministic, quick, and misbehaving on request.

A translation is the source with its terms replaced, in capitals, then in brackets the preceding sentences, each with
its translation if the bundle reads target context. `python -m tests.support.stand_in` runs the whole service on this
runtime.
"""

import gc
import os
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from loadtests.stage.stand_in import WithoutModel
from models.bundle.manifest import Manifest
from models.data.documents import Sentence
from models.engine.flow import AtOnce
from models.engine.requests import Alternative, Options, Translation, TranslationRequest
from models.errors import BundleError, RequestError, SelfTestError

LOAD = "tests.support.stand_in:load"
GROWTH = 64 * 1024 * 1024
"""Bytes by which a worker grows for each `grow`."""
_CRASH_ONCE = re.compile(r"crash-once:(\S+)")
_WAIT_FOR = re.compile(r"wait-for:(\S+)")


class StandIn(WithoutModel):
    """Obeys words in the source: `crash`, `crash-once:MARK`, `grow`, `hang-up`, `raise`, `refuse`, `wait-for:FILE`.

    When it begins to wait it makes a file `FILE.begun`. Every translation ends with `accent`.
    """

    def __init__(self, accent: str, *, reads_target_context: bool = False) -> None:
        self._accent = accent
        self._reads_target_context = reads_target_context
        self._kept: list[bytes] = []

    def flow(self, options: Options) -> AtOnce[TranslationRequest, Translation]:
        """Return a flow that refuses a sentence which asks for it."""
        return _Refusing(lambda requests: self.translate(requests, options), most=1000)

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Translate each request by itself."""
        for request in requests:
            _obey(request.source)
            self._kept += [b"x" * GROWTH] if "grow" in request.source.split() else []
        return [self._translate(request, options) for request in requests]

    def _translate(self, request: TranslationRequest, options: Options) -> Translation:
        read: Sequence[Sentence] = request.preceding if options.strategy != "sentence" else ()
        targets = [sentence.target for sentence in read] if self._reads_target_context else None
        source = request.source
        for term in request.terms:
            source = source.replace(term.source, term.target)
        text = expected(source, [sentence.source for sentence in read], targets) + self._accent
        score = -0.1 * len(text)
        others = tuple(Alternative(f"{text} {rank}", rank * score) for rank in range(2, options.n_best + 1))
        return Translation(text, score, len(read), len(text.split()), others)


class _Refusing(AtOnce[TranslationRequest, Translation]):
    def add(self, requests: Mapping[int, TranslationRequest]) -> None:
        if any("refuse" in request.source for request in requests.values()):
            raise RequestError("the model refuses this sentence")
        super().add(requests)


def expected(source: str, preceding: Sequence[str] = (), targets: Sequence[str | None] | None = None) -> str:
    """The translation of a sentence that follows others.

    `targets` are the translations of the preceding sentences (None where there is none), for a bundle that reads them.
    Each is shown only up to its own bracket; otherwise every translation would be longer than the last.
    """
    if targets is None:
        shown = list(preceding)
    else:
        shown = [f"{a}={'' if b is None else b.split(' [')[0]}" for a, b in zip(preceding, targets, strict=True)]
    return source.upper() + (f" [{' | '.join(shown)}]" if shown else "")


def load(folder: Path, *, device: str, compute_type: str, tested: bool) -> StandIn:
    """Load a runtime; fails if the bundle has a file `damaged` or, when tested, a file `wrong`.

    Loading waits while there is a file `held`. The file `accent` holds the ending of every translation.
    """
    del device, compute_type
    while (folder / "held").exists():
        time.sleep(0.005)
    if (folder / "damaged").exists():
        raise BundleError(f"{folder}: model.safetensors is damaged")
    if tested and (folder / "wrong").exists():
        raise SelfTestError(f"{folder}: has failed its self-test: every translation is wrong")
    accent = folder / "accent"
    return StandIn(
        accent.read_text() if accent.exists() else "",
        reads_target_context=Manifest.load(folder).reads_target_context,
    )


def _obey(source: str) -> None:
    if found := _WAIT_FOR.search(source):
        parent = os.getppid()
        Path(f"{found[1]}.begun").touch()
        while not Path(found[1]).exists():
            if os.getppid() != parent:  # the service was killed, and nobody will make the file
                sys.exit()
            time.sleep(0.005)
    if found := _CRASH_ONCE.search(source):
        mark = Path(found[1])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    if "raise" in source.split():
        raise ValueError(source)
    if "hang-up" in source.split():
        os.closerange(3, 1024)
        time.sleep(600)
    if "crash" in source.split():
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    gc.disable()  # imports are nearly all of a replica's start, and nothing imported is ever garbage
    from service.__main__ import main

    gc.freeze()
    gc.enable()
    sys.exit(main(translator=LOAD))
