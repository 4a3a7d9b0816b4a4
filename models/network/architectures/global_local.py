"""Global and local context: Zheng et al. 2020, "Towards Making the Most of Context in Neural Machine Translation".

The source document, cut into blocks of 20 sentences, is encoded sentence by sentence (local) and then as a whole
(global, section 3.2): one layer whose attention knows how many sentences lie between query and key, and a gate that
mixes both. The decoder translates sentence by sentence, with relative positions and a memory of the previous sentence
(`models.network.architectures.transformer_xl`, section 3.3).

Every sentence of a block is encoded once per batch, however many rows read it; the queries of the global layer are
those of the sentences being translated. Step two trains everything. With `warm_start`, which is not in the paper, the
global layer adds nothing to a pre-norm backbone at first, and the decoder keeps the backbone's positions and reads
almost nothing of the memory, so that step two starts at the sentence model: exactly so, where there is no memory.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.config import BackboneConfig, ContextWindow, GlobalLocalConfig
from models.data.batches import Batch, Example, Memory, Tokens, pad
from models.data.tokenizer import EOS, PAD
from models.network.architectures.segment_attention import Fusion, GlobalAttention, GlobalLayer
from models.network.architectures.transformer_xl import RelativeAttention
from models.network.attention import Attention
from models.network.context import Architecture, Context
from models.network.layers import Residual
from models.network.observation import NOWHERE, WatchedAttention, WatchedGate, source_tokens
from models.network.positions import position_table
from models.network.state import State
from models.network.state_cache import StateCache
from models.network.transformer import Transformer


class GlobalLocal(Architecture):
    """The whole source document in the encoder, the translation of the previous sentence in the decoder."""

    no_context: ClassVar[Literal["module", "backbone"]] = "module"
    lengths = None
    positions: Tensor
    """Position table, where positions continue through the block."""

    def __init__(self, config: GlobalLocalConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__()
        size, self.causal = config.block_sentences - 1, config.causal
        reads_following = config.global_layer and config.causal is not True
        self.window = ContextWindow(kind="block", size=size, following=size if reads_following else 0)
        self.reads_target = self.recurrent = config.target_memory
        self.needs_following = reads_following and config.causal is False
        self.max_length = backbone.max_length
        self.alone, self.warm = config.single_sentence_global, config.warm_start
        self.resets = config.reset_positions
        self.local_layers = backbone.encoder_layers - (config.global_layer and config.depth == "paper")
        self.segments = nn.Embedding(config.block_sentences, backbone.width) if config.segment_embedding else None
        layer = GlobalLayer if config.depth == "code" else GlobalAttention
        self.global_layer = layer(config, backbone, dropout) if config.global_layer else None
        self.fusion = Fusion(config, backbone) if config.global_layer else None
        self.memory = RelativeAttention(backbone, warm_start=self.warm) if config.target_memory else None
        self.cache = StateCache()
        if not self.resets:
            table = position_table(backbone, config.block_sentences * backbone.max_length)
            self.register_buffer("positions", table, persistent=False)

    def trains(self, parameter: str) -> bool:
        """Whether step two trains it: everything but the backbone's unused encoder layer."""
        return not parameter.startswith(f"backbone.encoder.{self.local_layers}.")

    def reset(self) -> None:
        """Initialise the decoder's positions; for a warm start, also let all new parts add nothing."""
        if self.memory is not None:
            self.memory.reset()
        if self.warm and isinstance(self.global_layer, GlobalLayer):
            self.global_layer.start_at_zero()
        if self.warm and self.segments is not None:
            nn.init.zeros_(self.segments.weight)

    def select(self, example: Example) -> Example:
        """Select the block; a sentence too long for the position table keeps its place there, but not its words."""
        preceding = example.preceding[max(0, len(example.preceding) - self.window.size) :]
        room = 0 if example.growing else min(self.window.following, self.window.size - len(preceding))
        following = example.following[:room]
        translations = example.translations[len(example.translations) - len(preceding) :] if self.reads_target else ()
        return replace(
            example,
            preceding=self._fitting(preceding),
            following=self._fitting(following),
            translations=self._fitting(translations),
        )

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Collate the sentences that the batch reads, each once, and their places.

        `sentences` (U, M) and `at` (U, 2): place in the block, and number of positions before it. `blocks` (G, K): the
        sentences of each block, and `members` (G, N): the rows translated of each; both counted from 1, 0 is none.
        `rows` (B, 4), for each row: its sentence, its block, its index among the members, and up to where it reads.
        """
        numbers: dict[_Placed, int] = {}
        read = [
            [0 if each is None else numbers.setdefault(each, len(numbers) + 1) for each in self._block(example)]
            for example in examples
        ]
        places = [len(example.preceding) for example in examples]
        blocks, block_of = _merge(read)
        members: list[list[int]] = [[] for _ in blocks]
        rows = []
        for row, (sentences, place, block) in enumerate(zip(read, places, block_of, strict=True), 1):
            rows.append([sentences[place] - 1, block, len(members[block]), len(sentences)])
            members[block].append(row)
        return {
            "sentences": pad([tokens for tokens, _, _ in numbers], end=EOS),
            "at": torch.tensor([[place, before] for _, place, before in numbers]),
            "blocks": pad(blocks),
            "members": pad(members),
            "rows": torch.tensor(rows),
        }

    def encode_source(self, batch: Batch, backbone: Transformer, context: Context) -> Tensor:
        """Compute the memory (B, S, D): encode every sentence alone, then those of the batch as parts of blocks."""
        sentences, rows = batch.context["sentences"], batch.context["rows"]
        local = self._local(sentences, batch.context["at"], backbone)
        length = batch.source.size(1)
        own = F.pad(local, (0, 0, 0, max(0, length - local.size(1))))[rows[:, 0], :length]
        alone = backbone.encoder_norm(own)
        if self.global_layer is None or self.fusion is None:
            return alone
        whole, others = self._global(own, local, batch.context, self.global_layer)
        fused: Tensor = backbone.encoder_norm(self.fusion(own, whole))
        return fused if self.alone else torch.where(others[:, None, None], fused, alone)

    def embed_source(self, tokens: Tensor, backbone: Transformer, context: Context) -> Tensor:
        """Embed as (E + E_segment) sqrt(D) + positions, which restart with the sentence if `resets`."""
        embedded = backbone.source_embedding(tokens)
        place, before = context["at"][:, 0], context["at"][:, 1]
        if self.segments is not None:
            embedded = embedded + self.segments(place)[:, None]
        positions = torch.arange(tokens.size(1), device=tokens.device)
        if self.resets:
            return embedded * math.sqrt(backbone.config.width) + backbone.positions[positions]
        counted = (before[:, None] + positions).clamp(max=len(self.positions) - 1)
        return embedded * math.sqrt(backbone.config.width) + self.positions[counted]

    def embed_target(self, tokens: Tensor, backbone: Transformer, state: State) -> Tensor:
        """Embed the target, without positions if attention uses only relative ones."""
        if self.memory is not None:
            self.memory.see(tokens, state)
        if self.memory is None or self.warm:
            return super().embed_target(tokens, backbone, state)
        embedded: Tensor = backbone.target_embedding(tokens) * math.sqrt(backbone.config.width)
        return embedded

    def decoder_self_attention(
        self, layer: int, x: Tensor, attention: Attention, residual: Residual, state: State
    ) -> Tensor:
        """Attend to the past of the sentence and to the previous one."""
        if self.memory is None:
            return super().decoder_self_attention(layer, x, attention, residual, state)
        attended: Tensor = self.memory(layer, x, attention, residual, state)
        return attended

    def finish(self, state: State, rows: Tensor) -> Memory:
        """Return the input of every decoder layer at every word."""
        return {} if self.memory is None else self.memory.finish(state, rows)

    def gates(self, batch: Batch) -> list[WatchedGate]:
        """Return the gate of the fusion, which weights the global states."""
        if self.fusion is None or self.fusion.gate is None:
            return []
        used = (self._read(batch).sum(1, keepdim=True) > 1) | self.alone
        return [
            WatchedGate("encoder", self.local_layers, self.fusion.open, source_tokens(batch) & used, of_context=True)
        ]

    def context_attentions(self, examples: Sequence[Example], batch: Batch) -> list[WatchedAttention]:
        """Return the global layer's attention to the sentence itself and all others of the block."""
        if self.global_layer is None:
            return []
        rows, length = batch.context["rows"], batch.context["sentences"].size(1)
        read = self._read(batch)
        distance = torch.arange(read.size(1), device=rows.device) - batch.context["at"][rows[:, 0], :1]
        sentences = torch.where(read, distance, NOWHERE).repeat_interleave(length, 1)
        block, member = rows[:, 1], rows[:, 2]
        return [
            WatchedAttention(
                "encoder",
                self.local_layers,
                self.global_layer.attention,
                source_tokens(batch),
                sentences,
                lambda weights: weights[block, :, member].flatten(-2),
            )
        ]

    def _read(self, batch: Batch) -> Tensor:
        """Return (B, K), true where a row reads a sentence of its block, if it may read all that it was given."""
        blocks, rows = batch.context["blocks"], batch.context["rows"]
        return blocks[rows[:, 1]].gt(0) & (torch.arange(blocks.size(1), device=rows.device) < rows[:, 3:])

    def _local(self, sentences: Tensor, at: Tensor, backbone: Transformer) -> Tensor:
        """Compute the local states (U, M, D)."""

        def compute(sentences: Tensor, from_one: Tensor) -> list[Tensor]:
            return backbone.encode_layers(sentences, self, {"at": from_one - 1}, depth=self.local_layers)[-1:]

        (states,) = self.reuse(compute, sentences, at + 1)  # from 1, as 0 would look like padding
        return states

    def _global(
        self, own: Tensor, local: Tensor, context: Context, layer: GlobalLayer | GlobalAttention
    ) -> tuple[Tensor, Tensor]:
        """Return global states (B, S, D) of the rows' local ones, and whether a row sees other sentences, (B,)."""
        blocks, rows = context["blocks"], context["rows"]
        members = (context["members"] - 1).clamp(min=0)  # (G, N)
        at = torch.arange(blocks.size(1), device=blocks.device)
        place = context["at"][rows[:, 0], 0]
        visible = at < self._end(place, rows[:, 3])[members][:, :, None]  # (G, N, K)
        visible = visible & blocks.gt(0)[:, None]
        index = (blocks - 1).clamp(min=0)
        keys, values = layer.keys_values(local)
        mask = visible[..., None] & context["sentences"].ne(PAD)[index][:, None]
        whole = layer(own[members], keys[index], values[index], mask, at - place[members][:, :, None])
        mine = rows[:, 1], rows[:, 2]
        return whole[mine], visible[mine].sum(-1) > 1

    def _end(self, place: Tensor, end: Tensor) -> Tensor:
        """Return up to where rows (B,) read: if trained both ways, only to their own place in half of the batches."""
        masked = self.causal == "both" and self.training and float(torch.rand(())) < 0.5
        return place + 1 if masked else end

    def _block(self, example: Example) -> list["_Placed | None"]:
        """Return the sentences encoded for an example, at their places in the block; None where there is none."""
        reads = self.global_layer is not None
        preceding, following = (side if reads else [()] * len(side) for side in (example.preceding, example.following))
        sentences = [*preceding, example.source, *following]
        sizes = [0 if self.resets or not len(tokens) else len(tokens) + 1 for tokens in sentences]
        before = accumulate(sizes, initial=0)
        return [
            (tuple(tokens), place, begin) if len(tokens) or place == len(preceding) else None
            for place, (tokens, begin) in enumerate(zip(sentences, before, strict=False))
        ]

    def _fitting(self, sentences: Sequence[Tokens]) -> list[Tokens]:
        return [tokens if len(tokens) < self.max_length else () for tokens in sentences]


_Placed = tuple[tuple[int, ...], int, int]
"""Tokens of a sentence, its place in the block, and the positions before it."""


def _merge(read: Sequence[Sequence[int]]) -> tuple[list[Sequence[int]], list[int]]:
    """Merge rows into blocks, each row reading a block or the beginning of one; return these, and each row's block."""
    blocks: list[Sequence[int]] = []
    found: dict[tuple[int, ...], int] = {}
    for block in sorted(read, key=len, reverse=True):
        if tuple(block) not in found:
            for end in range(1, len(block) + 1):
                found.setdefault(tuple(block[:end]), len(blocks))
            blocks.append(block)
    return blocks, [found[tuple(block)] for block in read]
