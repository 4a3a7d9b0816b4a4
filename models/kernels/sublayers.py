"""Sub-layers as one function each: for few rows, torch and Python spend longer between operations than on computing.

Each returns the same bits as its operations one by one: products as in `products`, attention by the same code.
Sub-layers that read whole sentences skip padding if they are given it (see `padding`); where sentences differ in
length, that is most of a batch. `real` is a mask (B, S), and the result is zero where it is false.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np

from models.kernels.activations import NONE, sigmoid_rows
from models.kernels.attention import attend_rows
from models.kernels.compiled import compiled, inlined, part
from models.kernels.floats import halve
from models.kernels.norms import PRE, close, enter, leave, rows_of
from models.kernels.padding import find, gather, room, scatter
from models.kernels.products import block, product
from models.kernels.views import clear, tail

_TOGETHER: Final = 256
"""Words of sentences that attend to themselves together, or those of one sentence if it has more."""


def _feed_forward(x, real, inner, outer, activation, frame, result):
    """W_2 f(W_1 x + b_1) + b_2 for vectors (..., D), where f is one of `activations`."""
    _, places = find(real)
    rows = gather(rows_of(x), places)
    left, size = room(rows_of(result), places), block(inner)
    hidden = np.empty((min(len(rows), size), inner[-1]), np.float32)
    for top in range(0, len(rows), size):
        some, to = rows[top : top + size], left[top : top + size]
        product(enter(some, frame), inner, hidden[: len(some)], NONE)
        product(hidden[: len(some)], outer, to, activation)
        leave(some, frame, to)
    scatter(left, places, rows_of(result))


def _keys_values(memory, real, layer, keys, values):
    """Keys and values (B, H, S, W) of vectors (B, S, D), as bits of float16; zero where there is padding."""
    _, heads, words, width = keys.shape
    _, places = find(real)
    rows = gather(rows_of(memory), places)
    if len(places):
        _clear_padding(real, keys)
        _clear_padding(real, values)
    size = block(layer)
    projected = np.empty((min(len(rows), size), 2 * heads * width), np.float32)
    for top in range(0, len(rows), size):
        some = projected[: min(size, len(rows) - top)]
        product(rows[top : top + size], layer, some, NONE)
        for r in range(len(some)):
            b, s = divmod(places[top + r] if len(places) else top + r, words)
            for h in range(heads):
                key, to = (2 * r * heads + h) * width, ((b * heads + h) * words + s) * width
                halve(tail(some, key), width, tail(keys, to))
                halve(tail(some, key + heads * width), width, tail(values, to))


@part
def _clear_padding(real, known):
    sentences, heads, words, width = known.shape
    for b in range(sentences):
        for h in range(heads):
            for s in range(words):
                if not real[b, s]:
                    clear(tail(known, ((b * heads + h) * words + s) * width), width)


def _attend_fixed(x, query, output, keys, values, hidden, frame, result):
    """Attention of vectors (R, T, D) to keys and values (B, H, S, W), as bits of float16; R is a multiple of B."""
    rows, left = rows_of(x), rows_of(result)
    _look_up(enter(rows, frame), np.empty(0, np.int64), query, output, keys, values, hidden, left)
    leave(rows, frame, left)


@part
def _look_up(x, counts, query, output, keys, values, hidden, result):
    """Attention of rows to their sentence's keys: `counts` rows for each sentence, or equally many if it is empty."""
    sentences, heads, total, width = keys.shape
    inner = heads * width
    queries, mixed = np.empty((len(x), inner), np.float32), np.empty((len(x), inner), np.float32)
    product(x, query, queries, NONE)
    strides, nowhere = (heads * total * width, total * width, width), np.empty((0, 0), np.int64)
    first = 0
    for b in range(len(counts) or 1):
        some, count = (slice(b, b + 1), counts[b]) if len(counts) else (slice(0, sentences), len(x) // sentences)
        attend_rows(
            queries[first:].reshape(-1),
            (count * inner, width, inner),
            keys[some].reshape(-1),
            strides,
            values[some].reshape(-1),
            strides,
            nowhere,
            hidden[some],
            mixed[first : first + len(keys[some]) * count].reshape(-1, count, heads, width),
            total,
            total,
        )
        first += count
    product(mixed, output, result, NONE)


def _attend_itself(x, joined, output, heads, real, frame, result):
    """Self-attention of sentences (B, S, D), each to its own words; as many at once as stay in the cache."""
    sentences, words, _ = x.shape
    counts, places = find(real)
    rows, left, inner = gather(rows_of(x), places), room(rows_of(result), places), joined[-1] // 3
    most = min(len(rows), max(words, _TOGETHER))
    projected, mixed = np.empty((most, 3 * inner), np.float32), np.empty((most, inner), np.float32)
    first = b = 0
    while first < len(rows):
        before, count = b, 0
        while b < sentences and count + _words(counts, b, words) <= most:
            count += _words(counts, b, words)
            b += 1
        some, to = rows[first : first + count], left[first : first + count]
        product(enter(some, frame), joined, projected[:count], NONE)
        _attend_sentences(projected, counts[before:b] if len(counts) else np.full(b - before, words), heads, mixed)
        product(mixed[:count], output, to, NONE)
        leave(some, frame, to)
        first += count
    scatter(left, places, rows_of(result))


@inlined
def _words(counts, b, words):
    return counts[b] if len(counts) else words


@part
def _attend_sentences(projected, counts, heads, result):
    """Attention within sentences, given queries, keys and values (R, 3 x D) of their `counts` words, side by side."""
    inner = result.shape[1]
    strides, nowhere = (0, inner // heads, 3 * inner), np.empty((0, 0), np.int64)
    first = 0
    for count in counts:
        if count == 0:  # `attend_rows` needs at least one key
            continue
        flat = projected[first : first + count].reshape(-1)
        attend_rows(
            flat,
            strides,
            flat[inner:],
            strides,
            flat[2 * inner :],
            strides,
            nowhere,
            np.empty((0, 0), np.float32),
            result[first : first + count].reshape(1, count, heads, inner // heads),
            count,
            count,
        )
        first += count


def _attend_past(x, joined, output, heads, past, position, columns, hidden, frame, result):
    """Self-attention of one more word (R, 1, D), added to `past`: twice (room, columns, D), as bits of float16."""
    keys, values = past
    rows, left, inner = rows_of(x), rows_of(result), keys.shape[2]
    width = inner // heads
    projected, mixed = np.empty((len(rows), 3 * inner), np.float32), np.empty((len(rows), inner), np.float32)
    product(enter(rows, frame), joined, projected, NONE)
    for r in range(len(rows)):
        key, to = (3 * r + 1) * inner, (position * keys.shape[1] + r) * inner
        halve(tail(projected, key), inner, tail(keys, to))
        halve(tail(projected, key + inner), inner, tail(values, to))
    strides = (inner, width, keys.shape[1] * inner)
    attend_rows(
        projected.reshape(-1),
        (3 * inner, width, inner),
        keys.reshape(-1),
        strides,
        values.reshape(-1),
        strides,
        columns,
        hidden,
        mixed.reshape(len(rows), 1, heads, width),
        position + 1,
        position + 1,
    )
    product(mixed, output, left, NONE)
    leave(rows, frame, left)


def _let_context_in(x, real, query, output, keys, values, hidden, of_x, of_y, frame, result):
    """Mix attention y into vectors x (R, T, D): x + (1 - g) y, or the norm of g x + (1 - g) y without a norm before."""
    counts, places = find(real)
    rows = gather(rows_of(x), places)
    read, left = enter(rows, frame), room(rows_of(result), places)
    gate = np.empty(rows.shape, np.float32)
    _look_up(read, counts, query, output, keys, values, hidden, left)
    _open(read, left, of_x, of_y, gate)
    one = np.float32(1)
    for r in range(len(rows)):
        for i in range(rows.shape[1]):
            own = rows[r, i] if frame[0] == PRE else gate[r, i] * rows[r, i]
            left[r, i] = own + (one - gate[r, i]) * left[r, i]
    close(frame, left)
    scatter(left, places, rows_of(result))


def _open_gate(x, y, of_x, of_y, result):
    _open(rows_of(x), rows_of(y), of_x, of_y, rows_of(result))


@part
def _open(x, y, of_x, of_y, result):
    """sigmoid(W_x x + W_y y) for rows (R, D)."""
    other = np.empty(result.shape, np.float32)
    product(x, of_x, result, NONE)
    product(y, of_y, other, NONE)
    for r in range(len(result)):
        for i in range(result.shape[1]):
            result[r, i] += other[r, i]
    sigmoid_rows(result)


feed_forward: Final = compiled(_feed_forward)
keys_values: Final = compiled(_keys_values)
attend_fixed: Final = compiled(_attend_fixed)
attend_itself: Final = compiled(_attend_itself)
attend_past: Final = compiled(_attend_past)
let_context_in: Final = compiled(_let_context_in)
open_gate: Final = compiled(_open_gate)

feed_forward_part: Final = part(_feed_forward)
"""This and the following are for functions that are compiled themselves (`steps`)."""
attend_fixed_part: Final = part(_attend_fixed)
attend_past_part: Final = part(_attend_past)
let_context_in_part: Final = part(_let_context_in)
