"""Layer-wise weighting and input-aware gating: Xu et al. 2021, "Efficient Context-Aware Neural Machine Translation".

The sentence model is frozen and also serves as the context encoder: every preceding sentence goes through its encoder,
and its translation through its decoder, each on its own. On top of it are trained

- layers over the source context, which start from a learned mixture of all encoder layers (layer-wise weighting) and
  let the current sentence decide what to keep (input-aware gating);
- a layer that makes the current source aware of its context;
- a decoder layer that reads the aware source, the source context and the target context, each behind a gate.

A sentence without context is translated by the frozen model. In a pre-norm backbone the stream is kept whole, as in
`doc_transformer`, and the decoder layers start at zero: step two starts exactly at the sentence model.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import torch
from torch import Tensor, nn

from models.config import BackboneConfig, ContextWindow, LayerWeightingConfig
from models.data.batches import Batch, Example, pad
from models.data.tokenizer import BOS, EOS, PAD
from models.network.architectures.aware_layers import (
    AwareDecoderLayer,
    AwareSourceLayer,
    GatedAttention,
    Mixture,
    SourceContextLayer,
)
from models.network.architectures.neighbours import distinct, gather, visible
from models.network.attention import padding_mask
from models.network.context import Architecture, Context
from models.network.observation import NOWHERE, WatchedAttention, WatchedGate, source_tokens, target_tokens
from models.network.state import State
from models.network.state_cache import StateCache
from models.network.transformer import Transformer

_READ: Final = {"aware": "source in context", "source": "source context", "target": "target context"}
"""Names of what is read, for observation."""


class WordDropout(Architecture):
    """The sentence model, reading translations of which some words are dropped in training."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(probability)

    def embed_target(self, tokens: Tensor, backbone: Transformer, state: State) -> Tensor:
        """Embed the target with whole vectors zeroed, and the others scaled up to compensate."""
        embedded = super().embed_target(tokens, backbone, state)
        return embedded * self.dropout(torch.ones_like(embedded[:, :, :1]))


