"""Attention over the sentences of a block (`network.segment_attention`), with fixed sums as in `kernels.attention`."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
import torch
from torch import Tensor

from models.kernels.attention import go_on, softmax_numerators
from models.kernels.compiled import compiled, inlined
from models.kernels.floats import QUERIES, mix_several
from models.kernels.reductions import total
from models.kernels.turned import TURNED, score_turned, turn
from models.kernels.views import copy, tail


def attend_segments(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, rows: Tensor, tables: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Compute the attention of N sentences of each of G blocks to the K sentences of the block.

    Args:
        queries: (G, N, S, H, D/H), float32.
        keys: (G, K, H, M, D/H), float32.
        values: like the keys.
        mask: (G, N, K, M), true where a key is visible.
        rows: (G, N, K), the rows of the tables for the distances from query to key.
        tables: what is added to keys and to values, (distances, D/H) each, if anything is.

    Returns:
        (G, N, S, H, D/H); zero where no key is visible.
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
    room, near = sentences * length + TURNED, sentences + TURNED
    own, mixed = np.zeros(QUERIES * width, np.float32), np.empty(QUERIES * width, np.float32)
    at, begins, table_at = np.empty(room, np.int64), np.empty(sentences + 1, np.int64), np.empty(near, np.int64)
    weights, by_distance = np.empty(QUERIES * room, np.float32), np.empty(QUERIES * near, np.float32)
    added, shares = np.empty(QUERIES * width, np.float32), np.empty(QUERIES, np.float32)
    turned, by_rows = np.empty(room * width, np.float32), np.empty(near * width, np.float32)
    rooms = weights, by_distance, added, shares
    for g in range(blocks):
        for n in range(members):
            count = _find(mask[g, n], heads * length * width, width, at, begins)
            for k in range(near):
                table_at[k] = rows[g, n, min(k, sentences - 1)] * width
            if of_keys.size:
                turn(of_keys, table_at, sentences, width, by_rows)
            for h in range(heads if count else 0):
                first = (g * sentences * heads + h) * length * width
                known = turned, by_rows, tail(values, first), at, begins
                turn(tail(keys, first), at, count, width, turned)
                for s in range(0, words, QUERIES):
                    together = min(QUERIES, words - s)  # missing queries hold leftovers of earlier ones
                    for q in range(together):
                        copy(queries[g, n, s + q, h], width, tail(own, q * width))
                    _attend(own, known, (of_keys, of_values, table_at), rooms, mixed)
                    for q in range(together):
                        copy(tail(mixed, q * width), width, result[g, n, s + q, h])


@inlined
def _attend(queries, known, tables, rooms, mixed):
    """Compute the attention of `QUERIES` queries, reading each key once."""
    turned, by_rows, values, at, begins = known
    of_keys, of_values, table_at = tables
    weights, by_distance, added, shares = rooms
    sentences, width = len(begins) - 1, len(mixed) // QUERIES
    count, room, near = begins[sentences], len(weights) // QUERIES, len(table_at)
    score_turned(queries, width, turned, count, width, weights, room)
    if of_keys.size:
        score_turned(queries, width, by_rows, sentences, width, by_distance, near)
    for q in range(QUERIES):
        if of_keys.size:
            _add(tail(by_distance, q * near), begins, tail(weights, q * room))
        shares[q] = softmax_numerators(tail(weights, q * room), count, np.float32(width**-0.5))
    mix_several(weights, room, shares, values, at, count, width, mixed, width, values, at)
    if of_values.size:
        for q in range(QUERIES):
            _sum(tail(weights, q * room), begins, tail(by_distance, q * near))
        mix_several(by_distance, near, shares, of_values, table_at, sentences, width, added, width, of_values, table_at)
        for i in range(QUERIES * width):
            mixed[i] += added[i]


@inlined
def _add(by_sentence, begins, weights):
    """Add a number per sentence to the weights of its keys."""
    for k in range(len(begins) - 1):
        for i in range(begins[k], begins[k + 1]):
            weights[i] += by_sentence[k]


@inlined
def _sum(weights, begins, by_sentence):
    """Sum the weights of each sentence."""
    for k in range(len(begins) - 1):
        by_sentence[k] = total(tail(weights, begins[k]), begins[k + 1] - begins[k])


@inlined
def _find(mask, to_sentence, width, at, begins):
    """Find the offsets of visible keys, and each sentence's first one; return the number of visible keys."""
    count = 0
    for k in range(mask.shape[0]):
        begins[k] = count
        for m in range(mask.shape[1]):
            if mask[k, m]:
                at[count] = k * to_sentence + m * width
                count += 1
    begins[mask.shape[0]] = count
    go_on(at, count, TURNED)
    return count


_kernel: Final = compiled(_attend_segments)
