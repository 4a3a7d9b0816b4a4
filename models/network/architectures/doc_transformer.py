"""The Doc-Transformer: Zhang et al. 2018, "Improving the Transformer Translation Model with Document-Level Context".

The preceding source sentences, joined to one sequence, go through a separate context encoder; its output is read by a
context attention in every encoder layer (eq. 4) and decoder layer (eq. 8), each behind a gate (eq. 12, 13).

A post-norm backbone gets the paper's sub-layer, LN(g * x + (1 - g) * y). In a pre-norm backbone the residual stream
must stay whole, so there the sub-layer is x + (1 - g) * y with an output projection that starts at zero: step two
starts exactly at the sentence model.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from models.config import BackboneConfig, ContextWindow, DocTransformerConfig
from models.data.batches import Batch, Example, Tokens, join, latest, make_batch, pad
from models.data.tokenizer import EOS, PAD
from models.network.architectures.context_attention import ContextAttention
from models.network.attention import padding_mask
from models.network.context import STATES, Architecture, Attend, Context
from models.network.layers import Residual, final_norm
from models.network.observation import NOWHERE, WatchedAttention, WatchedGate, at_work
from models.network.state import State
from models.network.state_cache import StateCache
from models.network.transformer import EncoderLayer, Transformer


class ContextEncoder(nn.Module):
    """A Transformer encoder over the embeddings of the joined context (eq. 1 to 3)."""

    def __init__(self, config: BackboneConfig, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config, dropout) for _ in range(layers))
        self.norm = final_norm(config.width, config.norm)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Compute context states (B, C, D) from embeddings (B, C, D)."""
        for layer in self.layers:
            assert isinstance(layer, EncoderLayer)
            x = layer.self_residual(x, layer.self_attention.over_itself(mask))
            x = layer.feed_residual(x, layer.feed_forward.over(mask))
        return self.norm(x)


class DocTransformer(Architecture):
    """A context encoder, and context attention in the layers that `integration` names."""

    no_context: ClassVar[Literal["module", "backbone"]] = "module"
    lengths = STATES

    def __init__(self, config: DocTransformerConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__()
        self.window = ContextWindow(size=config.context_sentences if config.integration != "none" else 0)
        self.max_length = backbone.max_length
        in_encoder = backbone.encoder_layers if config.integration in ("encoder", "both") else 0
        in_decoder = backbone.decoder_layers if config.integration in ("decoder", "both") else 0
        layers = config.context_layers if self.window.size else 0
        self.context_encoder = ContextEncoder(backbone, layers, dropout) if layers else None
        self.cache = StateCache() if layers else None
        self.encoder = self._sublayers(in_encoder, config, backbone, dropout)
        self.decoder = self._sublayers(in_decoder, config, backbone, dropout)

    @staticmethod
    def _sublayers(count: int, config: DocTransformerConfig, backbone: BackboneConfig, dropout: float) -> nn.ModuleList:
        return nn.ModuleList(ContextAttention(backbone, dropout, gating=config.gating) for _ in range(count))

    def reset(self) -> None:
        """Start at the sentence model where the backbone is pre-norm; call after the general initialisation."""
        for sublayer in (*self.encoder, *self.decoder):
            assert isinstance(sublayer, ContextAttention)
            if sublayer.order == "pre":
                nn.init.zeros_(sublayer.attention.output.weight)

    @torch.no_grad()
    def amplify(self, backbone: Transformer, by: float) -> None:
        """Scale the effect of contexts by `by`, in place: y' = e + by (y - e) for each attention's output y.

        e is the output for an empty context. That has a single token, so e is the same for every query and can be put
        into the weights; translations with an empty context stay the same. With logits in place of y, this is
        context-aware decoding (Shi et al. 2023, "Trusting Your Evidence: Hallucinate Less with Context-aware Decoding",
        section 2.2, with `by` = 1 + alpha), which has to decode twice.
        """
        empty = make_batch([()], None, self.collate([Example(())]))
        context = self.encode(empty.to(backbone.positions.device), backbone)
        for sublayer in (*self.encoder, *self.decoder):
            assert isinstance(sublayer, ContextAttention)
            _, values = sublayer.attention.known(context["states"], context["mask"])
            output = sublayer.attention.output
            output.bias.add_(output.weight @ values.flatten(), alpha=1 - by)
            output.weight.mul_(by)

    def select(self, example: Example) -> Example:
        """Select the latest sentences, at most `window`, that fit into the position table with the end of sentence."""
        return Example(example.source, preceding=latest(example.preceding, self.window.size, self.max_length - 1))

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Collate contexts joined without separator and closed by </s>, which alone marks the lack of a context."""
        if self.context_encoder is None:
            return {}
        return {"tokens": pad([join(example.preceding) for example in examples], end=EOS)}

    def encode(self, batch: Batch, backbone: Transformer) -> Context:
        """Compute context states (B, C, D); the context input has no dropout, as in the authors' code."""
        encoder = self.context_encoder
        if encoder is None:
            return {}

        def compute(tokens: Tensor) -> list[Tensor]:
            embedded = backbone.embed(backbone.source_embedding, tokens, slice(tokens.size(1)))
            return [encoder(embedded, padding_mask(tokens, PAD))]

        tokens = batch.context["tokens"]
        (states,) = self.reuse(compute, tokens)
        return {"states": states, "mask": padding_mask(tokens, PAD)}

    def encoder_self_attention(
        self, layer: int, x: Tensor, attend: Attend, residual: Residual, context: Context, real: Tensor
    ) -> Tensor:
        """Apply the backbone's sub-layer, then context attention."""
        x = super().encoder_self_attention(layer, x, attend, residual, context, real)
        if not self.encoder:
            return x
        sublayer = self.encoder[layer]
        assert isinstance(sublayer, ContextAttention)
        states, mask = context["states"], context["mask"]
        return sublayer(x, *sublayer.attention.known(states, mask), mask, real)

    def start(self, context: Context, state: State) -> None:
        """Compute keys and values of the context for each decoder layer."""
        for index, sublayer in enumerate(self.decoder):
            assert isinstance(sublayer, ContextAttention)
            known = sublayer.attention.known(context["states"], context["mask"])
            state.fix("context", index, known, context["mask"])

    def source_attention(self, layer: int, x: Tensor, attend: Attend, residual: Residual, state: State) -> Tensor:
        """Apply context attention, then the backbone's sub-layer."""
        if self.decoder:
            x = self.decoder[layer](x, *state.known("context", layer))
        return super().source_attention(layer, x, attend, residual, state)

    def gates(self, batch: Batch) -> list[WatchedGate]:
        """Return the gates of the context sub-layers, which weight the sentence."""
        return [
            WatchedGate(part, layer, sublayer.gate, real, of_context=False)
            for part, layer, sublayer, real in at_work(batch, self.encoder, self.decoder, ContextAttention)
            if sublayer.gate is not None
        ]

    def context_attentions(self, examples: Sequence[Example], batch: Batch) -> list[WatchedAttention]:
        """Return each context sub-layer's attention; the end of the joined context belongs to its last sentence."""
        sentences = pad([_places(example.preceding) for example in examples]).to(batch.source.device)
        return [
            WatchedAttention(part, layer, sublayer.attention, real, sentences)
            for part, layer, sublayer, real in at_work(batch, self.encoder, self.decoder, ContextAttention)
        ]


def _places(preceding: Sequence[Tokens]) -> list[int]:
    """Return the offset of each token's sentence in the joined context from the current one."""
    if not preceding:
        return [NOWHERE]
    return [place - len(preceding) for place, tokens in enumerate(preceding) for _ in tokens] + [-1]
