"""How one step is trained."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from models.config.section import Frozen

Decay = Annotated[float, Field(ge=0, lt=1)]


class ScheduleConfig(Frozen):
    """The learning rate: linear warm-up to `peak` at update `warmup`, then what `kind` says.

    `inverse_sqrt`: it falls with the inverse square root of the update. `linear`: it falls linearly to 0 at the end of
    the run, whose number of updates must be known. `plateau`: it is constant, but multiplied by `factor` after every
    `patience` validations in a row without a better dev loss.
    """

    kind: Literal["inverse_sqrt", "linear", "plateau"] = "inverse_sqrt"
    """What the rate does after the warm-up."""
    peak: float = Field(7e-4, gt=0, allow_inf_nan=False)
    """The highest learning rate."""
    warmup: int = Field(4000, ge=1)
    """Updates until the peak is reached."""
    factor: float = Field(0.7, gt=0, lt=1)
    """What `plateau` multiplies the rate by."""
    patience: int = Field(8, ge=1)
    """Validations for which `plateau` waits for a better dev loss."""

    @model_validator(mode="after")
    def _waits_only_on_a_plateau(self) -> Self:
        changed = list(self.model_dump(include={"factor", "patience"}, exclude_defaults=True))
        if self.kind != "plateau" and changed:
            raise ValueError(f"{changed[0]} is for kind plateau: {self.kind} does not depend on the dev loss")
        return self

    def require_end(self, updates: int) -> None:
        """Refuse a run of so many updates if its rate would not fall.

        Raises:
            ValueError: it would end within its warm-up.
        """
        if self.kind == "linear" and updates <= self.warmup:
            raise ValueError(
                f"a linear schedule of {updates} updates would end within its warmup of {self.warmup}: lower"
                " training.schedule.warmup, or train for longer"
            )


class EmphasisConfig(Frozen):
    """Sentences that gain from their context weigh more in the loss: 1 + `strength` x gain, but at most `most`."""

    gains: Path
    """The file that `cxmi --out` wrote for the training corpus, in nats; relative to the working directory."""
    strength: float = Field(1.0, gt=0, allow_inf_nan=False)
    """What a nat of gain adds to a sentence's weight."""
    most: float = Field(5.0, gt=1)
    """The highest weight."""


