"""BERT as context encoder: Guo and Nguyen 2020, "Document-level Neural Machine Translation Using BERT".

A frozen BERT of the source language reads `[CLS] previous sentence [SEP] current sentence [SEP]` in its own word
pieces. Each encoder and decoder layer attends to its last states C_B besides its own attention (section 3.2):

- encoder: B = MHA(S, S), D = MHA(S, C_B), g = sigmoid(W_g [B; D] + b), g * B + (1 - g) * D;
- decoder, after self-attention: F = MHA(E, C_B), G = MHA(E, S_L), gate = sigmoid(W_d [F; G] + b),
  gate * F + (1 - gate) * G.

So the gate multiplies self-attention in the encoder, but BERT in the decoder. The residual connection and norm, which
the paper does not mention, are around the mixture. In a pre-norm backbone the backbone's part is kept whole, as in
`doc_transformer`, and the attentions to BERT start at zero: step two starts exactly at the sentence model, and trains
all of it, but never BERT.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from models.config import ArchitectureConfig, BackboneConfig, BertContextConfig, ContextWindow
from models.data.batches import Batch, Example, Tokens, pad
from models.data.tokenizer import PAD
from models.network.architectures.bert import FrozenBert
from models.network.architectures.bert_input import fit, places, row, with_random_context
from models.network.attention import Attention, padding_mask
from models.network.context import STATES, Architecture, Attend, Context
from models.network.layers import Residual
from models.network.observation import WatchedAttention, WatchedGate, at_work
from models.network.state import State
from models.network.state_cache import StateCache
from models.network.transformer import Transformer


class BertAttention(nn.Module):
    """Attention to BERT's states besides another attention, and the gate between both."""

    def __init__(self, width: int, heads: int, bert_width: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads, bert_width)
        self.both = nn.Linear(2 * width, width)
        self.gate = nn.Sigmoid()

    def forward(
        self, x: Tensor, attend: Attend, bert: tuple[Tensor, Tensor, Tensor], residual: Residual, *, opens: bool
    ) -> Tensor:
        """Compute the sub-layer that replaces the backbone's, (R, T, D).

        Args:
            x: (R, T, D).
            attend: the other attention.
            bert: keys, values and mask as in `Attention`.
            residual: residual connection of the backbone's sub-layer.
            opens: whether BERT is what the gate multiplies, and first in its input; else the other attention is.
        """
        query = residual.norm(x) if residual.pre else x
        own = residual.dropout(attend(query))
        context = residual.dropout(self.attention(query, *bert))
        gate = self.gate(self.both(torch.cat([context, own] if opens else [own, context], dim=-1)))
        weight = gate if opens else 1 - gate
        if residual.pre:
            return x + own + weight * context
        normed: Tensor = residual.norm(x + (1 - weight) * own + weight * context)
        return normed


