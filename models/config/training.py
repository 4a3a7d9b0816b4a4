"""How one step is trained."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from models.config.section import Frozen

Decay = Annotated[float, Field(ge=0, lt=1)]


class ScheduleConfig(Frozen):
    """The learning rate: linear warm-up to `peak` at update `warmup`, then what `kind` says.

    `inverse_sqrt`: down with the inverse square root of the update. `linear`: straight down to 0 at the end of the run,
    for a number of updates that is known before. `plateau`: constant, and multiplied by `factor` after each `patience`
    validations in a row without a better dev loss.
    """

    kind: Literal["inverse_sqrt", "linear", "plateau"] = "inverse_sqrt"
    """What the rate does after the warm-up."""
    peak: float = Field(7e-4, gt=0, allow_inf_nan=False)
    """The highest learning rate."""
    warmup: int = Field(4000, ge=1)
    """Updates until the peak."""
    factor: float = Field(0.7, gt=0, lt=1)
    """What `plateau` multiplies the rate by."""
    patience: int = Field(8, ge=1)
    """Validations that `plateau` waits for a better dev loss."""

    def require_end(self, updates: int) -> None:
        """Refuse a run of so many updates if its rate would not fall.

        Raises:
            ValueError: it would end within its warm-up.
        """
        if self.kind == "linear" and updates <= self.warmup:
            raise ValueError(f"a linear schedule of {updates} updates would end within its warmup of {self.warmup}")


class EmphasisConfig(Frozen):
    """Sentences that their context helps weigh more in the loss: 1 + `strength` x gain, and `most` at most."""

    gains: Path
    """What `cxmi --out` wrote for the training corpus: nats of each sentence; relative to the working directory."""
    strength: float = Field(1.0, gt=0, allow_inf_nan=False)
    """What a nat of gain adds to a sentence's weight."""
    most: float = Field(5.0, gt=1)
    """The highest weight."""


class TrainingConfig(Frozen):
    """How one step is trained."""

    step: Literal["sentence", "document", "joint"] = "sentence"
    """`sentence` trains the backbone; `document` what the architecture declares; `joint` everything from scratch."""
    init: Path | None = None
    """Checkpoint of step one that `document` starts from, or that `sentence` is continued from."""
    transfer: Literal["both", "source", "all"] = "both"
    """What of `init` is taken over: encoder and decoder, the encoder alone, with its embeddings, or the context modules
    too, where `init` is a run of the same architecture."""
    modules: Path | None = None
    """Checkpoint of the same architecture that `document` takes its context modules from, in place of new ones: where
    the backbone, `init`, has learnt by itself since. Those of parts that `integration` does not name are left."""
    unfreeze: bool = False
    """Whether `document` trains the backbone as well."""
    deepen: bool = False
    """Whether the encoder has more layers than that of `init`; those on top start as the identity."""
    updates: int | None = Field(None, ge=1)
    """Steps of the optimiser until training ends; this or `epochs`."""
    epochs: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Passes over the corpus until training ends; this or `updates`."""
    batch_tokens: int = Field(4096, ge=16)
    """Padded tokens of the longer side in a batch of one process."""
    accumulation: int = Field(1, ge=1)
    """Batches of each process whose gradients are summed for an update."""
    schedule: ScheduleConfig = ScheduleConfig()
    backbone_rate: float = Field(1.0, gt=0, le=1)
    """Of the learning rate, what moves the backbone in `document`: it knows something that new context modules still
    have to learn (Howard and Ruder 2018, "Universal language model fine-tuning", section 3.2)."""
    optimizer: Literal["adam", "muon"] = "adam"
    """`muon` moves the matrices inside the network by Muon, all else by Adam; a learning rate means the same."""
    adam_betas: tuple[Decay, Decay] = (0.9, 0.98)
    """Decay of Adam's means of gradients and of their squares."""
    adam_epsilon: float = Field(1e-9, gt=0, allow_inf_nan=False)
    """Added to Adam's denominator."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of the elements that are dropped, of embeddings and of what sub-layers give."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target's probability that all words get alike."""
    context_dropout: float = Field(0.0, ge=0, le=1)
    """Of the sentences, those that are learnt without their context, as the first ones of documents are."""
    context_shuffling: float = Field(0.0, ge=0, le=1)
    """And those that are learnt with the context of another sentence of their batch."""
    emphasis: EmphasisConfig | None = None
    clip_norm: float = Field(1.0, gt=0)
    """The longest gradient that is followed whole; a longer one is scaled down to this."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """What products are computed in; `auto`: bfloat16 where the device is fast in it, else float32."""
    seed: int = Field(1, ge=0, lt=2**63)
    """Decides the order of the sentences; a step that goes on from another needs its own, or reads the same ones."""
    log_every: int = Field(50, ge=1)
    """Updates from one point of the curves to the next."""
    validate_every: int = Field(1000, ge=1)
    """Updates from one validation to the next."""
    checkpoint_every: int = Field(500, ge=1)
    """Updates from one checkpoint to the next: what a run that is killed may lose."""
    keep: int = Field(5, ge=1)
    """The last so many checkpoints stay, and what the final one is averaged of."""
    average: int = Field(1, ge=1)
    """Checkpoints that are averaged into the final one."""
    patience: int | None = Field(None, ge=1)
    """Validations without a better dev loss after which training stops."""
    dev_sentences: int = Field(200, ge=0)
    """Sentences of the dev set that are translated for BLEU at each validation; 0 for none."""

    @model_validator(mode="after")
    def _has_one_end(self) -> Self:
        if self.updates is None and self.epochs is None:
            raise ValueError("one of updates and epochs must say when training ends")
        if self.updates is not None and self.epochs is not None:
            raise ValueError(
                "updates and epochs both say when training ends: set one of them, or the other one to null"
            )
        return self

    @model_validator(mode="after")
    def _begins_as_its_step_does(self) -> Self:
        if self.step == "document" and self.init is None:
            raise ValueError("step document needs init: the checkpoint of step one")
        if self.step == "joint" and self.init is not None:
            raise ValueError("step joint trains everything from scratch: init is for the other steps")
        if self.step != "document" and self.unfreeze:
            raise ValueError(f"unfreeze is for step document: step {self.step} has nothing frozen")
        return self

    @model_validator(mode="after")
    def _has_modules_to_learn_faster(self) -> Self:
        if self.step != "document" and self.backbone_rate != 1:
            raise ValueError(f"backbone_rate is for step document: step {self.step} has one rate, schedule.peak")
        return self

    @model_validator(mode="after")
    def _falls_after_it_has_risen(self) -> Self:
        if self.updates is not None:
            self.schedule.require_end(self.updates)
        return self

    @model_validator(mode="after")
    def _takes_modules_from_one_run(self) -> Self:
        if self.modules is not None and (self.step != "document" or self.transfer != "both"):
            raise ValueError("modules is for step document with transfer both: with all, init gives them")
        return self

    @model_validator(mode="after")
    def _changes_the_context_of_a_share(self) -> Self:
        if self.context_dropout + self.context_shuffling > 1:
            raise ValueError(
                "context_dropout and context_shuffling are shares of the sentences: their sum is at most 1"
            )
        return self

    @model_validator(mode="after")
    def _deepens_what_it_trains(self) -> Self:
        if self.deepen and self.init is None:
            raise ValueError("deepen needs init: the checkpoint whose encoder gets more layers")
        if self.deepen and self.step == "document" and not self.unfreeze:
            raise ValueError("deepen needs unfreeze: layers that start as the identity would stay it")
        return self
