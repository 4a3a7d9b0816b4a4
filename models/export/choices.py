"""What a dev set decides when all is trained, and no weight depends on."""

from dataclasses import dataclass
from typing import Any, Final

from models.config import DocTransformerConfig, RunConfig
from models.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Choices:
    """What is chosen after a run, in place of what the run says; `None` leaves it as it is."""

    alpha: float | None = None
    """How much search is to prefer longer translations."""
    patience: float | None = None
    """For how many translations a beam search is to wait."""
    context_sentences: int | None = None
    """The most preceding sentences to read, more or fewer than in training."""

    def applied_to(self, config: RunConfig) -> RunConfig:
        """The run's config with them.

        Raises:
            ConfigError: the architecture reads as many sentences as it was trained with.
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
