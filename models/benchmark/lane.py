"""A lane: a process with one thread that translates the same sentences in several ways, one after the other."""

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

from models.benchmark.plain import PlainDecoder
from models.engine.computation import place, resolve_compute_type
from models.engine.runtime import Runtime
from models.engine.strategies import Engine, TokenizedRequest, TorchEngine
from models.errors import AntecedentError
from models.network.decoding import ModelDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import SearchOptions

Way = Literal["sentence", "float16", "direct", "warm", "eager", "rerank", "plain"]
"""How to translate.

- `sentence`: CTranslate2 with the backbone alone.
- `float16`: the same in float16; on a GPU alone.
- `direct`: with context, which is encoded anew.
- `warm`: once more, with the states of the context that were kept.
- `eager`: as `direct`, but with steps that are not captured as CUDA graphs; on a GPU alone.
- `rerank`: as many translations as the beam is wide, by the backbone, of which the model with context chooses.
- `plain`: with context, by `PlainDecoder`.
"""

Work = Sequence[TokenizedRequest]


@dataclass(frozen=True, slots=True)
class Place:
    """Which bundle is loaded, and where and in which numbers it computes."""

    folder: Path
    device: str = "cpu"
    compute_type: str = "auto"

    def load(self) -> Runtime:
        """The bundle, on one thread.

        Raises:
            BundleError: it cannot be loaded.
        """
        return Runtime.load(self.folder, device=self.device, compute_type=self.compute_type)


@dataclass(frozen=True, slots=True)
class Translate:
    """A command to a lane: translate what it was given last."""

    way: Way
    options: SearchOptions


Command = Work | Translate | None
"""Sentences, what to do with them, or nothing: forget the states that were kept."""


def serve(connection: Connection, where: Place) -> None:
    """Load a bundle, then do what comes, until nothing comes any more; answers a number, or an error in words."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches lanes, too: each would show where it was just then
    try:
        runtime = where.load()
        engines = _engines(runtime, where)
    except AntecedentError as error:
        connection.send(str(error))
        return
    connection.send(0)
    work: Work = ()
    while True:
        try:
            command: Command = connection.recv()
        except (EOFError, ConnectionError):
            return
        if isinstance(command, Translate):
            connection.send(translate(engines[command.way], work, command.options))
            continue
        if command is None:
            for engine in engines.values():
                _forget(engine)
        else:
            work = command
        connection.send(0)


def translate(engine: Engine, work: Work, options: SearchOptions) -> int:
    """Translate sentences; gives the target tokens of all."""
    return sum(len(best.tokens) for best, *_ in engine.translate(work, options))


def in_one_call(work: Work) -> Work:
    """The same with one maximum length for all, as CTranslate2 likes it best."""
    longest = max(request.max_length for request in work)
    return [replace(request, max_length=longest) for request in work]


def keeps_states(runtime: Runtime) -> bool:
    """Whether the model keeps states of the context from one call to the next."""
    direct = runtime.engine("direct")
    return isinstance(direct, TorchEngine) and bool(direct.caches)


def has_torch_weights(runtime: Runtime) -> bool:
    """Whether the model's weights are there for torch, and not in CTranslate2's form alone."""
    return isinstance(runtime.engine("direct"), TorchEngine)


def _forget(engine: Engine) -> None:
    if isinstance(engine, TorchEngine):
        for cache in engine.caches:
            cache.clear()


def _engines(runtime: Runtime, where: Place) -> Mapping[Way, Engine]:
    direct = runtime.engine("direct")
    model = direct.model if isinstance(direct, TorchEngine) else _untrained(runtime, where)
    plain = TorchEngine(model, decoder=PlainDecoder(model))
    eager = TorchEngine(model, decoder=ModelDecoder(model))
    return {"direct": direct, "warm": direct, "eager": eager, "rerank": runtime.engine("rerank"), "plain": plain}


def _untrained(runtime: Runtime, where: Place) -> TranslationModel:
    """The model of a bundle whose weights are CTranslate2's alone: as fast as they would be in torch."""
    manifest, vocabulary = runtime.manifest, runtime.manifest.vocabulary
    model = TranslationModel(manifest.backbone, manifest.architecture, vocabulary.source, vocabulary.target)
    model.initialize()
    place(model.eval(), where.device, resolve_compute_type(where.compute_type, where.device), 1, to_serve=True)
    return model
