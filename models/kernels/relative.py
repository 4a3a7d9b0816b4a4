"""Attention with relative positions; as in `kernels.attention`, a result depends on nothing else in its batch.

The score of a key at distance d from query q is ((q + u) k + (q + v) p_d + m) / sqrt(D/H), as in
`network.transformer_xl`, where only keys of the memory have m. The keys are those of the memory, which the hypotheses
of a sentence share, followed by those of the words so far.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Numba compiles has the types that it is called with

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from models.kernels.attention import flat, go_on, softmax_numerators
from models.kernels.compiled import compiled, inlined
from models.kernels.floats import KEYS, mix, score


@dataclass(frozen=True, slots=True)
class Distances:
    """A model's parameters for distances, all float32 and contiguous."""

    table: Tensor
    """(distances, H, D/H): p_d from d = 0 on, one for each key."""
    content_bias: Tensor
    """(H, D/H): u."""
    position_bias: Tensor
    """(H, D/H): v."""
    memory_bias: Tensor
    """(H,): m."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The words of the sentences before, padded on the left."""

    keys: Tensor
    """(B, H, M, D/H), float32."""
    values: Tensor
    """(B, H, M, D/H), float32."""
    real: Tensor
    """(B, M), true where there is a word."""


def attend_relative(
    queries: Tensor, keys: Tensor, values: Tensor, starts: Tensor, distances: Distances, memory: Remembered | None
) -> Tensor:
    """Compute the attention of the last T words to themselves, to the words before them, and to the memory.

    Args:
        queries: (R, H, T, D/H), float32, as all floats here.
        keys: (R, H, L, D/H), of all words so far.
        values: like the keys.
        starts: (R,) the position of each hypothesis's first word.
        distances: the parameters for distances.
        memory: of R or fewer sentences.

    Returns:
        (R, T, H, D/H).
    """
    rows, heads, words, width = queries.shape
    result = np.empty((rows, words, heads, width), np.float32)
    if memory is None:
        nothing = queries.new_empty(1, heads, 0, width)
        before = Remembered(nothing, nothing, queries.new_empty(1, 0).bool())
    else:
        before = memory
    _kernel(
        *flat(queries),
        *flat(keys),
        *flat(values),
        starts.contiguous().numpy(),
        before.keys.contiguous().numpy(),
        before.values.contiguous().numpy(),
        before.real.contiguous().numpy(),
        distances.table.numpy(),
        distances.content_bias.numpy(),
        distances.position_bias.numpy(),
        distances.memory_bias.numpy(),
        keys.size(2),
        result,
    )
    return torch.from_numpy(result)


def _attend_relative(
    queries,
    to_query,
    keys,
    to_key,
    values,
    to_value,
    starts,
    old_keys,
    old_values,
    real,
    table,
    content_bias,
    position_bias,
    memory_bias,
    total,
    result,
):
    rows, words, heads, width = result.shape
    sentences, remembered = real.shape
    room = remembered + total + KEYS
    weights, by_place = np.empty(room, np.float32), np.empty(room, np.float32)
    old_at, key_at = np.empty(room, np.int64), np.empty(room, np.int64)
    value_at, apart = np.empty(room, np.int64), np.empty(room, np.int64)
    of_content, of_position = np.empty(width, np.float32), np.empty(width, np.float32)
    recalled, scale = np.empty(width, np.float32), np.float32(width**-0.5)
    for r in range(rows):
        b, first = r // (rows // sentences), starts[r]
        for t in range(words):
            place = total - words + t
            own = place + 1 - first
            old = _find_old(real[b], place - first, old_at, width, apart, heads * width)
            for j in range(own):
                key_at[j] = r * to_key[0] + (first + j) * to_key[2]
                value_at[j] = r * to_value[0] + (first + j) * to_value[2]
                apart[old + j] = (own - 1 - j) * heads * width
            go_on(key_at, own, KEYS)
            go_on(apart, old + own, KEYS)
            for h in range(heads):
                query = queries[r * to_query[0] + h * to_query[1] + t * to_query[2] :]
                for i in range(width):
                    of_content[i] = query[i] + content_bias[h, i]
                    of_position[i] = query[i] + position_bias[h, i]
                if old:
                    score(of_content, old_keys[b, h].reshape(-1), old_at, old, width, weights)
                score(of_content, keys[h * to_key[1] :], key_at, own, width, weights[old:])
                score(of_position, table.reshape(-1)[h * width :], apart, old + own, width, by_place)
                _add(weights, by_place, old + own, old, memory_bias[h])
                share = softmax_numerators(weights, old + own, scale)
                mix(weights[old:], share, values[h * to_value[1] :], value_at, own, width, result[r, t, h])
                if old:
                    mix(weights, share, old_values[b, h].reshape(-1), old_at, old, width, recalled)
                    for i in range(width):
                        result[r, t, h, i] += recalled[i]


@inlined
def _find_old(real, place, at, width, apart, to_distance):
    """Find the offsets of a memory's words and their distances from a place in the sentence; return their number."""
    count = 0
    for m in range(len(real)):
        if real[m]:
            at[count] = m * width
            apart[count] = (place + len(real) - m) * to_distance
            count += 1
    go_on(at, count, KEYS)
    return count


@inlined
def _add(scores, by_place, count, old, memory_bias):
    """Add the scores of position to those of content, and the memory's bias to the scores of the memory."""
    for s in range(count):
        scores[s] += by_place[s]
    for s in range(old):
        scores[s] += memory_bias


_kernel: Final = compiled(_attend_relative)
