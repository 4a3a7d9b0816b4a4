"""The sentence Transformer, the backbone of every architecture (Vaswani et al. 2017)."""

import math
from typing import Final

from torch import Tensor, nn

from models.config import BackboneConfig
from models.data.tokenizer import PAD
from models.network.attention import Attention, padding_mask
from models.network.context import Architecture, Attend, Context
from models.network.layers import FeedForward, Framed, Residual, final_norm
from models.network.positions import position_table
from models.network.state import State


class EncoderLayer(nn.Module):
    """Self-attention, with or without biases in its projections, and feed-forward sub-layers."""

    def __init__(self, config: BackboneConfig, dropout: float, *, bias: bool = True) -> None:
        super().__init__()
        self.self_attention = Attention(config.width, config.heads, bias=bias)
        self.self_residual = Residual(config.width, config.norm, dropout)
        self.feed_forward = FeedForward(config.width, config.feed_forward, config.activation)
        self.feed_residual = Residual(config.width, config.norm, dropout)


class DecoderLayer(EncoderLayer):
    """An encoder layer with attention to the source in between."""

    def __init__(self, config: BackboneConfig, dropout: float) -> None:
        super().__init__(config, dropout)
        self.source_attention = Attention(config.width, config.heads)
        self.source_residual = Residual(config.width, config.norm, dropout)


class Transformer(nn.Module):
    """Encoder, decoder and embeddings; every sub-layer that an architecture may change is called through its hook."""

    positions: Tensor

    def __init__(
        self, config: BackboneConfig, source_vocabulary: int, target_vocabulary: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.config: Final = config
        width = config.width
        self.target_embedding = nn.Embedding(target_vocabulary, width)
        shared = config.embeddings == "shared"
        self.source_embedding = self.target_embedding if shared else nn.Embedding(source_vocabulary, width)
        self.output = nn.Linear(width, target_vocabulary, bias=config.output_bias)
        if config.embeddings != "separate":
            self.output.weight = self.target_embedding.weight
        self.encoder = nn.ModuleList(EncoderLayer(config, dropout) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, dropout) for _ in range(config.decoder_layers))
        self.encoder_norm = final_norm(width, config.norm)
        self.decoder_norm = final_norm(width, config.norm)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", position_table(config), persistent=False)

    def embed(self, embedding: nn.Embedding, tokens: Tensor, places: Tensor | slice) -> Tensor:
        """Return scaled embeddings plus position encodings at `places`, S or (B, S): (B, S) to (B, S, D)."""
        scale, at_once = math.sqrt(self.config.width), getattr(embedding, "at_once", None)
        if at_once is not None:
            embedded: Tensor = at_once(tokens, scale, self.positions, places)
            return embedded
        if isinstance(places, Tensor):  # a finished hypothesis may be carried along for some steps
            places = places.clamp(max=len(self.positions) - 1)
        return embedding(tokens) * scale + self.positions[places]

    def encode(self, tokens: Tensor, architecture: Architecture, context: Context) -> Tensor:
        """Encode a source.

        Args:
            tokens: (B, S) ids, end of sentence included, padded.
            architecture: its hooks are called.
            context: what the architecture's `encode` returned.

        Returns:
            The decoder's memory, (B, S, D).
        """
        outputs = self.encode_layers(tokens, architecture, context)
        return architecture.encoder_output(outputs, self.encoder_norm(outputs[-1]), context)

    def encode_layers(
        self, tokens: Tensor, architecture: Architecture, context: Context, *, depth: int | None = None
    ) -> list[Tensor]:
        """Return the embeddings and the output of each layer (or the first `depth`), each (B, S, D), not yet normed."""
        mask = padding_mask(tokens, PAD)
        x = self.dropout(architecture.embed_source(tokens, self, context))
        outputs = [x]
        for index, layer in enumerate(self.encoder[:depth]):
            assert isinstance(layer, EncoderLayer)
            attend = layer.self_attention.over_itself(mask)
            x = architecture.encoder_self_attention(index, x, attend, layer.self_residual, context, mask)
            x = layer.feed_residual(x, layer.feed_forward.over(mask))
            outputs.append(x)
        return outputs

    def start(self, tokens: Tensor, memory: Tensor, *, cached: bool) -> State:
        """Return the state before the first target token; keys and values of the source are computed once, here."""
        state, mask = State({}, cached=cached), padding_mask(tokens, PAD)
        for index, layer in enumerate(self.decoder):
            assert isinstance(layer, DecoderLayer)
            state.fix("source", index, layer.source_attention.known(memory, mask), mask)
        return state

    def decode(self, tokens: Tensor, architecture: Architecture, state: State) -> Tensor:
        """Decode the next tokens, given all before them.

        Args:
            tokens: (R, T) ids; the first ones begin with the beginning of sentence.
            architecture: its hooks are called.
            state: from `start`; advanced by T positions if it is cached.

        Returns:
            Hidden states for the output projection, (R, T, D).
        """
        last = self.decode_layers(tokens, architecture, state)[-1]
        x = architecture.decoder_output(last, self.decoder_norm, state)
        state.advance(tokens.size(1))
        return x

    def decode_layers(self, tokens: Tensor, architecture: Architecture, state: State) -> list[Tensor]:
        """Return the embeddings and each layer's output, each (R, T, D), not yet normed; the position stays."""
        x = self.dropout(architecture.embed_target(tokens, self, state))
        outputs = [x]
        for index, layer in enumerate(self.decoder):
            assert isinstance(layer, DecoderLayer)
            x = architecture.decoder_self_attention(index, x, layer.self_attention, layer.self_residual, state)
            x = architecture.source_attention(
                index, x, self._source_attend(index, layer, state), layer.source_residual, state
            )
            x = layer.feed_residual(x, layer.feed_forward)
            outputs.append(x)
        return outputs

    def _source_attend(self, index: int, layer: DecoderLayer, state: State) -> Attend:
        attention, known = layer.source_attention, state.known("source", index)
        kernel, step = attention.kernel, attention.step
        if step is not None:
            return Framed(
                lambda x: attention(x, *known),
                lambda x, frame: step.attend_fixed(x, *known, frame) if x.size(1) == 1 else None,
            )
        if kernel is None:
            return lambda x: attention(x, *known)
        return Framed(lambda x: kernel.attend_fixed(x, *known), lambda x, frame: kernel.attend_fixed(x, *known, frame))
