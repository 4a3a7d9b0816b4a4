"""The sentence Transformer that every architecture stands on."""

from typing import Literal, Self

from pydantic import Field, model_validator

from models.config.section import Frozen

Norm = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh", "swish"]


class BackboneConfig(Frozen):
    """The sentence Transformer."""

    width: int = Field(512, ge=2)
    """Dimensions of a state: even, and a multiple of `heads`."""
    feed_forward: int = Field(2048, ge=1)
    """Dimensions of the inner layer of feed-forward sub-layers."""
    heads: int = Field(8, ge=1)
    """Number of heads in each attention."""
    encoder_layers: int = Field(6, ge=1)
    """Layers that read the source."""
    decoder_layers: int = Field(6, ge=1)
    """Layers that write the translation. Each one costs time at every token."""
    norm: Norm = "pre"
    """Layer normalisation before each sub-layer, or after it as in Vaswani et al. 2017."""
    activation: Activation = "relu"
    """Activation of the feed-forward sub-layers; `gelu_tanh` is the tanh approximation of GELU."""
    embeddings: Literal["shared", "output", "separate"] = "shared"
    """`shared`: source, target and output use one matrix; `output`: target and output do; `separate`: none do."""
    output_bias: bool = False
    """Whether each piece of the target has a bias in the output, as in Marian's models."""
    positions: Literal["tensor2tensor", "marian"] = "tensor2tensor"
    """Sinusoids as in tensor2tensor and CTranslate2 (from 1), or as in Marian models in `transformers` (from 0)."""
    max_length: int = Field(256, ge=8)
    """Number of positions: maximum tokens, with the end of sentence, in a source, a joined context or a target."""

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads or self.width % 2:
            raise ValueError(f"width {self.width} must be even and a multiple of heads {self.heads}")
        return self
