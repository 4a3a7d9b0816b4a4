"""A decoding step of one word per row in one call, or several: in int8 on a CPU, where no hook changes a layer."""

import math
from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.data.tokenizer import BOS, EOS, PAD
from models.kernels.choices import Chosen, Stretch
from models.kernels.continuations import require_choice
from models.kernels.norms import POST, PRE, Norm
from models.kernels.steps import LINEARS, Known, Stack, decode_layers
from models.kernels.stretches import draw, spread
from models.network.architectures.doc_transformer import DocTransformer
from models.network.context import Architecture
from models.network.inference.int8 import Arrays, Int8Linear
from models.network.inference.int8_sublayers import (
    NUMBERS,
    Int8Attention,
    Int8ContextAttention,
    Int8Norm,
    seen,
)
from models.network.inference.kernel_embedding import KernelEmbedding
from models.network.model import TranslationModel
from models.network.state import State
from models.network.transformer import DecoderLayer, Transformer

Addresses = NDArray[np.int64]
_Parts = tuple[list[Arrays], list[Int8Norm]]
_BOTH: Final = "keys", "values"
_NONE: Final = np.empty(0, np.float32)
_NO_CONTEXT: Final[Known] = (1, 1, 0, 1), np.empty((0, 0), np.float32)
_SPECIAL: Final = (PAD, BOS), EOS
"""Tokens that are never chosen, and the one that ends a sentence."""


class WholeStep:
    """The layers of a decoder, all with a context sub-layer or all without; satisfies `model.Step`.

    Where the architecture leaves the rest of a step unchanged, several steps are one call, with all between them.
    """

    def __init__(self, model: TranslationModel, contexts: Sequence[Int8ContextAttention]) -> None:
        """Take over a model whose modules are already in int8."""
        self._backbone, self._architecture = model.backbone, model.architecture
        layers = [cast("DecoderLayer", layer) for layer in self._backbone.decoder]
        parts = [_parts(layer, contexts[i : i + 1]) for i, layer in enumerate(layers)]
        self._parts: Final = parts  # the tables point into their arrays
        self._tables: Final = np.array([_table(*each) for each in parts])
        self._shapes: Final = np.array([_shape(linear) for linear in parts[0][0]])
        residual, feed_forward = layers[0].self_residual, layers[0].feed_forward
        order, heads = PRE if residual.pre else POST, layers[0].self_attention.heads
        self._kind: Final = order, np.float32(residual.norm.eps), NUMBERS[feed_forward.activation], heads
        self._past: Final = [f"self.{i}.{what}" for i in range(len(layers)) for what in _BOTH]
        self._attended: Final = ("source", "context") if contexts else ("source",)
        self._last: tuple[Tensor, list[Tensor], Addresses, Known, Known] | None = None
        self._ends: Final = _Ends(self._backbone) if _ends_plainly(self._architecture) else None

    @property
    def stretches(self) -> bool:
        """Whether it can take several steps at once."""
        return self._ends is not None

    def __call__(self, tokens: Tensor, state: State) -> Tensor:
        """Return scores of the next token, (R, V), after the last ones (R,), and advance the cached state."""
        x = self._architecture.embed_target(tokens[:, None], self._backbone, state)
        read = np.empty(x.shape, np.float32)
        decode_layers(x.numpy(), self._stack(len(tokens), state), read)
        last = self._architecture.decoder_output(torch.from_numpy(read), self._backbone.decoder_norm, state)
        scores: Tensor = self._backbone.output(last[:, 0])
        state.advance(1)
        return scores

    def stretch(self, tokens: Tensor, totals: Tensor | None, state: State, limits: Stretch) -> Chosen:
        """Take several steps; see `models.search.decoder.Decoder.stretch`."""
        assert self._ends is not None
        stack = self._stack(len(tokens), state, limits.most)
        given = self._ends.words(tokens.clone(), state), stack, self._ends.arrays, _SPECIAL
        if totals is None:
            steps, chosen = _drawn(given, limits)
        else:
            require_choice(self._ends.vocabulary, totals.size(1))
            steps, chosen = _spread(given, totals.numpy().copy(), limits)
            state.columns = torch.from_numpy(stack.columns)
        state.advance(steps)
        return chosen

    def _stack(self, rows: int, state: State, words: int = 1) -> Stack:
        """Return the layers and what they read, with room for some more words."""
        columns = state.look_up(rows, words)
        assert columns is not None
        like = self._backbone.positions[:1].expand(rows, words, -1)
        past = [state.reserve(name, like, Int8Attention.keeps) for name in self._past]
        shape = past[0].shape
        assert all(each.shape == shape for each in past)  # the kernel gets only the addresses of the others
        return Stack(
            self._tables,
            self._shapes,
            self._kind,
            _addresses(past, 2),
            tuple(shape),
            state.position,
            columns.contiguous().numpy(),  # a view of a larger array would be compiled anew
            seen(state.unseen(torch.float32, words)),
            *self._known(state),
        )

    def _known(self, state: State) -> tuple[Addresses, Known, Known]:
        """Return what is attended to besides the words so far: the same at each step, until sentences come or go."""
        first = state.fixed["source.0.keys"]
        if self._last is None or self._last[0] is not first:
            places = [(of, i) for i in range(len(self._parts)) for of in self._attended]
            given = [each.contiguous() for place in places for each in state.known(*place)[:2]]
            known = [
                _told(given, n, len(self._attended), state.fixed[f"{of}.mask"]) for n, of in enumerate(self._attended)
            ]
            addresses = np.zeros((len(self._parts), 4), np.int64)
            addresses[:, : 2 * len(known)] = _addresses(given, 2 * len(known))
            self._last = first, given, addresses, known[0], known[1] if len(known) > 1 else _NO_CONTEXT
        return self._last[2:]


