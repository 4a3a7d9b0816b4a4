"""Frozen configuration of a run: what a YAML file says and a checkpoint remembers.

A run file may name another one in `inherit` (a path relative to itself); its own values win, key by key.
"""

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from models.errors import ConfigError

Norm = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh", "swish"]
Integration = Literal["none", "encoder", "decoder", "both"]


class Frozen(BaseModel):
    """A config section: immutable, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Languages(Frozen):
    """ISO 639 codes of the pair."""

    source: str
    target: str


class Corpus(Frozen):
    """A pair of line-aligned files, absolute or relative to the data folder."""

    source: Path
    target: Path


class CleaningConfig(Frozen):
    """Sentence pairs that training leaves out, although they stay the context of others."""

    max_ratio: float | None = Field(None, gt=1)
    """Those of which one side has more than so many times the tokens of the other."""
    max_copies: int | None = Field(None, ge=1)
    """Those that have been there so many times before, letter by letter."""
    untranslated: bool = False
    """Those whose sides are the same."""


class DataConfig(Frozen):
    """Where the text is and which sentences take part."""

    train: Corpus
    dev: Corpus | None = None
    contrastive: Path | None = None
    max_tokens: int = Field(128, ge=2)
    """Training leaves out sentence pairs with more tokens than this on either side."""
    max_context_tokens: int | None = Field(None, ge=0)
    """And those with more tokens than this, without control tokens, in all source sentences that are read with them."""
    cleaning: CleaningConfig = CleaningConfig()


class Provenance(Frozen):
    """What a bundle says about its model and the text that it learnt from; travels with the model, as licences ask."""

    training_data: str = ""
    licence: str = ""
    """Of the model, as an SPDX identifier."""
    attribution: str = ""
    intended_use: str = ""
    limitations: str = ""


class TokenizerConfig(Frozen):
    """SentencePiece models: one for both languages (`joint`) or one each."""

    path: Path
    """Folder that holds, or will hold, the model files; relative to the working directory."""
    kind: Literal["unigram", "bpe"] = "unigram"
    vocabulary: int = Field(8000, ge=32)
    joint: bool = True
    byte_fallback: bool = True
    character_coverage: float = Field(0.9995, gt=0, le=1)


class BackboneConfig(Frozen):
    """The sentence Transformer."""

    width: int = Field(512, ge=2)
    feed_forward: int = Field(2048, ge=1)
    heads: int = Field(8, ge=1)
    encoder_layers: int = Field(6, ge=1)
    decoder_layers: int = Field(6, ge=1)
    norm: Norm = "pre"
    activation: Activation = "relu"
    embeddings: Literal["shared", "output", "separate"] = "shared"
    """`shared`: source, target and output are one matrix; `output`: target and output are; `separate`: none."""
    max_length: int = Field(256, ge=8)
    """Positions: the most tokens, end of sentence included, of a source, a joined context or a target."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads or self.width % 2:
            raise ValueError(f"width {self.width} must be even and a multiple of heads {self.heads}")
        return self


class ContextWindow(Frozen):
    """Which sentences of its document a sentence is translated with.

    `sliding`: the `size` before it and the `following` after it. `block`: the document is cut into blocks of `size` + 1
    sentences, and none reads beyond its own block.
    """

    kind: Literal["sliding", "block"] = "sliding"
    size: int = Field(0, ge=0)
    """The most preceding sentences."""
    following: int = Field(0, ge=0)
    """The most following sentences."""

    def around(self, position: int) -> tuple[int, int]:
        """The first sentence that sentence `position` is read with, and the one after the last."""
        if self.kind == "sliding":
            return max(0, position - self.size), position + 1 + self.following
        first = position - position % (self.size + 1)
        return first, min(position + 1 + self.following, first + self.size + 1)

    def at_most(self, sentences: int | None) -> "ContextWindow":
        """The same with no more than so many preceding sentences; without a number, as it is.

        Raises:
            ConfigError: it has fewer.
        """
        if sentences is None:
            return self
        if sentences > self.size:
            raise ConfigError(f"{sentences} preceding sentences are more than the model reads: {self.size}")
        return self.model_copy(update={"size": sentences})


