"""The bundles that are served, found by name or by language pair."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.bundle.manifest import Manifest
from models.errors import BundleError
from service.errors import LanguagePairError, ModelNotFoundError
from service.inference.batcher import Batcher
from service.inference.pool import WorkerPool
from service.inference.worker import Worker


@dataclass(frozen=True, slots=True)
class Model:
    """A bundle, its workers and the batcher in front of them."""

    manifest: Manifest
    pool: WorkerPool
    batcher: Batcher[Worker]

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


class Catalogue:
    """All models that are loaded; of several with the same language pair the first is the pair's default."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = tuple(models)
        self._by_name = {model.name: model for model in reversed(self.models)}
        self._by_pair = {model.pair: model for model in reversed(self.models)}

    def choose(self, source_lang: str, target_lang: str, name: str | None) -> Model:
        """The model for a language pair, or the one of that name if it serves the pair.

        Raises:
            ModelNotFoundError, LanguagePairError: there is none.
        """
        pair = (source_lang, target_lang)
        model = self._by_pair.get(pair) if name is None else self.named(name)
        if model is None or model.pair != pair:
            by = "no model" if model is None else f"model {model.name}"
            served = sorted("-".join(pair) for pair in self._by_pair)
            raise LanguagePairError(f"{by} serves {'-'.join(pair)}; served are {', '.join(served)}", pairs=served)
        return model

    def named(self, name: str) -> Model:
        """The model of that name.

        Raises:
            ModelNotFoundError: it is not loaded.
        """
        model = self._by_name.get(name)
        if model is None:
            names = sorted(self._by_name)
            raise ModelNotFoundError(f"no model of that name is loaded; loaded are {', '.join(names)}", models=names)
        return model


def check_servable(manifests: Sequence[Manifest]) -> None:
    """Refuse bundles that cannot be served together, or at all.

    Raises:
        BundleError: two have the same name, or one reads the translations of preceding sentences.
    """
    names = [manifest.name for manifest in manifests]
    for manifest in manifests:
        if names.count(manifest.name) > 1:
            raise BundleError(f"two bundles have the name {manifest.name}")
        if manifest.reads_target_context:
            raise BundleError(
                f"{manifest.name}: it reads the translations of preceding sentences; only sources are kept"
            )
