"""The LMU Munich systems of WMT19: Stojanovski and Fraser 2019, "Combining Local and Document-Level Context".

Two kinds of context, alone or together (`joint`), both from preceding source sentences only:

- `previous`: the previous sentence goes through all but the last of the encoder's own layers, then a context layer;
  each decoder layer attends to it after the source, and a gate mixes both (section 3.1);
- `document`: the mean of the embeddings of up to ten sentences goes through a feed-forward layer and is added to each
  source embedding (section 3.2).

Step two trains everything but the embeddings. An untrained gate halves what the decoder has found in the source, and
all that it has read before. With `warm_start`, which is not in the paper, that is kept whole, as in `doc_transformer`,
and attention to the previous sentence starts at zero: step two starts exactly at the sentence model.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from torch import Tensor, nn

from models.config import AveragedDocumentConfig, BackboneConfig, ContextWindow
from models.data.batches import Batch, Example, Tokens, join, latest, pad
from models.data.tokenizer import BOS, EOS, PAD
from models.network.attention import Attention, padding_mask
from models.network.context import STATES, Architecture, Attend, Context
from models.network.layers import FeedForward, Residual, final_norm
from models.network.observation import WatchedGate, target_tokens
from models.network.state import State
from models.network.state_cache import StateCache
from models.network.transformer import EncoderLayer, Transformer

MARK = BOS
"""Precedes the previous sentence, and stands alone where there is none."""


class ContextLayer(EncoderLayer):
    """An encoder layer with narrower attention."""

    def __init__(self, config: AveragedDocumentConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__(backbone, dropout)
        self.self_attention = Attention(backbone.width, config.attention_heads, inner=config.attention_width)
        self.norm = final_norm(backbone.width, backbone.norm)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Compute context states (B, C, D) from the last shared layer's output (B, C, D)."""
        x = self.self_residual(x, self.self_attention.over_itself(mask))
        return self.norm(self.feed_residual(x, self.feed_forward.over(mask)))