class SentenceConfig(Frozen):
    """No context: the backbone alone."""

    kind: Literal["sentence"] = "sentence"


class DocTransformerConfig(Frozen):
    """Zhang et al. 2018: a context encoder, and context attention in encoder and decoder layers."""

    kind: Literal["doc_transformer"] = "doc_transformer"
    context_sentences: int = Field(2, ge=1)
    context_layers: int = Field(1, ge=1)
    integration: Integration = "both"
    gating: bool = True


class ConcatenationConfig(Frozen):
    """Tiedemann and Scherrer 2017: preceding sentences and the current one as one source."""

    kind: Literal["concatenation"] = "concatenation"
    context_sentences: int = Field(1, ge=1)


class AveragedDocumentConfig(Frozen):
    """Stojanovski and Fraser 2019: attention to the sentence before, and the mean of the document's embeddings."""

    kind: Literal["averaged_document"] = "averaged_document"
    context: Literal["none", "previous", "document", "joint"] = "joint"
    document_sentences: int = Field(10, ge=1)
    document_tokens: int = Field(800, ge=1)
    """The most tokens of a document that are averaged; older sentences are left out whole."""
    attention_width: int = Field(512, ge=1)
    """Of all heads of the attentions to and in the sentence before."""
    attention_heads: int = Field(8, ge=1)

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.attention_width % self.attention_heads:
            raise ValueError(f"attention_width must be a multiple of attention_heads {self.attention_heads}")
        return self


class LayerWeightingConfig(Frozen):
    """Xu et al. 2021: layers on top of the frozen sentence model, over all layers of it for the context."""

    kind: Literal["layer_weighting"] = "layer_weighting"
    context_sentences: int = Field(3, ge=1)
    target_context: bool = True
    """Whether the translations of the preceding sentences are read too."""
    layer_weighting: bool = True
    """Whether source context is a learned mixture of all encoder layers; else it is the last one."""
    target_weighting: bool = False
    """The same for the translations and the decoder's layers."""
    input_gating: bool = True
    """Whether the current sentence decides what is kept of the context."""
    source_layers: int = Field(1, ge=1)
    """Layers over the source context."""
    target_layers: int = Field(1, ge=1)
    """Context-aware layers on top of the decoder."""
    token_dropout: float = Field(0.1, ge=0, lt=1)
    """Of the words of the translations that are read in training."""


class GlobalLocalConfig(Frozen):
    """Zheng et al. 2020: the whole source document, sentence by sentence and as a whole, and the translation so far."""

    kind: Literal["global_local"] = "global_local"
    block_sentences: int = Field(20, ge=1, le=20)
    """Documents are cut into blocks of so many sentences; none reads beyond its own."""
    causal: bool | Literal["both"] = False
    """Whether a sentence reads only what precedes it; `both` trains either way, a random half of the batches each."""
    global_layer: bool = True
    """Whether the rest of the source document is read."""
    depth: Literal["code", "paper"] = "code"
    """`code`: the global layer is one more encoder layer; `paper`: attention alone, in place of the last one."""
    reset_positions: bool = True
    """Whether positions begin anew with each sentence; else they count on through the block."""
    segment_embedding: bool = True
    """Whether the embeddings say which sentence of the block theirs is."""
    segment_relative: bool = True
    """Whether global attention knows how many sentences lie between a query and a key."""
    gate: bool = True
    """Whether a gate mixes the sentence's own states with the global ones; else the global ones stand alone."""
    single_sentence_global: bool = False
    """Whether a sentence that sees no other one goes through the global layer all the same."""
    target_memory: bool = True
    """Whether the decoder has relative positions, and remembers the translation of the sentence before."""

    @model_validator(mode="after")
    def _reads_context(self) -> Self:
        if not (self.global_layer or self.target_memory):
            raise ValueError("one of global_layer and target_memory must read the context")
        return self


