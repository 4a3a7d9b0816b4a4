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

- `sentence`: CTranslate2, with the backbone alone.
- `float16`: the same in float16; only on a GPU.
- `direct`: with context, which is encoded anew.
- `warm`: with context, whose states were kept from the run before.
- `eager`: like `direct`, but steps are not captured as CUDA graphs; only on a GPU.
- `rerank`: the backbone makes as many translations as the beam is wide, and the model with context chooses one.
- `plain`: with context, by `PlainDecoder`.
"""

Work = Sequence[TokenizedRequest]


@dataclass(frozen=True, slots=True)
class Place:
    """Which bundle is loaded, and on which device and in which type it computes."""

    folder: Path
    device: str = "cpu"
    compute_type: str = "auto"

    def load(self) -> Runtime:
        """Load the bundle, on one thread.

        Raises:
            BundleError: it cannot be loaded.
        """
        return Runtime.load(self.folder, device=self.device, compute_type=self.compute_type)


@dataclass(frozen=True, slots=True)
class Translate:
    """A command to a lane: translate the sentences that it was given last."""

    way: Way
    options: SearchOptions


Command = Work | Translate | None
"""Sentences, what to do with them, or None: forget the states that were kept."""


def serve_in_process(connection: Connection, where: Place) -> None:
    """Be a process that serves; Ctrl-C reaches it, too, and would have it print a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(connection, where)


def serve(connection: Connection, where: Place) -> None:
    """Load a bundle, then execute commands until the connection ends; answer each with a number, or an error text."""
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
    """Translate sentences; return the number of target tokens of all."""
    return sum(len(best.tokens) for best, *_ in engine.translate(work, options))


def in_one_call(work: Work) -> Work:
    """Return the same sentences with one maximum length, so that CTranslate2 translates them in one call."""
    longest = max(request.max_length for request in work)
    return [replace(request, max_length=longest) for request in work]


def keeps_states(runtime: Runtime) -> bool:
    """Return whether the model keeps states of the context from one call to the next."""
    direct = runtime.engine("direct")
    return isinstance(direct, TorchEngine) and bool(direct.caches)


def has_torch_weights(runtime: Runtime) -> bool:
    """Return whether the bundle has the model's weights for torch, not only in CTranslate2's format."""
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
    """Make an untrained model for a bundle with CTranslate2 weights only; it is as fast as a trained one."""
    manifest, vocabulary = runtime.manifest, runtime.manifest.vocabulary
    model = TranslationModel(manifest.backbone, manifest.architecture, vocabulary.source, vocabulary.target)
    model.initialize()
    place(model.eval(), where.device, resolve_compute_type(where.compute_type, where.device), 1, to_serve=True)
    return model
