"""How context is read: a section for each architecture."""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from models.config.section import Frozen

Integration = Literal["none", "encoder", "decoder", "both"]


class SentenceConfig(Frozen):
    """No context: the backbone alone."""

    kind: Literal["sentence"] = "sentence"
    """Names the architecture."""


class DocTransformerConfig(Frozen):
    """Zhang et al. 2018: a context encoder, and context attention in encoder and decoder layers."""

    kind: Literal["doc_transformer"] = "doc_transformer"
    """Names the architecture."""
    context_sentences: int = Field(2, ge=1)
    """The most preceding sentences that are read."""
    context_layers: int = Field(1, ge=1)
    """Of the context encoder."""
    integration: Integration = "both"
    """Whose layers attend to the context."""
    gating: bool = True
    """Whether a gate weighs the context against what else the layer has read; else both are added."""


class ConcatenationConfig(Frozen):
    """Tiedemann and Scherrer 2017: preceding sentences and the current one as one source."""

    kind: Literal["concatenation"] = "concatenation"
    """Names the architecture."""
    context_sentences: int = Field(1, ge=1)
    """The most preceding sentences that are joined with the current one."""


class AveragedDocumentConfig(Frozen):
    """Stojanovski and Fraser 2019: attention to the sentence before, and the mean of the document's embeddings."""

    kind: Literal["averaged_document"] = "averaged_document"
    """Names the architecture."""
    context: Literal["none", "previous", "document", "joint"] = "joint"
    """What is read: the sentence before, the mean of the document so far, both, or nothing."""
    document_sentences: int = Field(10, ge=1)
    """The most preceding sentences that are averaged."""
    document_tokens: int = Field(800, ge=1)
    """The most tokens of a document that are averaged; older sentences are left out whole."""
    attention_width: int = Field(512, ge=1)
    """Of all heads of the attentions to and in the sentence before."""
    attention_heads: int = Field(8, ge=1)
    """Of the same attentions."""
    warm_start: bool = False
    """Whether decoding begins at the sentence model: what it finds in the source stays whole beside gated context."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.attention_width % self.attention_heads:
            raise ValueError(f"attention_width must be a multiple of attention_heads {self.attention_heads}")
        return self


class LayerWeightingConfig(Frozen):
    """Xu et al. 2021: layers on top of the frozen sentence model, over all layers of it for the context."""

    kind: Literal["layer_weighting"] = "layer_weighting"
    """Names the architecture."""
    context_sentences: int = Field(3, ge=1)
    """The most preceding sentences that are read."""
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
    """Names the architecture."""
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
    warm_start: bool = False
    """Whether step two begins at the sentence model: its positions stay, and what is new is hardly read at first."""

    @model_validator(mode="after")
    def _reads_context(self) -> Self:
        if not (self.global_layer or self.target_memory):
            raise ValueError("one of global_layer and target_memory must read the context")
        return self


class BertContextConfig(Frozen):
    """Guo and Nguyen 2020: attention to the states of a frozen BERT that reads the sentence and its context."""

    kind: Literal["bert_context"] = "bert_context"
    """Names the architecture."""
    bert: Path
    """Folder of a BERT of the source language, as `transformers` saves it; relative to the working directory."""
    bert_width: int = Field(768, ge=1)
    """Of its states."""
    bert_pieces: int = Field(512, ge=8)
    """The most pieces that it reads at once, control pieces included."""
    bert_checksum: str | None = None
    """Of the folder; a checkpoint remembers it, so that the model never reads another BERT than it was trained with."""
    context_sentences: int = Field(1, ge=0)
    """The most preceding sentences that BERT reads."""
    following_sentences: int = Field(0, ge=0)
    """The most following ones."""
    integration: Integration = "both"
    """Whose layers attend to BERT's states."""
    context: Literal["real", "random", "fixed"] = "real"
    """What BERT reads beside the sentence, in training as later: its context, as many random words, or one sentence."""
    fixed_sentence: str = "This is a sentence."
    """That one, with `fixed`."""


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

COUNTS_FROM_THE_TOP: Final = frozenset({"averaged_document", "layer_weighting", "global_local"})
"""Architectures whose context modules know the layers of an encoder by their distance from its last."""