class BertContextConfig(Frozen):
    """Guo and Nguyen 2020: attention to the states of a frozen BERT that reads the sentence and its context."""

    kind: Literal["bert_context"] = "bert_context"
    bert: Path
    """Folder of a BERT of the source language, as `transformers` saves it; relative to the working directory."""
    bert_width: int = Field(768, ge=1)
    """Of its states."""
    bert_pieces: int = Field(512, ge=8)
    """The most pieces that it reads at once, control pieces included."""
    bert_checksum: str | None = None
    """Of the folder; a checkpoint remembers it, so that the model never reads another BERT than it was trained with."""
    context_sentences: int = Field(1, ge=0)
    following_sentences: int = Field(0, ge=0)
    integration: Integration = "both"
    context: Literal["real", "random", "fixed"] = "real"
    """What BERT reads beside the sentence, in training as later: its context, as many random words, or one sentence."""
    fixed_sentence: str = "This is a sentence."


ArchitectureConfig = Annotated[
    SentenceConfig
    | DocTransformerConfig
    | ConcatenationConfig
    | AveragedDocumentConfig
    | LayerWeightingConfig
    | GlobalLocalConfig
    | BertContextConfig,
    Field(discriminator="kind"),
]


class ScheduleConfig(Frozen):
    """The learning rate: linear warm-up to `peak` at update `warmup`, then what `kind` says.

    `inverse_sqrt`: down with the inverse square root of the update. `linear`: straight down to 0 at the end of the run,
    for a number of updates that is known before. `plateau`: constant, and multiplied by `factor` after each `patience`
    validations in a row without a better dev loss.
    """

    kind: Literal["inverse_sqrt", "linear", "plateau"] = "inverse_sqrt"
    peak: float = Field(7e-4, gt=0)
    warmup: int = Field(4000, ge=1)
    factor: float = Field(0.7, gt=0, lt=1)
    patience: int = Field(8, ge=1)


class EmphasisConfig(Frozen):
    """Sentences that their context helps weigh more in the loss: 1 + `strength` x gain, and `most` at most."""

    gains: Path
    """What `cxmi --out` wrote for the training corpus: nats of each sentence; relative to the working directory."""
    strength: float = Field(1.0, gt=0)
    most: float = Field(5.0, gt=1)


Decay = Annotated[float, Field(ge=0, lt=1)]


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
    epochs: float | None = Field(None, gt=0)
    batch_tokens: int = Field(4096, ge=16)
    """Padded tokens of the longer side in a batch of one process."""
    accumulation: int = Field(1, ge=1)
    schedule: ScheduleConfig = ScheduleConfig()
    backbone_rate: float = Field(1.0, gt=0, le=1)
    """Of the learning rate, what moves the backbone in `document`: it knows something that new context modules still
    have to learn (Howard and Ruder 2018, "Universal language model fine-tuning", section 3.2)."""
    optimizer: Literal["adam", "muon"] = "adam"
    """`muon` moves the matrices inside the network by Muon, all else by Adam; a learning rate means the same."""
    adam_betas: tuple[Decay, Decay] = (0.9, 0.98)
    adam_epsilon: float = Field(1e-9, gt=0)
    dropout: float = Field(0.1, ge=0, lt=1)
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    context_dropout: float = Field(0.0, ge=0, le=1)
    """Of the sentences, those that are learnt without their context, as the first ones of documents are."""
    context_shuffling: float = Field(0.0, ge=0, le=1)
    """And those that are learnt with the context of another sentence of their batch."""
    emphasis: EmphasisConfig | None = None
    clip_norm: float = Field(1.0, gt=0)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    seed: int = Field(1, ge=0)
    """Decides the order of the sentences; a step that goes on from another needs its own, or reads the same ones."""
    log_every: int = Field(50, ge=1)
    validate_every: int = Field(1000, ge=1)
    checkpoint_every: int = Field(500, ge=1)
    keep: int = Field(5, ge=1)
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
        if self.schedule.kind == "linear" and self.updates is not None and self.updates <= self.schedule.warmup:
            raise ValueError(
                f"a linear schedule of {self.updates} updates would end within its warmup of {self.schedule.warmup}"
            )
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