class ContextAttention(nn.Module):
    """Gated attention to the previous sentence: g * c + (1 - g) * cc with g = sigmoid(W_e c + W_c cc).

    With `warm_start`, c + (1 - g) * cc.
    """

    def __init__(self, config: AveragedDocumentConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__()
        width, self.warm_start = backbone.width, config.warm_start
        self.attention = Attention(width, config.attention_heads, inner=config.attention_width)
        self.norm = nn.LayerNorm(width) if backbone.norm == "pre" else nn.Identity()
        self.source = nn.Linear(width, width, bias=False)
        self.context = nn.Linear(width, width, bias=False)
        self.open = nn.Sigmoid()
        self.dropout = nn.Dropout(dropout)

    def forward(self, c: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Mix the context into the output c (R, T, D) of attention to the source; other arguments as in `Attention`."""
        cc = self.dropout(self.attention(self.norm(c), keys, values, mask))
        g = self.open(self.source(c) + self.context(cc))
        return (c if self.warm_start else g * c) + (1 - g) * cc


class AveragedDocument(Architecture):
    """Gated attention to the previous sentence, and the averaged document added to the source embeddings."""

    no_context: ClassVar[Literal["module", "backbone"]] = "module"
    lengths: ClassVar[Mapping[str, int | None] | None] = {**STATES, "average": None}

    def __init__(self, config: AveragedDocumentConfig, backbone: BackboneConfig, dropout: float) -> None:
        super().__init__()
        previous, document = (config.context in (kind, "joint") for kind in ("previous", "document"))
        self.window = ContextWindow(size=config.document_sentences if document else int(previous))
        self.document_tokens = config.document_tokens
        self.max_length = backbone.max_length
        self.plain = Architecture()
        self.context_layer = ContextLayer(config, backbone, dropout) if previous else None
        self.cache = StateCache() if previous else None
        layers = backbone.decoder_layers if previous else 0
        self.decoder = nn.ModuleList(ContextAttention(config, backbone, dropout) for _ in range(layers))
        self.document = FeedForward(backbone.width, backbone.feed_forward, "relu") if document else None

    def trains(self, parameter: str) -> bool:
        """Whether step two trains it: everything but the embeddings, and the output projection if tied to one."""
        return not parameter.startswith(("backbone.source_embedding.", "backbone.target_embedding."))

    def reset(self) -> None:
        """Let the document change nothing at first, nor the previous sentence with a warm start."""
        if self.document is not None:
            nn.init.zeros_(self.document.outer.weight)
        for sublayer in self.decoder:
            assert isinstance(sublayer, ContextAttention)
            if sublayer.warm_start:
                nn.init.zeros_(sublayer.attention.output.weight)

    def select(self, example: Example) -> Example:
        """Select the latest sentences: at most `window`, with at most `document_tokens` together."""
        return Example(example.source, preceding=latest(example.preceding, self.window.size, self._room))

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Collate the previous sentence after its mark, and the tokens of the document, whose order does not matter."""
        context = {}
        if self.context_layer is not None:
            context["previous"] = pad([self._marked(example.preceding) for example in examples])
        if self.document is not None:
            context["document"] = pad([join(example.preceding) for example in examples])
        return context

    def encode(self, batch: Batch, backbone: Transformer) -> Context:
        """Compute states of the previous sentence (B, C, D), and the averaged document (B, 1, D)."""
        context: Context = {}
        if (layer := self.context_layer) is not None:

            def compute(tokens: Tensor) -> list[Tensor]:
                shared = backbone.encode_layers(tokens, self.plain, {}, depth=len(backbone.encoder) - 1)[-1]
                return [layer(shared, padding_mask(tokens, PAD))]

            tokens = batch.context["previous"]
            (context["states"],) = self.reuse(compute, tokens)
            context["mask"] = padding_mask(tokens, PAD)
        if self.document is not None:
            context["average"] = self._average(batch.context["document"], backbone, self.document)
        return context

    def embed_source(self, tokens: Tensor, backbone: Transformer, context: Context) -> Tensor:
        """Embed the source, with the averaged document added to each embedding."""
        embedded = super().embed_source(tokens, backbone, context)
        return embedded if self.document is None else embedded + context["average"]

    def start(self, context: Context, state: State) -> None:
        """Compute keys and values of the previous sentence, for each decoder layer."""
        for index, sublayer in enumerate(self.decoder):
            assert isinstance(sublayer, ContextAttention)
            known = sublayer.attention.known(context["states"], context["mask"])
            state.fix("context", index, known, context["mask"])

    def source_attention(self, layer: int, x: Tensor, attend: Attend, residual: Residual, state: State) -> Tensor:
        """Apply the backbone's sub-layer, then gated attention to the previous sentence."""
        x = super().source_attention(layer, x, attend, residual, state)
        if not self.decoder:
            return x
        mixed: Tensor = self.decoder[layer](x, *state.known("context", layer))
        return mixed

    def gates(self, batch: Batch) -> list[WatchedGate]:
        """Return the gates of the decoder layers, which weight the sentence."""
        found = []
        for layer, sublayer in enumerate(self.decoder):
            assert isinstance(sublayer, ContextAttention)
            found.append(WatchedGate("decoder", layer, sublayer.open, target_tokens(batch), of_context=False))
        return found

    @property
    def _room(self) -> int:
        """Maximum tokens: a document has no positions, the previous sentence alone has as many as the backbone."""
        return self.document_tokens if self.document is not None else self.max_length - 2

    def _marked(self, preceding: Sequence[Tokens]) -> list[int]:
        """Return the previous sentence between its mark and its end; the mark alone if it is missing or too long."""
        if not preceding or len(preceding[-1]) + 2 > self.max_length:
            return [MARK]
        return [MARK, *preceding[-1], EOS]

    def _average(self, tokens: Tensor, backbone: Transformer, layer: FeedForward) -> Tensor:
        real = tokens.ne(PAD)[:, :, None]
        count = real.sum(1, keepdim=True)
        total = (backbone.source_embedding(tokens) * real).sum(1, keepdim=True)
        scaled = total * backbone.config.width**0.5 / count.clamp(min=1)
        return layer(scaled) * count.ne(0)
