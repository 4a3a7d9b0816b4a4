"""The models that are served, found by name or by language pair; an administrator may change which they are."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from models.bundle.manifest import Manifest
from service.errors import LanguagePairError, ModelNotFoundError, SessionModelNotLoadedError
from service.inference.batcher import Batcher
from service.inference.pool import WorkerPool
from service.inference.worker import Worker
from service.telemetry.worker_metrics import Workers

LONGEST_HOLD_SECONDS: Final = 3600.0
"""How long a model that is no longer served waits for requests that began with it: others need its memory."""


@dataclass(eq=False, slots=True)
class Model:
    """A bundle, its workers and the batcher in front of them; `bundle` is the name or path it was requested by."""

    manifest: Manifest
    pool: WorkerPool
    batcher: Batcher[Worker]
    bundle: str
    fingerprint: str = field(init=False)
    """Tells this bundle from every other, even one of the same name."""
    _holders: int = field(default=0, init=False)
    _let_go: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.fingerprint = self.manifest.fingerprint
        self._let_go.set()

    @property
    def name(self) -> str:
        """The bundle's name."""
        return self.manifest.name

    @property
    def window(self) -> int:
        """How many preceding sentences it reads as context."""
        return self.manifest.window.size

    @property
    def pair(self) -> tuple[str, str]:
        """Source and target language, in lower case."""
        return self.manifest.languages.source.lower(), self.manifest.languages.target.lower()

    def obstacles(self) -> list[str]:
        """Return the reasons why nothing would be translated now, each in a few words; empty if nothing is wrong."""
        obstacles = [] if self.pool.alive else [f"no worker of {self.name} is alive"]
        return obstacles if self.batcher.alive else [*obstacles, f"the workers of {self.name} get no more work"]

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the model from being retired until the end of the `with` block."""
        self._holders += 1
        self._let_go.clear()
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0:
                self._let_go.set()

    async def retire(self) -> None:
        """Finish the work at hand, then close; for a model that the catalogue no longer has, so that nothing new comes.

        The wait is limited to `LONGEST_HOLD_SECONDS`, for the sake of documents whose readers are very slow.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_HOLD_SECONDS):
                await self._let_go.wait()
                await self.batcher.drained()
        await self.close()

    async def close(self) -> None:
        """End the workers; callers that still wait get ShuttingDownError."""
        await self.batcher.close()
        await self.pool.close()


class Catalogue:
    """All models that are served; of several with the same language pair, the first is the pair's default.

    A caller that finds a model here must submit to it, or hold it, before its next `await`: the model may be replaced.
    """

    def __init__(self, models: Sequence[Model] = ()) -> None:
        self.switch(models)

    def switch(self, models: Sequence[Model]) -> None:
        """Serve these models from now on, and no others."""
        self.models = tuple(models)
        self._by_name = {model.name: model for model in reversed(self.models)}
        self._by_pair = {model.pair: model for model in reversed(self.models)}

    def is_default(self, model: Model) -> bool:
        """Return whether a model serves its language pair when a request gives no name."""
        return self._by_pair.get(model.pair) is model

    def workers(self) -> list[Workers]:
        """Return the workers of each model, for the metrics."""
        return [Workers(model.name, model.pool.size, model.pool.alive, model.pool.memory) for model in self.models]

    def choose(self, source_lang: str, target_lang: str, name: str | None) -> Model:
        """Return the model for a language pair, or the one of the given name if it serves the pair.

        A tag with a script or region is also served by a model without: `en-us` by one for `en`, but not vice versa.

        Raises:
            ModelNotFoundError: no model of the given name is loaded.
            LanguagePairError: no model serves the pair, or the named one does not.
        """
        named = None if name is None else self.named(name)
        for pair in product(ranges(source_lang), ranges(target_lang)):
            model = self._by_pair.get(pair) if named is None else named
            if model is not None and model.pair == pair:
                return model
        by = "no model serves" if named is None else f"model {named.name} does not serve"
        served = sorted("-".join(pair) for pair in self._by_pair)
        raise LanguagePairError(f"{by} {source_lang}-{target_lang}; available: {', '.join(served)}", pairs=served)

    def named(self, name: str) -> Model:
        """Return the model of a name.

        Raises:
            ModelNotFoundError: it is not loaded.
        """
        model = self._by_name.get(name)
        if model is None:
            raise ModelNotFoundError(self._by_name)
        return model

    def for_session(self, name: str, fingerprint: str) -> Model:
        """Return the model that a session began with.

        Raises:
            SessionModelNotLoadedError: it is not loaded, though another one of the same name may be.
        """
        model = self._by_name.get(name)
        if model is None or model.fingerprint != fingerprint:
            raise SessionModelNotLoadedError(model=name)
        return model


def ranges(language: str) -> list[str]:
    """Return a language tag and its prefixes, dropping the last subtag each time (RFC 4647, 3.4)."""
    subtags = language.split("-")
    return ["-".join(subtags[:length]) for length in range(len(subtags), 0, -1)]