class _Ends:
    """What precedes the layers in a step, and what follows them."""

    def __init__(self, backbone: Transformer) -> None:
        embedding, norm, output = backbone.target_embedding, backbone.decoder_norm, cast("nn.Module", backbone.output)
        assert isinstance(embedding, KernelEmbedding)
        assert isinstance(output, Int8Linear)
        self._words: Final = embedding.table, np.float32(math.sqrt(backbone.config.width)), backbone.positions.numpy()
        closing: Norm = norm.arrays if isinstance(norm, Int8Norm) else (_NONE, _NONE, np.float32(0))
        self.arrays: Final = closing, output.arrays
        self.vocabulary: Final = output.out_features

    def words(self, tokens: Tensor, state: State) -> tuple[Any, ...]:
        """Return the last tokens (R,) and what embeds them."""
        places = state.places(1)
        where = np.array([[places.start]]) if isinstance(places, slice) else places.numpy()
        return tokens.numpy().reshape(-1, 1), *self._words, where


def whole_step(model: TranslationModel) -> WholeStep | None:
    """Return the step of an int8 model, or None where a layer is more than its known sub-layers."""
    if not _steps_plainly(model.architecture):
        return None
    contexts = list(model.architecture.decoder) if isinstance(model.architecture, DocTransformer) else []
    gated = all(isinstance(each, Int8ContextAttention) for each in contexts)
    return WholeStep(model, cast("list[Int8ContextAttention]", contexts)) if gated else None


def _drawn(given: tuple[Any, ...], limits: Stretch) -> tuple[int, Chosen]:
    """Return the number of steps taken, and the likeliest tokens with their log-probabilities, (T, R) each."""
    shape = limits.most, len(limits.left)
    tokens, values, taken = np.zeros(shape, np.int64), np.empty(shape, np.float32), np.empty(1, np.int64)
    draw(*given, *_arrays(limits), np.array(limits.left, np.int64), limits.enough, tokens, values, taken)
    steps = int(taken[0])
    found = torch.from_numpy(tokens[:steps]), torch.from_numpy(values[:steps])
    return steps, Chosen(found, found[0][-1], found[1][-1])


