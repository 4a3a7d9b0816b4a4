"""Attention over the sentences of a block (`network.segment_attention`), by the rules of `kernels.attention`."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
import torch
from torch import Tensor

from models.kernels.attention import soften
from models.kernels.compiled import compiled, inlined
from models.kernels.floats import KEYS, mix, score


def attend_segments(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, rows: Tensor, tables: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Attention of N sentences of each of G blocks to its K sentences.

    Args:
        queries: (G, N, S, H, D/H), float32.
        keys: (G, K, H, M, D/H), float32.
        values: as the keys.
        mask: (G, N, K, M), true where a key may be seen.
        rows: (G, N, K), where in the tables the distance from query to key is.
        tables: what is added to keys and to values, (distances, D/H) each, if anything is.

    Returns:
        (G, N, S, H, D/H); nought, where nothing may be seen.
    """
    nothing = queries.new_empty(0, queries.size(-1))
    of_keys, of_values = tables or (nothing, nothing)
    result = np.zeros(queries.shape, np.float32)
    given = (queries, keys, values, mask, rows, of_keys, of_values)
    _kernel(*(each.contiguous().numpy() for each in given), result)
    return torch.from_numpy(result)


def _attend_segments(queries, keys, values, mask, rows, of_keys, of_values, result):
    blocks, members, words, heads, width = result.shape
    sentences, length = keys.shape[1], keys.shape[3]
    room = sentences * length + KEYS
    weights = np.empty(room, np.float32)
    at, sentence, table_at = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(sentences + KEYS, np.int64)
    by_distance, added = np.empty(sentences + KEYS, np.float32), np.empty(width, np.float32)
    scale = np.float32(width**-0.5)
    for g in range(blocks):
        own_keys, own_values = keys[g].reshape(-1), values[g].reshape(-1)
        for n in range(members):
            count = _find(mask[g, n], heads * length * width, width, at, sentence)
            for k in range(sentences + KEYS):
                table_at[k] = rows[g, n, min(k, sentences - 1)] * width
            for s in range(words if count else 0):
                for h in range(heads):
                    query, first = queries[g, n, s, h], h * length * width
                    score(query, own_keys[first:], at, count, width, weights)
                    if of_keys.size:
                        score(query, of_keys.reshape(-1), table_at, sentences, width, by_distance)
                        _add(by_distance, sentence, weights, count)
                    share = soften(weights, count, scale)
                    mix(weights, share, own_values[first:], at, count, width, result[g, n, s, h])
                    if of_values.size:
                        _sum(weights, sentence, by_distance, count)
                        mix(by_distance, share, of_values.reshape(-1), table_at, sentences, width, added)
                        result[g, n, s, h] += added


@inlined
def _add(by_sentence, sentence, weights, count):
    for i in range(count):
        weights[i] += by_sentence[sentence[i]]


@inlined
def _sum(weights, sentence, by_sentence, count):
    by_sentence[:] = 0
    for i in range(count):
        by_sentence[sentence[i]] += weights[i]


@inlined
def _find(mask, to_sentence, width, at, sentence):
    """Where the keys are that may be seen, and in which sentence; gives how many there are."""
    count = 0
    for k in range(mask.shape[0]):
        for m in range(mask.shape[1]):
            if mask[k, m]:
                at[count] = k * to_sentence + m * width
                sentence[count] = k
                count += 1
    for i in range(count, count + KEYS if count else 0):
        at[i] = at[count - 1]
    return count


_kernel: Final = compiled(_attend_segments)
