"""Backbone and architecture together: the model that is trained, exported and served."""

from typing import Protocol, assert_never

import torch
from torch import Tensor, nn

from models.config import (
    ArchitectureConfig,
    AveragedDocumentConfig,
    BackboneConfig,
    BertContextConfig,
    ConcatenationConfig,
    DocTransformerConfig,
    GlobalLocalConfig,
    LayerWeightingConfig,
    SentenceConfig,
)
from models.data.batches import Batch
from models.kernels.choices import Chosen, Stretch
from models.network.architectures.averaged_document import AveragedDocument
from models.network.architectures.bert_context import BertContext
from models.network.architectures.concatenation import Concatenation
from models.network.architectures.doc_transformer import DocTransformer
from models.network.architectures.global_local import GlobalLocal
from models.network.architectures.layer_weighting import LayerWeighting
from models.network.context import Architecture, Context
from models.network.state import State
from models.network.transformer import Transformer


def build_architecture(  # noqa: PLR0911 - one for each
    config: ArchitectureConfig, backbone: BackboneConfig, dropout: float
) -> Architecture:
    """Build the architecture that a config selects."""
    match config:
        case DocTransformerConfig():
            return DocTransformer(config, backbone, dropout)
        case AveragedDocumentConfig():
            return AveragedDocument(config, backbone, dropout)
        case ConcatenationConfig():
            return Concatenation(config, backbone)
        case LayerWeightingConfig():
            return LayerWeighting(config, backbone, dropout)
        case GlobalLocalConfig():
            return GlobalLocal(config, backbone, dropout)
        case BertContextConfig():
            return BertContext(config, backbone)
        case SentenceConfig():
            return Architecture()
        case _:
            assert_never(config)


class Step(Protocol):
    """A whole decoding step in one call, or several; see `inference.whole_step.WholeStep`."""

    @property
    def stretches(self) -> bool:
        """Whether it can take several steps at once."""

    def __call__(self, tokens: Tensor, state: State) -> Tensor:
        """Return scores of the next token, (R, V), after the last ones (R,), and advance the cached state by one."""

    def stretch(self, tokens: Tensor, totals: Tensor | None, state: State, limits: Stretch) -> Chosen:
        """Take several steps, and choose the tokens in between; see `models.search.decoder.Decoder.stretch`."""


class TranslationModel(nn.Module):
    """A sentence Transformer whose hooks an architecture fills; with the base architecture, the sentence model."""

    def __init__(
        self,
        backbone: BackboneConfig,
        architecture: ArchitectureConfig,
        source_vocabulary: int,
        target_vocabulary: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.backbone = Transformer(backbone, source_vocabulary, target_vocabulary, dropout)
        self.architecture = build_architecture(architecture, backbone, dropout)
        self.step: Step | None = None
        """Takes a decoding step in inference, if the modules are not called one by one."""

    @property
    def device(self) -> torch.device:
        """The device that it is on."""
        return self.backbone.positions.device

    def start(self, batch: Batch, *, cached: bool) -> State:
        """Encode a batch, with its context, and prepare decoding (see `Transformer.start`)."""
        return self.begin(batch, *self.encode(batch), cached=cached)

    def encode(self, batch: Batch) -> tuple[Context, Tensor]:
        """Return states of the context, and of the source, (B, S, D)."""
        context = self.architecture.encode(batch, self.backbone)
        return context, self.architecture.encode_source(batch, self.backbone, context)

    def begin(self, batch: Batch, context: Context, memory: Tensor, *, cached: bool) -> State:
        """Prepare decoding from what `encode` returned: its keys and values are computed here."""
        state = self.backbone.start(batch.source, memory, cached=cached)
        self.architecture.start(context, state)
        state.recall(batch.memory)
        return state

    def decode(self, tokens: Tensor, state: State) -> Tensor:
        """Return hidden states (R, T, D) of the next target tokens (R, T)."""
        return self.backbone.decode(tokens, self.architecture, state)

    def hidden(self, batch: Batch, tokens: Tensor) -> Tensor:
        """Return hidden states (B, T, D) of whole targets (B, T); a batch of turns is decoded turn by turn."""
        state = self.start(batch, cached=False)
        if not batch.turns:
            return self.decode(tokens, state)
        parts, memory = [], batch.memory
        for rows in batch.turns:
            turn = state.select(rows)
            turn.recall({name: tensor[: len(rows)] for name, tensor in memory.items()})
            parts.append(self.decode(tokens[rows], turn))
            memory = self.architecture.finish(turn, torch.arange(len(rows), device=rows.device))
        return torch.cat(parts)[torch.cat(batch.turns).argsort()]

    def logits(self, hidden: Tensor) -> Tensor:
        """Return unnormalised scores (..., V) of hidden states (..., D)."""
        return self.backbone.output(hidden)

    def initialize(self) -> None:
        """Initialize with Xavier uniform weights, zero biases, embeddings N(0, D^-0.5), by torch's global generator."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.backbone.config.width**-0.5)
        if self.backbone.config.embeddings != "separate":
            nn.init.normal_(self.backbone.output.weight, std=self.backbone.config.width**-0.5)
        self.architecture.reset()

    def freeze(self) -> None:
        """Freeze all parameters but those that the architecture declares for step two."""
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(self.architecture.trains(name))
