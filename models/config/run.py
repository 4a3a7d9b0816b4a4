"""A run as a whole: all that its YAML file says, and what of it must fit together."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from models.config.architecture import COUNTS_FROM_THE_TOP, ArchitectureConfig, SentenceConfig
from models.config.backbone import BackboneConfig
from models.config.corpus import DataConfig, Languages, Provenance, TokenizerConfig
from models.config.section import Frozen
from models.config.training import TrainingConfig

ModelName = Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]+$", max_length=128)]
"""A part of paths: of files, and of the address at which a service unloads the model."""


class DecodingConfig(Frozen):
    """Defaults of the search; a request may ask for another beam size."""

    beam_size: int = Field(4, ge=1)
    """Hypotheses that are kept at each step; 1 is greedy search."""
    normalization: Literal["power", "wu"] = "power"
    """`power`: log p / n^alpha, CTranslate2's rule; `wu`: log p / ((5+n)/6)^alpha, Wu et al. 2016, eq. 14."""
    alpha: float = Field(1.0, ge=0, le=10, allow_inf_nan=False)
    """Exponent of the length normalisation: the higher it is, the longer the translations."""
    patience: float = Field(1.0, ge=1, le=10, allow_inf_nan=False)
    """A beam search ends once this x `beam_size` translations are complete (Kasai et al. 2022)."""
    length_ratio: float = Field(2.0, gt=0, le=100, allow_inf_nan=False)
    """A translation has at most this x source tokens + `length_offset` tokens, and never more than `max_length`."""
    length_offset: int = Field(20, ge=0)
    """Tokens added to `length_ratio` x source tokens."""


class RunConfig(Frozen):
    """One training run: one YAML file."""

    name: ModelName
    """Name of the trained model, and of files about it."""
    languages: Languages
    data: DataConfig
    provenance: Provenance = Provenance()
    tokenizer: TokenizerConfig
    backbone: BackboneConfig = BackboneConfig()
    architecture: ArchitectureConfig = SentenceConfig()
    training: TrainingConfig
    decoding: DecodingConfig = DecodingConfig()
    output: Path
    """Folder for the checkpoints and curves of the run; relative to the working directory."""

    @model_validator(mode="after")
    def _step_fits_architecture(self) -> Self:
        sentence = self.architecture.kind == "sentence"
        if sentence != (self.training.step == "sentence"):
            raise ValueError(f"step {self.training.step} does not train architecture {self.architecture.kind}")
        return self

    @model_validator(mode="after")
    def _noise_fits_architecture(self) -> Self:
        kind, training = self.architecture.kind, self.training
        if kind in {"sentence", "global_local"} and training.context_dropout + training.context_shuffling:
            raise ValueError(
                f"context_dropout and context_shuffling need a window of context sentences, which {kind} does not have"
            )
        if (
            kind == "layer_weighting"
            and training.step == "document"
            and not training.unfreeze
            and training.context_dropout
        ):
            raise ValueError(
                "without context, layer_weighting is just its frozen backbone: context_dropout would teach it nothing"
            )
        return self

    @model_validator(mode="after")
    def _has_what_it_goes_by(self) -> Self:
        goes_by_the_dev_loss = self.training.patience is not None or self.training.schedule.kind == "plateau"
        if goes_by_the_dev_loss and self.data.dev is None:
            raise ValueError("patience and a plateau schedule depend on the loss of data.dev, which is not given")
        return self

    @model_validator(mode="after")
    def _norm_allows_the_identity(self) -> Self:
        if self.training.deepen and self.backbone.norm != "pre":
            raise ValueError("deepen needs backbone.norm pre: with post, a new layer cannot start as the identity")
        return self

    @model_validator(mode="after")
    def _reads_layers_that_stay(self) -> Self:
        kind, training = self.architecture.kind, self.training
        if training.deepen and training.transfer == "all" and kind in COUNTS_FROM_THE_TOP:
            raise ValueError(f"deepen with transfer all is not possible for {kind}, which counts layers from the top")
        return self

    @model_validator(mode="after")
    def _shared_embeddings_have_one_vocabulary(self) -> Self:
        if self.backbone.embeddings == "shared" and not self.tokenizer.joint:
            raise ValueError("shared embeddings need a joint vocabulary")
        return self
