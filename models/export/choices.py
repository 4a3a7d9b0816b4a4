"""Settings that are chosen on a dev set after training, and on which no weight depends."""

from dataclasses import dataclass
from typing import Any, Final

from models.config import DocTransformerConfig, RunConfig
from models.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Choices:
    """Settings that replace those of a run; `None` keeps the run's own."""

    alpha: float | None = None
    """How much search prefers longer translations."""
    patience: float | None = None
    """How many translations a beam search waits for, as a multiple of the beam size."""
    context_sentences: int | None = None
    """The most preceding sentences to read; it may be more or fewer than in training."""

    def applied_to(self, config: RunConfig) -> RunConfig:
        """Return the run's config with these settings.

        Raises:
            ConfigError: the architecture can only read as many sentences as it was trained with.
        """
        search = {"alpha": self.alpha, "patience": self.patience}
        chosen = {name: value for name, value in search.items() if value is not None}
        updates: dict[str, Any] = {"decoding": config.decoding.model_copy(update=chosen)}
        if self.context_sentences is not None:
            updates["architecture"] = _reading(config, self.context_sentences)
        return config.model_copy(update=updates)


NO_CHOICES: Final = Choices()


def _reading(config: RunConfig, sentences: int) -> DocTransformerConfig:
    if not isinstance(config.architecture, DocTransformerConfig):
        raise ConfigError(f"{config.name}: {config.architecture.kind} always reads as many sentences as in training")
    return config.architecture.model_copy(update={"context_sentences": sentences})
