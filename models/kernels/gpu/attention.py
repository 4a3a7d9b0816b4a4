"""Attention of one word per row, as in a step of decoding, in one kernel instead of six.

A Transformer's step consists of hundreds of kernels that run for a microsecond or two each, with as long a pause
between two of them, so the number of kernels decides how long a step takes. Here softmax(q k / sqrt(D/H)) v is computed
in one pass over blocks of keys (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"), in float32.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, import-untyped, import-not-found"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Triton compiles has the types that it is called with

from typing import Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from models.kernels.attention import HIDDEN

_WORDS: Final = 32
"""Keys that are read at once."""
_HYPOTHESES: Final = 4
"""Hypotheses of a sentence that read its keys together; with more, a program would run out of registers."""
_TILE: Final = 16
"""The fewest rows and columns that tensor cores multiply; rows without a hypothesis are padding."""


@triton.jit
def _past_kernel(
    queries,
    keys,
    values,
    to_row,
    past_keys,
    past_values,
    to_word,
    columns,
    to_columns,
    here,
    starts,
    mixed,
    scale,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    WORDS: tl.constexpr,
):
    row, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    inside = tl.arange(0, WIDTH)
    real = inside < SIZE
    at = row * to_row + head * SIZE + inside
    query = tl.load(queries + at, real, 0.0).to(tl.float32) * scale
    key = tl.load(keys + at, real, 0.0)
    value = tl.load(values + at, real, 0.0)
    position = tl.load(here)
    own = head * SIZE + inside
    width = heads * SIZE
    new = position.to(tl.int64) * to_word + row * width + own
    tl.store(past_keys + new, key, real)
    tl.store(past_values + new, value, real)
    highest = tl.sum(query * key.to(tl.float32), 0)
    total = highest * 0 + 1.0
    sums = value.to(tl.float32)
    for first in range(tl.load(starts + row).to(tl.int32), position.to(tl.int32), WORDS):
        words = first + tl.arange(0, WORDS)
        there = words < position
        column = tl.load(columns + row * to_columns + words, there, 0)
        places = (words.to(tl.int64) * to_word + column * width)[:, None] + own[None, :]
        known = there[:, None] & real[None, :]
        scores = tl.sum(tl.load(past_keys + places, known, 0.0).to(tl.float32) * query[None, :], 1)
        scores = tl.where(there, scores, -float("inf"))
        above = tl.maximum(highest, tl.max(scores, 0))
        powers, less = tl.exp(scores - above), tl.exp(highest - above)
        found = tl.load(past_values + places, known, 0.0).to(tl.float32)
        sums = sums * less + tl.sum(found * powers[:, None], 0)
        total = total * less + tl.sum(powers, 0)
        highest = above
    tl.store(mixed + row * width + own, (sums / total).to(mixed.dtype.element_ty), real)


@triton.jit
def _scored(query, key, TILES: tl.constexpr):
    if TILES:
        return tl.dot(query, tl.trans(key))
    return tl.sum(query.to(tl.float32)[:, None, :] * key.to(tl.float32)[None, :, :], 2)


@triton.jit
def _summed(powers, value, TILES: tl.constexpr):
    if TILES:
        return tl.dot(powers.to(value.dtype), value)
    return tl.sum(powers[:, :, None] * value.to(tl.float32)[None, :, :], 1)


@triton.jit
def _fixed_kernel(
    queries,
    keys,
    values,
    to_sentence,
    to_head,
    to_word,
    mask,
    to_mask,
    mixed,
    length,
    count,
    scale,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    WORDS: tl.constexpr,
    COUNT: tl.constexpr,
    TILES: tl.constexpr,
    MASKED: tl.constexpr,
    HIDDEN: tl.constexpr,
):
    sentence, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    inside, each = tl.arange(0, WIDTH), tl.program_id(2) * COUNT + tl.arange(0, COUNT)
    real = inside < SIZE
    own = (sentence * count + each)[:, None] * (heads * SIZE) + head * SIZE + inside[None, :]
    asked = (each < count)[:, None] & real[None, :]
    query = tl.load(queries + own, asked, 0.0)
    base = sentence.to(tl.int64) * to_sentence + head * to_head
    highest = tl.full((COUNT,), -float("inf"), tl.float32)
    total = tl.zeros((COUNT,), tl.float32)
    sums = tl.zeros((COUNT, WIDTH), tl.float32)
    for first in range(0, length, WORDS):
        words = first + tl.arange(0, WORDS)
        there = words < length
        if MASKED:
            there = there & (tl.load(mask + sentence * to_mask + words, there, -float("inf")) > HIDDEN)
        if tl.max(there.to(tl.int32), 0) > 0:  # blocks of nothing but padding are not read
            places = base + words[:, None] * to_word + inside[None, :]
            known = there[:, None] & real[None, :]
            scores = _scored(query, tl.load(keys + places, known, 0.0), TILES) * scale
            scores = tl.where(there[None, :], scores, -float("inf"))
            above = tl.maximum(highest, tl.max(scores, 1))
            powers, less = tl.exp(scores - above[:, None]), tl.exp(highest - above)
            value = tl.load(values + places, known, 0.0)
            sums = sums * less[:, None] + _summed(powers, value, TILES)
            total = total * less + tl.sum(powers, 1)
            highest = above
    result = sums / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(mixed + own, result.to(mixed.dtype.element_ty), asked)


def attend_past(
    new: tuple[Tensor, Tensor, Tensor],
    past: tuple[Tensor, Tensor],
    columns: Tensor,
    here: Tensor,
    starts: Tensor,
    heads: int,
) -> Tensor:
    """Compute the self-attention of one more word per row to itself and the words before, and add it to the past.

    Args:
        new: queries, keys and values of the word, (R, 1, D) each, with the same stride from row to row.
        past: keys and values of all words, (room, R or more, D) each; those of the new word are added.
        columns: (R, room) the column of the past in which each word of a row is; a new word is in its row's column.
        here: (1,) the place of the new word.
        starts: (R,) the place of the first word of each row.
        heads: H.

    Returns:
        (R, 1, D), without the output projection.
    """
    queries, keys, values = new
    rows, _, width = queries.shape
    size = width // heads
    mixed = queries.new_empty(rows, 1, width)
    with torch.cuda.device_of(queries):
        _past_kernel[rows, heads](
            queries,
            keys,
            values,
            queries.stride(0),
            *past,
            past[0].stride(0),
            columns,
            columns.stride(0),
            here,
            starts,
            mixed,
            size**-0.5,
            SIZE=size,
            WIDTH=triton.next_power_of_2(size),
            WORDS=_WORDS,
            num_warps=2,
        )
    return mixed


def attend_fixed(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Compute the attention of one word per hypothesis, N for each of B sentences, to the sentence's shared keys.

    Args:
        queries: (B x N, 1, D), contiguous.
        keys: (B, H, S, D/H).
        values: like the keys, with the same strides.
        mask: (B, 1, 1, S), added to the scores: zero, or less than `HIDDEN`. Where all is hidden, the result is zero.

    Returns:
        (B x N, 1, D), without the output projection.
    """
    sentences, heads, length, size = keys.shape
    count = len(queries) // sentences
    tiles = count > 1 and queries.dtype in {torch.bfloat16, torch.float16}
    together = _TILE if tiles else min(_HYPOTHESES, triton.next_power_of_2(count))
    mixed = torch.empty_like(queries)
    with torch.cuda.device_of(queries):
        _fixed_kernel[sentences, heads, triton.cdiv(count, together)](
            queries,
            keys,
            values,
            *keys.stride()[:3],
            queries if mask is None else mask,
            0 if mask is None else mask.stride(0),
            mixed,
            length,
            count,
            size**-0.5,
            SIZE=size,
            WIDTH=max(_TILE, triton.next_power_of_2(size)),
            WORDS=_WORDS,
            COUNT=together,
            TILES=tiles,
            MASKED=mask is not None,
            HIDDEN=HIDDEN,
            num_warps=2,
        )
    return mixed
