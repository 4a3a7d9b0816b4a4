"""BERT's encoder (Devlin et al. 2019, section 3), built of this package's own layers.

So it is prepared for serving like all other networks, in 8 bits too, and serving needs no `transformers`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from models.config import Activation, BackboneConfig
from models.data.tokenizer import PAD
from models.errors import ConfigError
from models.network.attention import padding_mask
from models.network.transformer import EncoderLayer

_SIZES: Final = {
    "width": "hidden_size",
    "feed_forward": "intermediate_size",
    "heads": "num_attention_heads",
    "encoder_layers": "num_hidden_layers",
}
"""Sizes of a backbone by their names in BERT's config."""
_NUMBERS: Final = ("vocab_size", "max_position_embeddings", "layer_norm_eps")
_ACTIVATIONS: Final[Mapping[str, Activation]] = {
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "relu": "relu",
    "silu": "swish",
    "swish": "swish",
}


@dataclass(frozen=True, slots=True)
class BertShape:
    """All that defines the encoder's layers."""

    layers: BackboneConfig
    vocabulary: int
    positions: int
    epsilon: float
    """Added to variances in layer norms."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "BertShape":
        """Read the shape that a `config.json` describes.

        Raises:
            ConfigError: it lacks a value, or has an unsupported one.
        """
        if absent := {*_SIZES.values(), *_NUMBERS, "hidden_act"} - config.keys():
            raise ConfigError(f"the config of this BERT lacks {min(absent)}")
        activation = _ACTIVATIONS.get(config["hidden_act"])
        if activation is None:
            raise ConfigError(f"the activation {config['hidden_act']!r} of this BERT is not supported")
        sizes = {ours: config[theirs] for ours, theirs in _SIZES.items()}
        vocabulary, positions, epsilon = (config[name] for name in _NUMBERS)
        try:
            layers = BackboneConfig(**sizes, activation=activation, norm="post")
            return cls(layers, int(vocabulary), int(positions), float(epsilon))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"the config of this BERT has a value that is not supported: {error}") from None

    def config(self) -> dict[str, Any]:
        """Return the config that `of` reads."""
        sizes = {theirs: getattr(self.layers, ours) for ours, theirs in _SIZES.items()}
        numbers = dict(zip(_NUMBERS, (self.vocabulary, self.positions, self.epsilon), strict=True))
        (activation, *_) = (theirs for theirs, ours in _ACTIVATIONS.items() if ours == self.layers.activation)
        return {"model_type": "bert", "hidden_act": activation} | sizes | numbers


class BertEncoder(nn.Module):
    """BERT's encoder, which returns its last layer's states; token types are all 0, and included in the positions."""

    positions: Tensor

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.shape: Final = shape
        width = shape.layers.width
        self.words = nn.Embedding(shape.vocabulary, width)
        self.register_buffer("positions", torch.empty(shape.positions, width))
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(shape.layers, 0.0) for _ in range(shape.layers.encoder_layers))
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = shape.epsilon

    @classmethod
    def with_weights(cls, shape: BertShape, weights: Mapping[str, Tensor]) -> "BertEncoder":
        """Build a frozen encoder, without drawing random numbers.

        Raises:
            RuntimeError: the weights do not match the shape.
        """
        with torch.device("meta"):
            encoder = cls(shape)
        encoder.load_state_dict(weights, assign=True)
        return encoder.requires_grad_(requires_grad=False).eval()

    def forward(self, tokens: Tensor) -> Tensor:
        """Return states (B, M, E) of padded ids (B, M) from 1, zero at padding."""
        mask = padding_mask(tokens, PAD)
        x: Tensor = self.norm(self._embed((tokens - 1).clamp(min=0)))
        for layer in self.layers:
            assert isinstance(layer, EncoderLayer)
            x = layer.self_residual(x, layer.self_attention.over_itself(mask))
            x = layer.feed_residual(x, layer.feed_forward.over(mask))
        return x.masked_fill(~mask[:, 0, 0, :, None], 0)

    def _embed(self, ids: Tensor) -> Tensor:
        places, at_once = slice(0, ids.size(1)), getattr(self.words, "at_once", None)
        if at_once is not None:
            embedded: Tensor = at_once(ids, 1.0, self.positions, places)
            return embedded
        return self.words(ids) + self.positions[places]


def weights_of(model: Any) -> dict[str, Tensor]:  # noqa: ANN401 - transformers' BertModel, which has no types for its parts
    """Return the weights of a `BertModel` under the names of a `BertEncoder`."""
    embeddings = model.embeddings
    found = {
        "words.weight": embeddings.word_embeddings.weight,
        "positions": embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0],
        **_named("norm", embeddings.LayerNorm),
    }
    for index, layer in enumerate(model.encoder.layer):
        found |= {f"layers.{index}.{name}": tensor for name, tensor in _of_layer(layer)}
    return {name: tensor.detach() for name, tensor in found.items()}


def _of_layer(layer: Any) -> Iterator[tuple[str, Tensor]]:  # noqa: ANN401 - as above
    own, output = layer.attention.self, layer.attention.output
    for kind in ("weight", "bias"):
        joined = torch.cat([getattr(own.key, kind), getattr(own.value, kind)])
        yield f"self_attention.key_value.{kind}", joined
    parts = {
        "self_attention.query": own.query,
        "self_attention.output": output.dense,
        "self_residual.norm": output.LayerNorm,
        "feed_forward.inner": layer.intermediate.dense,
        "feed_forward.outer": layer.output.dense,
        "feed_residual.norm": layer.output.LayerNorm,
    }
    for name, part in parts.items():
        yield from _named(name, part).items()


def _named(name: str, part: Any) -> dict[str, Tensor]:  # noqa: ANN401 - as above
    return {f"{name}.weight": part.weight, f"{name}.bias": part.bias}
