"""Attention on a CPU whose result for a row is the same to the bit, whatever else is in its batch.

Matrix products add in an order that depends on their shapes, so padding changes a result by a millionth; where the
next layer rounds to 8 bits, that is now and then another integer. Here every sum has a fixed order: over the width of a
head, and over the visible keys only. For one query, as in decoding, this is also faster.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202, PLR0913, PLR0917 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.kernels.compiled import compiled, inlined, part
from models.kernels.exponentials import exponentials
from models.kernels.floats import KEYS, QUERIES, mix_and_fetch, mix_several, score_and_fetch, score_several
from models.kernels.reductions import largest, total
from models.kernels.turned import TURNED, score_turned, turn
from models.kernels.views import tail

HIDDEN: Final = -1e30
"""A key is hidden if less than this is added to its score."""

ALL_SEEN: Final[NDArray[np.float32]] = np.empty((0, 0), np.float32)
"""Passed in place of a mask if every key is visible."""
_WORTH_TURNING: Final = 16
"""From so many queries on, keys are turned first, which takes as long as to score them for a few; a beam has fewer."""
_IN_PLACE: Final = np.empty((0, 0), np.int64)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool, columns: Tensor | None = None
) -> Tensor:
    """Compute multi-head attention, softmax(q k / sqrt(D/H)) v.

    Args:
        queries: (B, H, N, D/H), float32; queries, keys and values may have any layout with a contiguous last dimension.
        keys: (B, H, S, D/H), float32 or bits of float16; with `columns`, any number of columns in place of B.
        values: like the keys.
        mask: (B, 1, 1, S), added to the scores: zero, or less than `HIDDEN`.
        causal: whether each query sees one key less than the next one, and the last query sees all.
        columns: (B, S or more), contiguous: the column of each of a row's keys and values; by default the row itself.

    Returns:
        (B, N, H, D/H).
    """
    batch, heads, count, width = queries.shape
    result = queries.new_empty(batch, count, heads, width)
    hidden = ALL_SEEN if mask is None else mask.reshape(batch, -1).numpy()
    first = keys.size(2) - count + 1 if causal else keys.size(2)
    where = _IN_PLACE if columns is None else columns.numpy()
    _kernel(*flat(queries), *flat(keys), *flat(values), where, hidden, result.numpy(), keys.size(2), first)
    return result


def flat(tensor: Tensor) -> tuple[NDArray[np.float32], tuple[int, int, int]]:
    """Return a flat view of the memory from the first element on, and the strides of batch, head and place."""
    (batch, heads, places, width), (to_row, to_head, to_place, _) = tensor.shape, tensor.stride()
    length = (batch - 1) * to_row + (heads - 1) * to_head + (places - 1) * to_place + width
    return tensor.as_strided((length,), (1,)).numpy(), (to_row, to_head, to_place)


@part
def attend_rows(queries, to_query, keys, to_key, values, to_value, columns, hidden, result, length, first):
    """Compute the attention of queries to the first `length` keys, given tensors as by `flat`; the rest as in `attend`.

    The first query sees the keys before `first`, each further query one key more. `result` is (B, N, H, D/H).
    """
    batch, count, heads, width = result.shape
    several = count // QUERIES * QUERIES if first >= length else 0
    turning = several >= _WORTH_TURNING
    more = TURNED if turning else KEYS
    room = length + more
    turned = np.empty(room * width if turning else 0, np.float32)
    weights, shares = np.empty(QUERIES * room, np.float32), np.empty(QUERIES, np.float32)
    scale = np.float32(width**-0.5)
    seen, key_at, value_at = np.empty(length, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    for b in range(batch):
        visible = _see(hidden, b, length, seen)
        _locate(columns, b, seen, visible, to_key, key_at)
        _locate(columns, b, seen, visible, to_value, value_at)
        go_on(key_at, visible, more)
        go_on(value_at, visible, more)
        for h in range(heads):
            own_keys, own_values = tail(keys, h * to_key[1]), tail(values, h * to_value[1])
            next_keys = tail(keys, min(h + 1, heads - 1) * to_key[1])
            own_queries = tail(queries, b * to_query[0] + h * to_query[1])
            own_mixed, wide = tail(result, (b * count * heads + h) * width), heads * width
            if turning:
                turn(own_keys, key_at, visible, width, turned)
            for n in range(0, several, QUERIES):
                own = tail(own_queries, n * to_query[2])
                if turning:
                    score_turned(own, to_query[2], turned, visible, width, weights, room)
                else:
                    score_several(
                        own, to_query[2], own_keys, key_at, visible, width, weights, room, own_values, value_at
                    )
                for q in range(QUERIES):
                    shares[q] = softmax_numerators(tail(weights, q * room), visible, scale)
                to = tail(own_mixed, n * wide)
                mix_several(weights, room, shares, own_values, value_at, visible, width, to, wide, next_keys, key_at)
            for n in range(several, count):
                read = visible
                while read > 1 and seen[read - 1] >= first + n:
                    read -= 1
                own = tail(own_queries, n * to_query[2])
                score_and_fetch(own, own_keys, key_at, read, width, weights, own_values, value_at)
                share = softmax_numerators(weights, read, scale)
                to = tail(own_mixed, n * wide)
                mix_and_fetch(weights, share, own_values, value_at, read, width, to, next_keys, key_at)


@inlined
def _see(hidden, b, length, seen):
    """Find the keys that a row sees; if it sees none, take the first, since its result is never used."""
    visible = 0
    for s in range(length):
        if hidden.size == 0 or hidden[b, s] > HIDDEN:
            seen[visible] = s
            visible += 1
    if visible == 0:
        seen[0] = 0
        visible = 1
    return visible


@inlined
def _locate(columns, b, seen, visible, strides, at):
    """Find the offsets of the keys, or values, that a row sees."""
    for s in range(visible):
        column = columns[b, seen[s]] if columns.size else b
        at[s] = column * strides[0] + seen[s] * strides[2]


@inlined
def go_on(at, count, more):
    """Repeat the last key beyond the end: several are scored at once, but only the first `count` are used."""
    for s in range(count, count + more if count else 0):
        at[s] = at[count - 1]


@inlined
def softmax_numerators(scores, count, scale):
    """Replace each of `count` scores by e^(scale (score - max)); return one over their sum."""
    exponentials(scores, count, largest(scores, count), scale)
    return np.float32(1) / total(scores, count)


def _attend(queries, to_query, keys, to_key, values, to_value, columns, hidden, result, length, first):
    attend_rows(queries, to_query, keys, to_key, values, to_value, columns, hidden, result, length, first)


_kernel: Final = compiled(_attend)