class DecodingConfig(Frozen):
    """Defaults of search; a request may ask for another beam."""

    beam_size: int = Field(4, ge=1)
    normalization: Literal["power", "wu"] = "power"
    """`power`: log p / n^alpha, CTranslate2's rule; `wu`: log p / ((5+n)/6)^alpha, Wu et al. 2016, eq. 14."""
    alpha: float = Field(1.0, ge=0)
    length_ratio: float = Field(2.0, gt=0)
    length_offset: int = Field(20, ge=0)
    """The longest translation has ratio x source tokens + offset tokens, and never more than max_length."""


COUNTS_FROM_THE_TOP: Final = frozenset({"averaged_document", "layer_weighting", "global_local"})
"""Architectures whose context modules know the layers of an encoder by their distance from its last."""


class RunConfig(Frozen):
    """One training run: one YAML file."""

    name: str = Field(pattern=r"^[^/\\\x00-\x1f]+$")
    """Of what is trained, and of files that are about it."""
    languages: Languages
    data: DataConfig
    provenance: Provenance = Provenance()
    tokenizer: TokenizerConfig
    backbone: BackboneConfig = BackboneConfig()
    architecture: ArchitectureConfig = SentenceConfig()
    training: TrainingConfig
    decoding: DecodingConfig = DecodingConfig()
    output: Path
    """Folder of the run: checkpoints, curves; relative to the working directory."""

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
            raise ValueError(f"context_dropout and context_shuffling are for windows of sentences, {kind} has none")
        if (
            kind == "layer_weighting"
            and training.step == "document"
            and not training.unfreeze
            and training.context_dropout
        ):
            raise ValueError(
                "without a context layer_weighting is its frozen backbone: context_dropout teaches it nothing"
            )
        return self

    @model_validator(mode="after")
    def _has_what_it_goes_by(self) -> Self:
        goes_by_the_dev_loss = self.training.patience is not None or self.training.schedule.kind == "plateau"
        if goes_by_the_dev_loss and self.data.dev is None:
            raise ValueError("patience and a plateau schedule go by the loss of data.dev, which is not given")
        return self

    @model_validator(mode="after")
    def _norm_allows_the_identity(self) -> Self:
        if self.training.deepen and self.backbone.norm != "pre":
            raise ValueError("deepen needs backbone.norm pre: behind a norm no layer is the identity")
        return self

    @model_validator(mode="after")
    def _reads_layers_that_stay(self) -> Self:
        kind, training = self.architecture.kind, self.training
        if training.deepen and training.transfer == "all" and kind in COUNTS_FROM_THE_TOP:
            raise ValueError(f"deepen with transfer all is not for {kind}, which counts layers from the top")
        return self

    @model_validator(mode="after")
    def _shared_embeddings_have_one_vocabulary(self) -> Self:
        if self.backbone.embeddings == "shared" and not self.tokenizer.joint:
            raise ValueError("shared embeddings need a joint vocabulary")
        return self


def data_folder() -> Path:
    """The folder that corpus paths are relative to: `ANTECEDENT_DATA`, or `data`."""
    return Path(os.environ.get("ANTECEDENT_DATA", "data"))


def load_config(path: Path) -> RunConfig:
    """Read a run file with all that it inherits.

    Raises:
        ConfigError: the file is missing, is not YAML, or has a wrong value; names the key.
    """
    try:
        return RunConfig.model_validate(_read(path, ()))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "run"
        raise ConfigError(f"{path}: {where}: {first['msg']}") from None


class _UniqueKeys(yaml.SafeLoader):
    """YAML in which a key that is there twice is an error: the first one's values would be gone without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                where = node.value[number][0].start_mark
                raise yaml.constructor.ConstructorError(None, None, f"{key} is there twice", where)
        return super().construct_mapping(node, deep)


def _read(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in seen:
        raise ConfigError(f"{path}: inherits from itself")
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)  # noqa: S506 - a SafeLoader
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must be a mapping of keys to values")
    parent = values.pop("inherit", None)
    if parent is None:
        return values
    return _merge(_read(path.parent / str(parent), (*seen, path.resolve())), values)


def _merge(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        inherited = merged.get(key)
        merged[key] = _merge(inherited, value) if isinstance(inherited, dict) and isinstance(value, dict) else value
    return merged
