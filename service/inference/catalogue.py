"""The bundles that are served, found by name or by language pair; an administrator may change which they are."""

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
"""That a model which is served no longer waits for those who have begun with it; its memory is another one's."""


@dataclass(eq=False, slots=True)
class Model:
    """A bundle, its workers and the batcher in front of them; `bundle` is what the bundle was asked for by."""

    manifest: Manifest
    pool: WorkerPool
    batcher: Batcher[Worker]
    bundle: str
    fingerprint: str = field(init=False)
    """Tells this bundle from every other, also of the same name."""
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
        """How many preceding sentences it reads."""
        return self.manifest.window.size

    @property
    def pair(self) -> tuple[str, str]:
        """Source and target language, in lower case."""
        return self.manifest.languages.source.lower(), self.manifest.languages.target.lower()

    def obstacles(self) -> list[str]:
        """Why nothing would be translated now, each in a few words; none if it would."""
        obstacles = [] if self.pool.alive else [f"no worker of {self.name} is alive"]
        return obstacles if self.batcher.alive else [*obstacles, f"the workers of {self.name} get no more work"]

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep it from ending until the end of the block."""
        self._holders += 1
        self._let_go.clear()
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0:
                self._let_go.set()

    async def retire(self) -> None:
        """Finish what it has, if that has an end, then end; for a model that the catalogue has no longer.

        So nothing new comes; but a document whose reader takes its sentences ever so slowly is not waited for.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_HOLD_SECONDS):
                await self._let_go.wait()
                await self.batcher.drained()
        await self.close()

    async def close(self) -> None:
        """End it; whoever still waits gets ShuttingDownError."""
        await self.batcher.close()
        await self.pool.close()


class Catalogue:
    """All models that are loaded; of several with the same language pair the first is the pair's default.

    Whoever finds a model here submits to it, or holds it, before anything else can happen: another may take its place.
    """

    def __init__(self, models: Sequence[Model] = ()) -> None:
        self.switch(models)

    def switch(self, models: Sequence[Model]) -> None:
        """Have these found from now on, and no others."""
        self.models = tuple(models)
        self._by_name = {model.name: model for model in reversed(self.models)}
        self._by_pair = {model.pair: model for model in reversed(self.models)}

    def is_default(self, model: Model) -> bool:
        """Whether it serves its language pair where no name is given."""
        return self._by_pair.get(model.pair) is model

    def workers(self) -> list[Workers]:
        """The workers of each model, for the metrics."""
        return [Workers(model.name, model.pool.size, model.pool.alive, model.pool.memory) for model in self.models]

    def choose(self, source_lang: str, target_lang: str, name: str | None) -> Model:
        """The model for a language pair, or the one of that name if it serves the pair.

        A language with a script or region is served by a model without: `en-us` by one of `en`, not vice versa.

        Raises:
            ModelNotFoundError, LanguagePairError: there is none.
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
        """The model of that name.

        Raises:
            ModelNotFoundError: it is not loaded.
        """
        model = self._by_name.get(name)
        if model is None:
            raise ModelNotFoundError(self._by_name)
        return model

    def for_session(self, name: str, fingerprint: str) -> Model:
        """The model that a session began with.

        Raises:
            SessionModelNotLoadedError: it is not loaded; there may be another one of its name.
        """
        model = self._by_name.get(name)
        if model is None or model.fingerprint != fingerprint:
            raise SessionModelNotLoadedError(model=name)
        return model


def ranges(language: str) -> list[str]:
    """A language tag, and what is left of it without its last subtags one by one (RFC 4647, 3.4)."""
    subtags = language.split("-")
    return ["-".join(subtags[:length]) for length in range(len(subtags), 0, -1)]