class TrainingConfig(Frozen):
    """How one step is trained."""

    step: Literal["sentence", "document", "joint"] = "sentence"
    """`sentence` trains the backbone; `document`, what the architecture adds; `joint`, everything from scratch."""
    init: Path | None = None
    """Checkpoint that `document` starts from, or that `sentence` continues from."""
    transfer: Literal["both", "source", "all"] = "both"
    """Which parts of `init` are used. `both`: encoder and decoder. `source`: the encoder and its embeddings. `all`: the
    context modules, too, if `init` is a run of the same architecture."""
    modules: Path | None = None
    """Checkpoint of the same architecture from which `document` takes its context modules, instead of new ones. This is
    for a backbone (`init`) that was trained further on its own. Modules outside `integration` are not taken."""
    unfreeze: bool = False
    """Whether `document` also trains the backbone."""
    deepen: bool = False
    """Whether the encoder has more layers than that of `init`; the new ones, on top, start as the identity."""
    updates: int | None = Field(None, ge=1)
    """Number of updates after which training ends. Give this or `epochs`."""
    epochs: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Passes over the corpus after which training ends. Give this or `updates`."""
    batch_tokens: int = Field(4096, ge=16)
    """Size of a batch in one process: tokens on its longer side, with padding. A sentence with much context counts as
    an eighth of the tokens that are read around it, if that is more than its own. A CPU computes a large batch in parts
    of some 4,096 tokens, which takes less memory, and changes only what dropout draws."""
    accumulation: int = Field(1, ge=1)
    """Batches of each process whose gradients are summed for one update."""
    schedule: ScheduleConfig = ScheduleConfig()
    backbone_rate: float = Field(1.0, gt=0, le=1)
    """Factor for the learning rate of the backbone in `document`, if it is not frozen: unlike new context modules, it
    is already trained (Howard and Ruder 2018, "Universal language model fine-tuning", section 3.2)."""
    optimizer: Literal["adam", "muon"] = "adam"
    """`muon` updates the matrices inside the network with Muon, the rest with Adam. Both use the same learning rate."""
    adam_betas: tuple[Decay, Decay] = (0.9, 0.98)
    """Decay of Adam's running means of gradients and of their squares."""
    adam_epsilon: float = Field(1e-9, gt=0, allow_inf_nan=False)
    """Added to Adam's denominator."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Share of the elements dropped from embeddings and from the outputs of sub-layers."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target probability spread evenly over all tokens."""
    subword_sampling: float | None = Field(None, gt=0, le=1)
    """Learn sentences in segmentations that are drawn anew each time (Kudo 2018, "Subword regularization"), not only in
    the best one. `unigram`: the power to which their probabilities are raised; with 0.5, sentences are some 4 % longer
    in tokens, with 0.2 some 36 %. `bpe`: the share of merges that are left out. Batches are filled by the best ones,
    so they exceed `batch_tokens` by as much. Null: only the best ones."""
    context_dropout: float = Field(0.0, ge=0, le=1)
    """Share of the sentences trained without their context, like the first sentence of a document."""
    context_shuffling: float = Field(0.0, ge=0, le=1)
    """Share of the sentences trained with the context of another sentence in their batch."""
    emphasis: EmphasisConfig | None = None
    clip_norm: float = Field(1.0, gt=0)
    """Maximum norm of the gradients; larger ones are scaled down to it."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type in which matrix products are computed. `auto`: bfloat16 if the device is fast at it, otherwise float32."""
    seed: int = Field(1, ge=0, lt=2**63)
    """Determines the order of the sentences. A step that continues another one needs a different seed; otherwise, it
    reads the same sentences again."""
    log_every: int = Field(50, ge=1)
    """Updates between two points of the curves."""
    validate_every: int = Field(1000, ge=1)
    """Updates between two validations."""
    checkpoint_every: int = Field(500, ge=1)
    """Updates between two checkpoints: the most work that a killed run can lose."""
    keep: int = Field(5, ge=1)
    """Number of recent checkpoints that are kept; never fewer than `average`."""
    average: int = Field(1, ge=1)
    """Number of checkpoints that are averaged into the final one."""
    patience: int | None = Field(None, ge=1)
    """Number of validations without a better dev loss after which training stops."""
    dev_sentences: int = Field(200, ge=0)
    """Sentences of the dev set that each validation translates for BLEU; 0 for none."""

    @model_validator(mode="after")
    def _has_one_end(self) -> Self:
        if self.updates is None and self.epochs is None:
            raise ValueError("one of updates and epochs must be given, to say when training ends")
        if self.updates is not None and self.epochs is not None:
            raise ValueError(
                "updates and epochs both say when training ends: give only one of them, or set the other one to null"
            )
        return self

    @model_validator(mode="after")
    def _begins_as_its_step_does(self) -> Self:
        if self.step == "document" and self.init is None:
            raise ValueError("step document needs init: the checkpoint of step one")
        if self.step == "joint" and self.init is not None:
            raise ValueError("step joint trains everything from scratch: init is for the other steps")
        if self.init is None and self.transfer != "both":
            raise ValueError(f"transfer {self.transfer} needs init: the checkpoint whose parts it names")
        if self.step != "document" and self.unfreeze:
            raise ValueError(f"unfreeze is for step document: step {self.step} freezes nothing")
        return self

    @model_validator(mode="after")
    def _has_modules_to_learn_faster(self) -> Self:
        if self.step != "document" and self.backbone_rate != 1:
            raise ValueError(f"backbone_rate is for step document: step {self.step} has only one rate, schedule.peak")
        return self

    @model_validator(mode="after")
    def _falls_after_it_has_risen(self) -> Self:
        if self.updates is not None:
            self.schedule.require_end(self.updates)
        return self

    @model_validator(mode="after")
    def _takes_modules_from_one_run(self) -> Self:
        if self.modules is not None and (self.step != "document" or self.transfer != "both"):
            raise ValueError("modules is for step document with transfer both: with transfer all, they come from init")
        return self

    @model_validator(mode="after")
    def _changes_the_context_of_a_share(self) -> Self:
        if self.context_dropout + self.context_shuffling > 1:
            raise ValueError(
                "context_dropout and context_shuffling are shares of the sentences, so their sum must be at most 1"
            )
        return self

    @model_validator(mode="after")
    def _deepens_what_it_trains(self) -> Self:
        if self.deepen and self.init is None:
            raise ValueError("deepen needs init: the checkpoint whose encoder gets more layers")
        if self.deepen and self.step == "document" and not self.unfreeze:
            raise ValueError("deepen needs unfreeze: otherwise, the new layers would stay the identity")
        return self