class LayerWeighting(Architecture):
    """Source and target context over the frozen sentence model; all preceding sentences are encoded separately."""

    lengths = None

    def __init__(self, config: LayerWeightingConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__()
        self.window = ContextWindow(size=config.context_sentences)
        self.reads_target = config.target_context
        self.max_length = backbone.max_length
        self.plain = Architecture()
        self.words = WordDropout(config.token_dropout)
        width, offsets = backbone.width, config.context_sentences
        self.mixture = Mixture(backbone.encoder_layers) if config.layer_weighting else None
        self.source_layers = nn.ModuleList(
            SourceContextLayer(backbone, dropout, gating=config.input_gating) for _ in range(config.source_layers)
        )
        self.source_offset = nn.Embedding(offsets, width)
        self.aware_source = AwareSourceLayer(backbone, dropout)
        weighted = config.target_context and config.target_weighting
        self.target_mixture = Mixture(backbone.decoder_layers) if weighted else None
        self.target_offset = nn.Embedding(offsets, 2 * width) if config.target_context else None
        self.decoder = nn.ModuleList(
            AwareDecoderLayer(backbone, dropout, target=config.target_context) for _ in range(config.target_layers)
        )
        self.keeps_stream = backbone.norm == "pre"
        self.cache = StateCache()

    def reset(self) -> None:
        """Start at the sentence model where the backbone is pre-norm."""
        for layer in self.decoder:
            assert isinstance(layer, AwareDecoderLayer)
            if self.keeps_stream:
                layer.start_at_zero()

    def select(self, example: Example) -> Example:
        """Select the latest sentences, up to the first one that, or whose translation, exceeds the position table."""
        first, least = len(example.preceding), max(0, len(example.preceding) - self.window.size)
        while first > least and all(len(side[first - 1]) < self.max_length for side in self._sides(example)):
            first -= 1
        translations = example.translations[first:] if self.reads_target else ()
        return Example(example.source, preceding=example.preceding[first:], translations=translations)

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Collate each distinct context sentence once, and the index of each sentence's context, latest first."""
        found, index = distinct([self._latest_first(example) for example in examples])
        sides = list(zip(*(found or [((),) * (1 + self.reads_target)]), strict=True))
        context = {"index": index, "sources": pad(sides[0], end=EOS)}
        if self.reads_target:
            context["targets"] = pad(sides[1], begin=BOS)
        return context

    def encode(self, batch: Batch, backbone: Transformer) -> Context:
        """Compute the frozen model's states of the context sentences, (U, M, D) for source and target."""
        read, index = batch.context, batch.context["index"]
        sides = [read["sources"], read["targets"]] if self.reads_target else [read["sources"]]
        alone, *targets = self.reuse(partial(self._alone, backbone), *sides)
        context: Context = {"source.mask": padding_mask(batch.source, PAD), "index": index}
        context |= {"source.alone": alone, "source.real": read["sources"].ne(PAD)}
        if self.target_offset is not None:
            (states,) = targets
            context["target"] = _with_offsets(gather(states, index), self.target_offset).flatten(1, 2)
            context["target.visible"] = visible(read["targets"].ne(PAD), index)
        return context

    def encoder_output(self, layers: list[Tensor], memory: Tensor, context: Context) -> Tensor:
        """Return the memory unchanged; complete the context states, which depend on it."""
        context["source.visible"] = visible(context["source.real"], context["index"])
        context["source"] = self._source_states(memory, context)
        x = layers[-1] if self.keeps_stream else memory
        context["aware"] = self.aware_source(x, context["source.mask"], context["source"], context["source.visible"])
        context["aware.visible"] = context["source.mask"]
        return memory

    def start(self, context: Context, state: State) -> None:
        """Compute keys and values for the decoder layers, and which sentences have context."""
        for index, layer in enumerate(self.decoder):
            assert isinstance(layer, AwareDecoderLayer)
            layer.prepare(index, context, state)
        state.fixed["context.any"] = context["index"].gt(0).any(1)

    def decoder_output(self, x: Tensor, close: nn.Module, state: State) -> Tensor:
        """Return the context-aware layers' output, or the frozen decoder's where a sentence has no context."""
        frozen = close(x)
        y = x if self.keeps_stream else frozen
        for index, layer in enumerate(self.decoder):
            y = layer(y, index, state)
        aware = close(y) if self.keeps_stream else y
        anything = state.fixed["context.any"]
        return torch.where(anything.repeat_interleave(len(x) // len(anything))[:, None, None], aware, frozen)

    def gates(self, batch: Batch) -> list[WatchedGate]:
        """Return the gates over the context sentences, and those that weight the sentence against each context."""
        index = batch.context["index"]
        context = (gather(batch.context["sources"].ne(PAD), index) & index.gt(0)[:, :, None]).flatten(1)
        inputs = [
            WatchedGate("context: input", depth, layer.gate, context, of_context=True)
            for depth, layer in enumerate(self.source_layers)
            if isinstance(layer, SourceContextLayer) and layer.gate is not None
        ]
        return inputs + [
            WatchedGate(f"{part}: {_READ[read]}", layer, sublayer.gate, real, of_context=False)
            for part, read, layer, sublayer, real in self._readings(batch)
        ]

    def context_attentions(self, examples: Sequence[Example], batch: Batch) -> list[WatchedAttention]:
        """Return the attentions to the context sentences and to their translations."""
        index, lengths = batch.context["index"], {"source": batch.context["sources"].size(1)}
        if self.reads_target:
            lengths["target"] = batch.context["targets"].size(1)
        places = torch.where(index.gt(0), -1 - torch.arange(index.size(1), device=index.device), NOWHERE)
        return [
            WatchedAttention(
                f"{part}: {_READ[read]}", layer, sublayer.attention, real, places.repeat_interleave(lengths[read], 1)
            )
            for part, read, layer, sublayer, real in self._readings(batch)
            if read in lengths
        ]

    def layer_weights(self) -> dict[str, Tensor]:
        """Return the mixtures of the encoder's outputs (source context) and of the decoder's (translations)."""
        mixtures = {"source": self.mixture, "target": self.target_mixture}
        return {side: mixture.shares() for side, mixture in mixtures.items() if mixture is not None}

    def _readings(self, batch: Batch) -> Iterator[tuple[str, str, int, GatedAttention, Tensor]]:
        """Yield each gated attention: part, what it reads, layer, module, and the tokens of sentences with context."""
        aware = batch.context["index"].gt(0).any(1, keepdim=True)
        yield "encoder", "source", 0, self.aware_source.context, source_tokens(batch) & aware
        for index, layer in enumerate(self.decoder):
            assert isinstance(layer, AwareDecoderLayer)
            for read, sublayer in layer.reads.items():
                assert isinstance(sublayer, GatedAttention)
                yield "decoder", read, index, sublayer, target_tokens(batch) & aware

    def _latest_first(self, example: Example) -> list[tuple[tuple[int, ...], ...]]:
        return list(zip(*(map(tuple, side) for side in self._sides(example)), strict=True))[::-1]

    def _sides(self, example: Example) -> Sequence[Sequence[Sequence[int]]]:
        return (example.preceding, example.translations) if self.reads_target else (example.preceding,)

    def _source_states(self, memory: Tensor, context: Context) -> Tensor:
        """Return (B, K x M, D): the context sentences through the layers over them, with their offsets."""
        real = gather(context["source.real"], context["index"])
        x = gather(context["source.alone"], context["index"])  # (B, K, M, D)
        for depth, layer in enumerate(self.source_layers):
            assert isinstance(layer, SourceContextLayer)
            if depth > 0:
                x = layer.alone(x.flatten(0, 1), real.flatten(0, 1)[:, None, None]).reshape(x.shape)
            x = layer.aware(x.flatten(1, 2), memory, context["source.mask"]).reshape(x.shape)
        return _with_offsets(x, self.source_offset).flatten(1, 2)

    def _alone(self, backbone: Transformer, sources: Tensor, targets: Tensor | None = None) -> list[Tensor]:
        """Compute the frozen model's states of sentences and, if read, of their translations.

        Returns:
            (U, M, D), through the part of the first layer that reads nothing else, and (U, M', 2 D), for each word:
            [embedding; last decoder output].
        """
        layers = backbone.encode_layers(sources, self.plain, {})
        memory = backbone.encoder_norm(layers[-1])
        mixed = memory if self.mixture is None else self.mixture([*layers[:-1], memory])
        first = self.source_layers[0]
        assert isinstance(first, SourceContextLayer)
        alone = first.alone(mixed, padding_mask(sources, PAD))
        if targets is None:
            return [alone]
        state = backbone.start(sources, memory, cached=False)
        layers = backbone.decode_layers(targets, self.words, state)
        closed = backbone.decoder_norm(layers[-1])
        mixed = closed if self.target_mixture is None else self.target_mixture([*layers[:-1], closed])
        return [alone, torch.cat([layers[0], mixed], dim=-1)]


def _with_offsets(states: Tensor, offsets: nn.Embedding) -> Tensor:
    """Add to the states (B, K, M, D) embeddings of how far their sentence precedes the current one."""
    slots = torch.arange(states.size(1), device=states.device).clamp(max=offsets.num_embeddings - 1)
    return states + offsets(slots)[:, None]