def _spread(given: tuple[Any, ...], totals: NDArray[np.float32], limits: Stretch) -> tuple[int, Chosen]:
    """Return the number of steps taken, and what they found, (T, 3, B, 2N); `totals` (B, N) are overwritten."""
    sentences, size = totals.shape
    found, taken = np.empty((limits.most, 3, sentences, 2 * size), np.int32), np.empty(1, np.int64)
    rows = np.empty(sentences * size, np.int64)
    counts = (np.array(each, np.int64) for each in (limits.left, limits.missing))
    spread(*given, *_arrays(limits), *counts, limits.enough, totals, rows, found, taken)
    steps = int(taken[0])
    looked_at = torch.from_numpy(found[:steps])
    tokens = looked_at[-1, 2, :, size:].flatten().long()
    return steps, Chosen((looked_at,), tokens, torch.from_numpy(totals), torch.from_numpy(rows))


def _arrays(limits: Stretch) -> tuple[Addresses, Addresses]:
    return np.array(limits.early, np.int64), np.array(limits.forbidden, np.int64).reshape(-1, 2)


def _steps_plainly(architecture: Architecture) -> bool:
    """Whether its decoder layers are the backbone's, apart from context sub-layers known here."""
    kind = type(architecture)
    attends = (Architecture.source_attention, DocTransformer.source_attention)
    return kind.decoder_self_attention is Architecture.decoder_self_attention and kind.source_attention in attends


def _ends_plainly(architecture: Architecture) -> bool:
    """Whether it embeds words and reads the last layer as the backbone does."""
    kind = type(architecture)
    return kind.embed_target is Architecture.embed_target and kind.decoder_output is Architecture.decoder_output


def _parts(layer: DecoderLayer, contexts: Sequence[Int8ContextAttention]) -> _Parts:
    """Return linear layers and norms of a decoder layer, in the order of `steps.decode_layers`."""
    own, source, fed = layer.self_attention, layer.source_attention, layer.feed_forward
    linears: list[Any] = [own.joined, own.output, source.query, source.output, fed.inner, fed.outer]
    norms: list[Any] = [layer.self_residual.norm, layer.source_residual.norm, layer.feed_residual.norm]
    for each in contexts:
        assert each.gate is not None
        linears += [each.attention.query, each.attention.output, each.gate.sentence, each.gate.context]
        norms.append(each.norm)
    assert all(isinstance(linear, Int8Linear) for linear in linears)
    return [linear.arrays for linear in linears], norms


def _table(linears: Sequence[Arrays], norms: Sequence[Int8Norm]) -> list[int]:
    """Return the addresses of their arrays; 0 for those of an absent context."""
    of_linears = [array.ctypes.data for arrays in linears for array in arrays[:4]]
    of_norms = [array.ctypes.data for norm in norms for array in norm.arrays[:2]]
    return [*of_linears, *[0] * (4 * (LINEARS - len(linears))), *of_norms, *[0] * (2 * (4 - len(norms)))]


def _shape(arrays: Arrays) -> tuple[int, int, int]:
    panels, *_, outputs = arrays
    return panels.shape[0], panels.shape[1], outputs


def _told(given: Sequence[Tensor], kind: int, kinds: int, mask: Tensor) -> Known:
    """Return shape and mask of one of the kinds of keys and values, which alternate within each layer of `given`."""
    (shape,) = {each.shape for n, each in enumerate(given) if n // 2 % kinds == kind}
    return cast("tuple[int, ...]", tuple(shape)), np.ascontiguousarray(seen(mask))


def _addresses(tensors: Sequence[Tensor], columns: int) -> Addresses:
    return np.array([tensor.data_ptr() for tensor in tensors]).reshape(-1, columns)