class BertContext(Architecture):
    """Attention to BERT's states in the layers that `integration` names."""

    no_context: ClassVar[Literal["module", "backbone"]] = "module"
    lengths = STATES

    def __init__(self, config: BertContextConfig, backbone: BackboneConfig) -> None:
        super().__init__()
        self.config = config
        reads = config.integration != "none"
        moves = reads and config.context != "fixed"  # a constant sentence is not part of the document
        self.window = ContextWindow(
            size=config.context_sentences if moves else 0, following=config.following_sentences if moves else 0
        )
        if reads:
            self.pretrained = FrozenBert(config.bert, config.bert_width, config.bert_pieces, config.bert_checksum)
            self.cache = StateCache()
        self.context_positions = config.bert_pieces
        self.needs_following = self.window.following > 0
        self.pre_norm = backbone.norm == "pre"
        self.encoder = self._sublayers(backbone.encoder_layers, config, backbone, "encoder")
        self.decoder = self._sublayers(backbone.decoder_layers, config, backbone, "decoder")

    @staticmethod
    def _sublayers(
        count: int, config: BertContextConfig, backbone: BackboneConfig, side: Literal["encoder", "decoder"]
    ) -> nn.ModuleList:
        reads = config.integration in (side, "both")
        return nn.ModuleList(
            BertAttention(backbone.width, backbone.heads, config.bert_width) for _ in range(count if reads else 0)
        )

    def trains(self, parameter: str) -> bool:
        """Whether step two trains it: everything; BERT is not a parameter."""
        return True

    def reset(self) -> None:
        """Start at the sentence model where the backbone is pre-norm."""
        if self.pre_norm:
            for sublayer in (*self.encoder, *self.decoder):
                assert isinstance(sublayer, BertAttention)
                nn.init.zeros_(sublayer.attention.output.weight)

    def remember(self, config: ArchitectureConfig) -> ArchitectureConfig:
        """Add the checksum of BERT to the config."""
        if not isinstance(self.pretrained, FrozenBert):
            return config
        return config.model_copy(update={"bert_checksum": self.pretrained.checksum})

    def pieces(self, texts: Sequence[str]) -> list[list[int]] | None:
        """Encode texts in BERT's word pieces."""
        return None if self.pretrained is None else self.pretrained.wordpiece.encode(texts)

    def select(self, example: Example) -> Example:
        """Select the nearest sentences, as far as BERT has positions for at least a piece of them."""
        if self.pretrained is None or example.own is None:
            return Example(example.source)
        own = self._fitted(example)
        if self.config.context == "fixed":  # in place of the document's sentences
            return Example(example.source, own=own)
        first, end = len(example.preceding) - len(own.preceding), len(own.following)
        return Example(example.source, preceding=example.preceding[first:], following=example.following[:end], own=own)

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Collate BERT's input ids, counted from 1."""
        if self.pretrained is None:
            return {}
        return {"bert": pad([self._row(self._fitted(example)) for example in examples])}

    def encode(self, batch: Batch, backbone: Transformer) -> Context:
        """Compute BERT's last states (B, M, E)."""
        encoder = self.pretrained
        if encoder is None:
            return {}
        tokens, dtype = batch.context["bert"], backbone.positions.dtype
        (states,) = self.reuse(lambda new: [encoder.states(new).to(dtype)], tokens)
        return {"states": states, "mask": padding_mask(tokens, PAD)}

    def encoder_self_attention(
        self, layer: int, x: Tensor, attend: Attend, residual: Residual, context: Context, real: Tensor
    ) -> Tensor:
        """Mix self-attention and attention to BERT."""
        if not self.encoder:
            return super().encoder_self_attention(layer, x, attend, residual, context, real)
        sublayer = self.encoder[layer]
        assert isinstance(sublayer, BertAttention)
        bert = (*sublayer.attention.known(context["states"], context["mask"]), context["mask"])
        return sublayer(x, attend, bert, residual, opens=False)

    def start(self, context: Context, state: State) -> None:
        """Compute keys and values of BERT's states for each decoder layer."""
        for index, sublayer in enumerate(self.decoder):
            assert isinstance(sublayer, BertAttention)
            known = sublayer.attention.known(context["states"], context["mask"])
            state.fix("bert", index, known, context["mask"])

    def source_attention(self, layer: int, x: Tensor, attend: Attend, residual: Residual, state: State) -> Tensor:
        """Mix attention to the source and attention to BERT."""
        if not self.decoder:
            return super().source_attention(layer, x, attend, residual, state)
        return self.decoder[layer](x, attend, state.known("bert", layer), residual, opens=True)

    def gates(self, batch: Batch) -> list[WatchedGate]:
        """Return the gates, which weight self-attention in the encoder, and BERT in the decoder."""
        return [
            WatchedGate(part, layer, sublayer.gate, real, of_context=part == "decoder")
            for part, layer, sublayer, real in at_work(batch, self.encoder, self.decoder, BertAttention)
        ]

    def context_attentions(self, examples: Sequence[Example], batch: Batch) -> list[WatchedAttention]:
        """Return attention to all that BERT reads, the current sentence included; none where it reads no other."""
        if self.window == ContextWindow():
            return []
        sentences = pad([places(self._fitted(example)) for example in examples]).to(batch.source.device)
        return [
            WatchedAttention(part, layer, sublayer.attention, real, sentences)
            for part, layer, sublayer, real in at_work(batch, self.encoder, self.decoder, BertAttention)
        ]

    def _fitted(self, example: Example) -> Example:
        assert example.own is not None
        own = example.own
        if self.config.context == "fixed":
            own = replace(own, preceding=[self._fixed], following=())
            return fit(own, ContextWindow(size=1), self.config.bert_pieces)
        return fit(own, self.window, self.config.bert_pieces)

    def _row(self, own: Example) -> list[int]:
        assert self.pretrained is not None
        wordpiece = self.pretrained.wordpiece
        if self.config.context == "random":
            own = with_random_context(own, self._words)
        return row(own, wordpiece)

    @cached_property
    def _fixed(self) -> Tokens:
        assert self.pretrained is not None
        return self.pretrained.wordpiece.encode([self.config.fixed_sentence])[0]

    @cached_property
    def _words(self) -> list[int]:
        assert self.pretrained is not None
        return self.pretrained.wordpiece.words
