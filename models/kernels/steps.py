"""A decoder's step for one more word per row, in one call: for few rows, calls take longer than computing.

It returns the same bits as its parts one by one, since they are the same functions. The arrays of all layers are passed
as tables of addresses, so that the same code serves a decoder of any depth; whoever makes a table keeps the arrays.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202 - what Numba compiles has the types that it is called with

from typing import Final, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from models.kernels.activations import NONE
from models.kernels.compiled import compiled, inlined, part
from models.kernels.dots import FOUR, lanes
from models.kernels.embeddings import embed_part
from models.kernels.machine import VNNI
from models.kernels.norms import norm_rows, rows_of
from models.kernels.products import product
from models.kernels.sublayers import attend_fixed_part, attend_past_part, feed_forward_part, let_context_in_part
from models.kernels.views import copy, pointer

LINEARS: Final = 10
"""Linear layers of a decoder layer; the last four belong to its context sub-layer."""
_PLACES: Final = [np.int64(place) for place in range(LINEARS)]
"""NumPy integers: Numba would compile a function again for each Python integer that is passed to it."""
_JOINED, _SELF_OUTPUT, _QUERY, _OUTPUT, _INNER, _OUTER, _CONTEXT_QUERY, _CONTEXT_OUTPUT, _OF_X, _OF_Y = _PLACES
_SELF, _SOURCE, _FEED, _CONTEXT = _PLACES[:4]
"""Norms of a decoder layer."""
_LANES: Final = lanes(vnni=VNNI)

Known = tuple[tuple[int, ...], NDArray[np.float32]]
"""The shape (B, H, S, W) of keys and values, and what is added to their scores, (B, S) or empty."""


class Stack(NamedTuple):
    """All layers of a decoder, and what they read."""

    tables: NDArray[np.int64]
    """(L, 4 LINEARS + 8): for each layer, the addresses of its linear layers' four arrays, in the order above, and of
    the weights and biases of its norms. Those of the context sub-layer are not read if there is no context."""
    shapes: NDArray[np.int64]
    """(LINEARS, 3), for each linear layer: panels, a quarter of a panel's inputs, and outputs."""
    kind: tuple[int, np.float32, int, int]
    """The place of norms (`norms.PRE` or `POST`), the epsilon of variances, the activation, and the number of heads."""
    past: NDArray[np.int64]
    """(L, 2): addresses of the keys and values of the words so far."""
    past_shape: tuple[int, ...]
    """(room, columns, D), the shape of each."""
    position: int
    """This and the next two are as in `sublayers.attend_past`."""
    columns: NDArray[np.int64]
    unseen: NDArray[np.float32]
    fixed: NDArray[np.int64]
    """(L, 4): addresses of the keys and values of the source, then of the context."""
    source: Known
    context: Known
    """Its shape has no words if there is no context."""


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
    """Return the arrays of keys and values, as bits of float16."""
    keys = carray(pointer(addresses[first]), shape, np.int16)
    return keys, carray(pointer(addresses[first + 1]), shape, np.int16)


@part
def _through(here, there, stack):
    """Run all layers on rows `here` (R, D); return `here` or `there`, both of which are overwritten. See `Stack`."""
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
    """Put the last layer's output for one more word each, embedded in x (R, 1, D), in `result` (R, 1, D)."""
    last, rows = _through(rows_of(x).copy(), np.empty((len(x), x.shape[2]), np.float32), stack), rows_of(result)
    for r in range(len(rows)):
        copy(last[r], len(last[r]), rows[r])


@inlined
def score_next(words, stack, closing, output, result):
    """Read one more word per row, and compute the scores of the next one, (R, V).

    Args:
        words: tokens (R, 1), and the other inputs of `embeddings.embed`.
        stack: see `Stack`.
        closing: weight, bias and epsilon of the norm at the end of the decoder; an empty weight if it has none.
        output: the output projection, as for `products.product`.
        result: (R, V).
    """
    tokens, table, scale, positions, places = words
    weight, bias, epsilon = closing
    x = np.empty((len(tokens), 1, table.shape[1]), np.float32)
    embed_part(tokens, table, scale, positions, places, x)
    last = _through(rows_of(x), np.empty((len(x), x.shape[2]), np.float32), stack)
    if len(weight):
        norm_rows(last, weight, bias, epsilon, last)
    product(last, output, result, NONE)


decode_layers: Final = compiled(_decode_layers)
