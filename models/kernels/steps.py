"""A decoder's step for one more word a row, in one call: for few rows, going from call to call takes longer.

It gives what its parts give one by one, to the bit: they are the same functions. Arrays of all layers come as
tables of where they begin, so that a decoder of any depth is the same code; whoever makes a table keeps the arrays.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202 - what Numba compiles has the types that it is called with

from typing import Final, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from models.kernels.compiled import compiled, part
from models.kernels.dots import FOUR, lanes
from models.kernels.embeddings import embed_part
from models.kernels.machine import VNNI
from models.kernels.norms import norm_rows, rows_of
from models.kernels.products import product
from models.kernels.sublayers import attend_fixed_part, attend_past_part, feed_forward_part, let_context_in_part
from models.kernels.views import copy, pointer

LINEARS: Final = 10
"""Linear layers of a decoder layer, of which the last four are those of its context sub-layer."""
_PLACES: Final = [np.int64(place) for place in range(LINEARS)]
"""Not of Python's kind, for each of which Numba would compile what it is given to once more."""
_JOINED, _SELF_OUTPUT, _QUERY, _OUTPUT, _INNER, _OUTER, _CONTEXT_QUERY, _CONTEXT_OUTPUT, _OF_X, _OF_Y = _PLACES
_SELF, _SOURCE, _FEED, _CONTEXT = _PLACES[:4]
"""Norms of a decoder layer."""
_LANES: Final = lanes(vnni=VNNI)

Known = tuple[tuple[int, ...], NDArray[np.float32]]
"""Shape (B, H, S, W) of keys and values, and what is added to scores, (B, S) or nothing."""


class Stack(NamedTuple):
    """All layers of a decoder, and what they read."""

    tables: NDArray[np.int64]
    """(L, 4 LINEARS + 8): of each layer where the four arrays of its linear layers begin, in their order above, and the
    weights and biases of its norms; what belongs to a context is not read where there is none."""
    shapes: NDArray[np.int64]
    """(LINEARS, 3) of linear layers: panels, a fourth of a panel's inputs, and outputs."""
    kind: tuple[int, np.float32, int, int]
    """Where norms stand, what is added to a variance, the activation, and the number of heads."""
    past: NDArray[np.int64]
    """(L, 2): where keys and values of the words so far begin."""
    past_shape: tuple[int, ...]
    """Theirs: (room, columns, D)."""
    position: int
    """Like the two after it as in `sublayers.attend_past`."""
    columns: NDArray[np.int64]
    unseen: NDArray[np.float32]
    fixed: NDArray[np.int64]
    """(L, 4): where keys and values of the source, and of the context, begin."""
    source: Known
    context: Known
    """Of no words, if there is none."""


@part
def _linear(table, shapes, which):
    panels, long, outputs, first = shapes[which, 0], shapes[which, 1], shapes[which, 2], 4 * which
    return (
        carray(pointer(table[first]), (panels, long, _LANES, FOUR), np.int8),
        carray(pointer(table[first + 1]), (panels * _LANES,), np.int32),
        carray(pointer(table[first + 2]), (panels * _LANES,), np.float32),
        carray(pointer(table[first + 3]), (panels * _LANES,), np.float32),
        outputs,
    )


@part
def _frame(table, width, which, order, epsilon):
    first = 4 * LINEARS + 2 * which
    weight = carray(pointer(table[first]), (width,), np.float32)
    return order, weight, carray(pointer(table[first + 1]), (width,), np.float32), epsilon


@part
def _keys_values(addresses, first, shape):
    """Both in the bits of float16."""
    keys = carray(pointer(addresses[first]), shape, np.int16)
    return keys, carray(pointer(addresses[first + 1]), shape, np.int16)


@part
def _through(here, there, stack):
    """What the last layer gives of rows (R, D), in one of these two, both of which are overwritten; see `Stack`."""
    tables, shapes, kind, past, past_shape, position, columns, unseen, fixed, source, context = stack
    order, epsilon, activation, heads = kind
    source_shape, source_hidden = source
    context_shape, context_hidden = context
    width, nothing = here.shape[1], np.empty((0, 0), np.bool_)
    for i in range(len(tables)):
        table = tables[i]
        attend_past_part(
            here,
            _linear(table, shapes, _JOINED),
            _linear(table, shapes, _SELF_OUTPUT),
            heads,
            _keys_values(past[i], 0, past_shape),
            position,
            columns,
            unseen,
            _frame(table, width, _SELF, order, epsilon),
            there,
        )
        here, there = there, here
        if context_shape[2]:
            keys, values = _keys_values(fixed[i], 2, context_shape)
            let_context_in_part(
                here,
                nothing,
                _linear(table, shapes, _CONTEXT_QUERY),
                _linear(table, shapes, _CONTEXT_OUTPUT),
                keys,
                values,
                context_hidden,
                _linear(table, shapes, _OF_X),
                _linear(table, shapes, _OF_Y),
                _frame(table, width, _CONTEXT, order, epsilon),
                there,
            )
            here, there = there, here
        keys, values = _keys_values(fixed[i], 0, source_shape)
        attend_fixed_part(
            here,
            _linear(table, shapes, _QUERY),
            _linear(table, shapes, _OUTPUT),
            keys,
            values,
            source_hidden,
            _frame(table, width, _SOURCE, order, epsilon),
            there,
        )
        feed_forward_part(
            there,
            nothing,
            _linear(table, shapes, _INNER),
            _linear(table, shapes, _OUTER),
            activation,
            _frame(table, width, _FEED, order, epsilon),
            here,
        )
    return here


def _decode_layers(x, stack, result):
    """What the last layer gives for one more word each, (R, 1, D), embedded in x (R, 1, D)."""
    last, rows = _through(rows_of(x).copy(), np.empty((len(x), x.shape[2]), np.float32), stack), rows_of(result)
    for r in range(len(rows)):
        copy(last[r], len(last[r]), rows[r])


def _score_next(words, stack, closing, output, result):
    """Scores of the next word (R, V), after one more each.

    Args:
        words: tokens (R, 1), and what else `embeddings.embed` takes.
        stack: see `Stack`.
        closing: weight and bias of the norm that closes the decoder, and what is added to a variance; no weight, if
            there is no such norm.
        output: the output projection, as of `products.product`.
        result: (R, V).
    """
    tokens, table, scale, positions, places = words
    weight, bias, epsilon = closing
    x = np.empty((len(tokens), 1, table.shape[1]), np.float32)
    embed_part(tokens, table, scale, positions, places, x)
    last = _through(rows_of(x), np.empty((len(x), x.shape[2]), np.float32), stack)
    if len(weight):
        norm_rows(last, weight, bias, epsilon, last)
    product(last, output, result)


decode_layers: Final = compiled(_decode_layers)
score_next: Final = compiled(_score_next)
