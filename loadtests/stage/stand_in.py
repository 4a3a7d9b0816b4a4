"""A runtime without a model, for load tests: it takes a fixed time and records what it was asked.

A translation names its source and a digest of everything that the runtime was given with it, so that a sentence given
the wrong context can be seen from its answer. Run as a module, this is the whole service on this runtime:
`python -m loadtests.stage.stand_in`.
"""

import hashlib
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from models.bundle.manifest import Manifest
from models.engine.flow import AtOnce
from models.engine.requests import CacheUse, Options, Translation, TranslationRequest

LOAD = "loadtests.stage.stand_in:load"
SECONDS = "LOADTESTS_SECONDS_PER_SENTENCE"
"""Environment variable: the seconds that a sentence takes; 0 if unset."""
RECORD = "LOADTESTS_RECORD"
"""Environment variable: the file to which each request is appended, with its context, as a line of JSON."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it reached a worker."""

    pid: int
    source: str
    preceding: tuple[str, ...]


class WithoutModel(ABC):
    """A runtime that accepts every request and answers whole batches at once; those of the tests derive from it."""

    def cache_use(self) -> CacheUse:
        """Report that nothing is cached."""
        return CacheUse()

    def flow(self, options: Options) -> AtOnce[TranslationRequest, Translation]:
        """Return a flow of whole batches."""
        return AtOnce(lambda requests: self.translate(requests, options), most=1000)

    @abstractmethod
    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Return a translation for each request."""


class StandIn(WithoutModel):
    """Takes `seconds` for every sentence; appends the requests to `record`, if there is one."""

    def __init__(self, seconds: float, record: Path | None, *, reads_target_context: bool) -> None:
        self._seconds = seconds
        self._record = record
        self._reads_target_context = reads_target_context

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Record the requests, take the time for them, and answer each by itself."""
        if self._record is not None:
            _append(self._record, requests)
        time.sleep(self._seconds * len(requests))
        return [self._translate(request, options) for request in requests]

    def _translate(self, request: TranslationRequest, options: Options) -> Translation:
        read = request.preceding if options.strategy != "sentence" else ()
        targets = [sentence.target for sentence in read] if self._reads_target_context else []
        given = orjson.dumps([request.source, [sentence.source for sentence in read], targets])
        digest = hashlib.blake2b(given, digest_size=8).hexdigest()
        return Translation(f"{request.source} <{digest}>", -1.0, len(read), len(request.source.split()), ())


def load(folder: Path, *, device: str, compute_type: str, tested: bool) -> StandIn:
    """Return a runtime for any bundle, configured by the worker's environment."""
    del device, compute_type, tested
    return _configured(os.environ, Manifest.load(folder))


def read_record(record: Path) -> list[Recorded]:
    """Return every request that reached a worker, in the order of arrival."""
    lines = map(orjson.loads, record.read_bytes().splitlines())
    return [Recorded(line["pid"], line["source"], tuple(line["preceding"])) for line in lines]


def make_bundle(folder: Path, like: Path, *, reads_target_context: bool = False) -> Path:
    """Make a folder with the manifest of a bundle, but no model."""
    folder.mkdir(parents=True)
    unlike = {"files": {}, "reads_target_context": reads_target_context}
    Manifest.load(like).model_copy(update=unlike).save(folder)
    return folder


def _configured(environment: Mapping[str, str], manifest: Manifest) -> StandIn:
    record = environment.get(RECORD)
    return StandIn(
        float(environment.get(SECONDS, "0")),
        None if record is None else Path(record),
        reads_target_context=manifest.reads_target_context,
    )


def _append(record: Path, requests: Sequence[TranslationRequest]) -> None:
    """Append requests in one write, so that workers do not cut each other's lines."""
    lines = (
        {"pid": os.getpid(), "source": request.source, "preceding": [before.source for before in request.preceding]}
        for request in requests
    )
    with record.open("ab", buffering=0) as file:
        file.write(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines))


if __name__ == "__main__":
    from service.__main__ import main

    sys.exit(main(translator=LOAD))
