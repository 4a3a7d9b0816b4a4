"""The hooks by which an architecture changes the sentence Transformer.

The base class `Architecture` is the null object: the backbone with the base class is the sentence model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

import torch
from torch import Tensor, nn

from models.config import ArchitectureConfig, ContextWindow
from models.data.batches import Batch, Example, Memory, Tokens
from models.kernels.norms import Frame
from models.network.attention import Attention
from models.network.layers import Framed, Residual
from models.network.observation import WatchedAttention, WatchedGate
from models.network.pretrained import PretrainedEncoder
from models.network.recent import Recent
from models.network.state import State
from models.network.state_cache import Compute, StateCache

if TYPE_CHECKING:
    from models.network.transformer import Transformer

Attend = Callable[[Tensor], Tensor]
"""Attention alone: normalised queries (R, T, D) to (R, T, D), without residual, norm or dropout."""

Context = dict[str, Tensor]
"""Context states of a batch: batch-first tensors under names that the architecture chooses."""

STATES: Final[Mapping[str, int | None]] = {"states": 1, "mask": 3}
"""`Architecture.lengths` of states (B, C, D) and their mask (B, 1, 1, C)."""


def over_past(name: str, attention: Attention, state: State) -> Attend:
    """Return self-attention of new positions (R, T, D) to themselves and all earlier ones, cached under `name`."""
    kernel, step = attention.kernel, attention.step

    def attend(x: Tensor) -> Tensor:
        if step is not None and (attended := one_word(x, None)) is not None:
            return attended
        columns = state.look_up(x.size(0), x.size(1)) if kernel is not None else None
        queries, keys, values = attention.project(x)
        if kernel is not None:
            keys, values = kernel.kept(keys), kernel.kept(values)
        keys = attention.split(state.extend(f"{name}.keys", keys))
        values = attention.split(state.extend(f"{name}.values", values))
        if x.size(1) == 1:
            return attention.mix(queries, keys, values, state.unseen(x.dtype), columns=columns)
        return attention.mix(queries, keys, values, causal=True, columns=columns)

    def inside(x: Tensor, frame: Frame) -> Tensor | None:
        columns = state.look_up(x.size(0), x.size(1))
        if kernel is None or columns is None or x.size(1) > 1:
            return None
        past = state.reserve(f"{name}.keys", x, kernel.keeps), state.reserve(f"{name}.values", x, kernel.keeps)
        return kernel.attend_past(x, past, state.position, columns, state.unseen(x.dtype), frame)

    def one_word(x: Tensor, frame: Any) -> Tensor | None:  # noqa: ANN401 - a frame is what the kernel understands
        columns = state.look_up(x.size(0), x.size(1)) if x.size(1) == 1 else None
        if step is None or columns is None:
            return None
        past = state.reserve(f"{name}.keys", x), state.reserve(f"{name}.values", x)
        return step.attend_past(x, past, state.next_place, columns, state.starts, frame)

    if kernel is None and step is None:
        return attend
    return Framed(attend, one_word if kernel is None else inside)


class Architecture(nn.Module):
    """The sentence model: no context, no parameters. Subclasses override the hooks that their paper needs."""

    window: ContextWindow = ContextWindow()
    """The neighbouring sentences that are read."""
    no_context: ClassVar[Literal["module", "backbone"]] = "backbone"
    """What translates a sentence without context: the context `module` on its null input, or the `backbone` alone."""
    reads_target: bool = False
    """Whether the translations of the preceding sentences are read as well."""
    lengths: ClassVar[Mapping[str, int | None] | None] = {}
    """For each tensor that `encode` returns, the dimension (if any) that is a length and may be padded at its end.
    None if decoding starts from more than these tensors and the source, or if none of them may be padded."""
    context_positions: int | None = None
    """Maximum tokens of a context, if something other than the backbone's positions limits them."""
    joins_source: ClassVar[bool] = False
    """Whether the context is part of the source, and the model otherwise a plain Transformer."""
    recurrent: bool = False
    """Whether decoding a sentence leaves a memory for the next one; if so, `reads_target` is true too."""
    needs_following: bool = False
    """Whether it can only translate with the following sentences present, so no document that is still growing."""

    pretrained: PretrainedEncoder | None = None
    """An encoder that is used but never trained; its weights are not part of the model."""
    cache: StateCache | None = None
    """Cache of context states, if any of them can recur."""
    _computes: Callable[..., Sequence[Tensor]] | None = None

    def trains(self, parameter: str) -> bool:
        """Whether step two trains this parameter, named as in `TranslationModel.named_parameters`."""
        return parameter.startswith("architecture.")

    def reset(self) -> None:
        """Adjust the general initialisation where the architecture needs a different one."""

    def remember(self, config: ArchitectureConfig) -> ArchitectureConfig:
        """Return the config to store in a checkpoint: with the checksum of anything read besides the weights."""
        return config

    def pieces(self, texts: Sequence[str]) -> Sequence[Tokens] | None:
        """Tokenize source texts with the architecture's own tokenizer; None if it has none."""
        return None

    def select(self, example: Example) -> Example:
        """Reduce an example to the context that is used: whole sentences, the nearest ones."""
        return Example(example.source)

    def source(self, example: Example) -> Tokens:
        """Return what the encoder reads of a selected example, without the end of sentence."""
        return example.source

    def caches(self) -> Sequence[Recent[Any, Any]]:
        """Return the caches that keep parts of the context from one batch to the next."""
        return () if self.cache is None else (self.cache.kept,)

    def reuse(self, compute: Compute, *inputs: Tensor) -> Sequence[Tensor]:
        """Return context states through `StateCache.states` in inference; otherwise call `compute` directly."""
        if self.cache is None or self.training or not torch.is_inference_mode_enabled():
            return compute(*inputs)
        return self.cache.states(compute if self._computes is None else partial(self._computes, compute), *inputs)

    @contextmanager
    def computing_by(self, computes: Callable[..., Sequence[Tensor]]) -> Iterator[None]:
        """Within the block, compute cached states by `computes`, given the original function and its inputs."""
        self._computes = computes
        try:
            yield
        finally:
            self._computes = None

    def train(self, mode: bool = True) -> Self:
        """Switch mode like any module, and clear cached states, since weights may change from here on."""
        self._forget()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        self._forget()
        moved: Self = super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return moved

    def _forget(self) -> None:
        for kept in self.caches():
            kept.clear()

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Collate the selected context of each sentence of a batch into tensors; becomes `Batch.context`."""
        return {}

    def encode(self, batch: Batch, backbone: Transformer) -> Context:
        """Compute the context states of a batch."""
        return {}

    def encode_source(self, batch: Batch, backbone: Transformer, context: Context) -> Tensor:
        """Encode the sources of a batch into the decoder's memory (B, S, D)."""
        return backbone.encode(batch.source, self, context)

    def embed_source(self, tokens: Tensor, backbone: Transformer, context: Context) -> Tensor:
        """Embed (B, S) to (B, S, D), with scaling and positions."""
        return backbone.embed(backbone.source_embedding, tokens, slice(tokens.size(1)))

    def embed_target(self, tokens: Tensor, backbone: Transformer, state: State) -> Tensor:
        """Embed the next tokens (R, T) to (R, T, D), with scaling and positions."""
        return backbone.embed(backbone.target_embedding, tokens, state.places(tokens.size(1)))

    def encoder_self_attention(
        self, layer: int, x: Tensor, attend: Attend, residual: Residual, context: Context, real: Tensor
    ) -> Tensor:
        """Self-attention sub-layer of the encoder, (B, S, D); results where `real` (B, 1, 1, S) is false go unread."""
        return residual(x, attend)

    def encoder_output(self, layers: list[Tensor], memory: Tensor, context: Context) -> Tensor:
        """Return the decoder's memory (B, S, D) from every layer's output (embeddings first) and the final norm's."""
        return memory

    def start(self, context: Context, state: State) -> None:
        """Put into `state.fixed` what decoding needs of the context; called once per sentence."""

    def decoder_self_attention(
        self, layer: int, x: Tensor, attention: Attention, residual: Residual, state: State
    ) -> Tensor:
        """Self-attention sub-layer of the decoder, (R, T, D)."""
        return residual(x, over_past(f"self.{layer}", attention, state))

    def source_attention(self, layer: int, x: Tensor, attend: Attend, residual: Residual, state: State) -> Tensor:
        """Sub-layer of the decoder that attends to the source, (R, T, D)."""
        return residual(x, attend)

    def decoder_output(self, x: Tensor, close: nn.Module, state: State) -> Tensor:
        """Return the output projection's input, (R, T, D), from the last layer's output, not yet normed by `close`."""
        closed: Tensor = close(x)
        return closed

    def finish(self, state: State, rows: Tensor) -> Memory:
        """Return what these fully decoded hypotheses (R',) leave to the next sentence of their document.

        Returns:
            Tensors (R', M, ...), padded on the left; see `models.data.batches.Memory`. Empty if not `recurrent`.
        """
        return {}

    def gates(self, batch: Batch) -> list[WatchedGate]:
        """Return its gates, to be observed on a batch with targets."""
        return []

    def context_attentions(self, examples: Sequence[Example], batch: Batch) -> list[WatchedAttention]:
        """Return its attention to neighbouring sentences, to be observed on a batch of selected examples."""
        return []

    def layer_weights(self) -> dict[str, Tensor]:
        """Return its learned layer mixtures by name: one share for the embeddings and one for each layer's output."""
        return {}
