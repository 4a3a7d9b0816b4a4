"""All layers of a decoder for one more word a row, in one call: for few rows, going from call to call takes longer.

It gives what the sub-layers give one by one, to the bit: they are the same functions. Arrays of all layers come as
tables of where they begin, so that a decoder of any depth is the same code; whoever makes a table keeps the arrays.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from models.kernels.compiled import compiled, part
from models.kernels.dots import FOUR, lanes
from models.kernels.machine import VNNI
from models.kernels.norms import rows_of
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


def _decode_layers(
    x, tables, shapes, kind, past, past_shape, position, columns, unseen, fixed, source, context, result
):
    """What the last layer gives for one more word each, x (R, 1, D).

    Args:
        x: (R, 1, D).
        tables: (L, 4 LINEARS + 8), of each layer where the four arrays of its linear layers begin, in their order
            above, and the weights and biases of its norms; what belongs to a context is not read where there is none.
        shapes: (LINEARS, 3) of linear layers: panels, a fourth of a panel's inputs, and outputs.
        kind: where norms stand, what is added to a variance, the activation, and the number of heads.
        past: (L, 2), where keys and values of the words so far begin, of `past_shape` (room, columns, D).
        past_shape: as above.
        position: as columns and unseen like in `sublayers.attend_past`.
        columns: as there.
        unseen: as there.
        fixed: (L, 4), where keys and values of the source, and of the context, begin.
        source: their shape (B, H, S, W), and what is added to scores, (B, S) or nothing.
        context: the same; of no words, if there is none.
        result: (R, 1, D).
    """
    order, epsilon, activation, heads = kind
    source_shape, source_hidden = source
    context_shape, context_hidden = context
    here, there, width, nothing = rows_of(x).copy(), rows_of(result), x.shape[-1], np.empty((0, 0), np.bool_)
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
    last = rows_of(result)
    for r in range(len(last)):
        copy(here[r], width, last[r])


decode_layers: Final = compiled(_decode_layers)
