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
    """Maximum preceding sentences that are read."""
    context_layers: int = Field(1, ge=1)
    """Layers of the context encoder."""
    integration: Integration = "both"
    """Whose layers attend to the context."""
    gating: bool = True
    """Whether a gate weighs the context against the rest of what the layer has read; otherwise, both are added."""


class ConcatenationConfig(Frozen):
    """Tiedemann and Scherrer 2017: preceding sentences and the current one are joined into one source."""

    kind: Literal["concatenation"] = "concatenation"
    """Names the architecture."""
    context_sentences: int = Field(1, ge=1)
    """Maximum preceding sentences that are joined with the current one."""


class AveragedDocumentConfig(Frozen):
    """Stojanovski and Fraser 2019: attention to the previous sentence, and the mean of the document's embeddings."""

    kind: Literal["averaged_document"] = "averaged_document"
    """Names the architecture."""
    context: Literal["none", "previous", "document", "joint"] = "joint"
    """What is read: the previous sentence, the mean of the document so far, both (`joint`), or nothing."""
    document_sentences: int = Field(10, ge=1)
    """Maximum preceding sentences that are averaged."""
    document_tokens: int = Field(800, ge=1)
    """Maximum tokens of a document that are averaged; older sentences beyond them are left out entirely."""
    attention_width: int = Field(512, ge=1)
    """Total width of the heads that attend to, and within, the previous sentence."""
    attention_heads: int = Field(8, ge=1)
    """Number of heads in each of these attentions."""
    warm_start: bool = False
    """Whether decoding starts as in the sentence model: source attention stays whole; the gated context is added."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.attention_width % self.attention_heads:
            raise ValueError(f"attention_width must be a multiple of attention_heads {self.attention_heads}")
        return self


class LayerWeightingConfig(Frozen):
    """Xu et al. 2021: layers on top of the frozen sentence model, which read all of its layers for the context."""

    kind: Literal["layer_weighting"] = "layer_weighting"
    """Names the architecture."""
    context_sentences: int = Field(3, ge=1)
    """Maximum preceding sentences that are read."""
    target_context: bool = True
    """Whether the translations of the preceding sentences are also read."""
    layer_weighting: bool = True
    """Whether the source context is a learned mixture of all encoder layers; otherwise, it is the last layer."""
    target_weighting: bool = False
    """The same for the target context and the layers of the decoder."""
    input_gating: bool = True
    """Whether a gate lets the current sentence decide what is kept of the context."""
    source_layers: int = Field(1, ge=1)
    """Layers over the source context."""
    target_layers: int = Field(1, ge=1)
    """Context-aware layers on top of the decoder."""
    token_dropout: float = Field(0.1, ge=0, lt=1)
    """Share of the words dropped from the translations that are read in training."""


class GlobalLocalConfig(Frozen):
    """Zheng et al. 2020: the source document, sentence by sentence and as a whole, and the translation so far."""

    kind: Literal["global_local"] = "global_local"
    """Names the architecture."""
    block_sentences: int = Field(20, ge=1, le=20)
    """Documents are cut into blocks of this many sentences, and no sentence reads beyond its own block."""
    causal: bool | Literal["both"] = False
    """Whether a sentence reads only what precedes it; `both` trains both ways, each on a random half of the batches."""
    global_layer: bool = True
    """Whether the rest of the source document is read."""
    depth: Literal["code", "paper"] = "code"
    """`code`: the global layer is an additional encoder layer; `paper`: only attention, in place of the last one."""
    reset_positions: bool = True
    """Whether positions start again with each sentence; otherwise, they continue through the block."""
    segment_embedding: bool = True
    """Whether the embeddings encode the number of the sentence in its block."""
    segment_relative: bool = True
    """Whether global attention encodes how many sentences lie between a query and a key."""
    gate: bool = True
    """Whether a gate mixes the sentence's own states with the global ones; otherwise, only the latter are used."""
    single_sentence_global: bool = False
    """Whether a sentence that reads no other sentence still goes through the global layer."""
    target_memory: bool = True
    """Whether the decoder has relative positions, and remembers the translation of the previous sentence."""
    warm_start: bool = False
    """Whether step two starts near the sentence model: its positions stay, and new parts start with little weight."""

    @model_validator(mode="after")
    def _reads_context(self) -> Self:
        if not (self.global_layer or self.target_memory):
            raise ValueError("nothing reads the context: set global_layer, target_memory or both")
        return self


class BertContextConfig(Frozen):
    """Guo and Nguyen 2020: attention to the states of a frozen BERT that reads the sentence and its context."""

    kind: Literal["bert_context"] = "bert_context"
    """Names the architecture."""
    bert: Path
    """Folder of a BERT of the source language, as `transformers` saves it; relative to the working directory."""
    bert_width: int = Field(768, ge=1)
    """Width of BERT's states."""
    bert_pieces: int = Field(512, ge=8)
    """Maximum pieces that BERT reads at once, including control pieces."""
    bert_checksum: str | None = None
    """Checksum of the folder. Checkpoints store it, so that a model never reads a BERT other than in training."""
    context_sentences: int = Field(1, ge=0)
    """Maximum preceding sentences that BERT reads."""
    following_sentences: int = Field(0, ge=0)
    """Maximum following sentences that BERT reads."""
    integration: Integration = "both"
    """Whose layers attend to BERT's states."""
    context: Literal["real", "random", "fixed"] = "real"
    """What BERT reads besides the sentence, in training and later: its context, as many random words, or a fixed
    sentence."""
    fixed_sentence: str = "This is a sentence."
    """The sentence that BERT reads with `fixed`."""


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
