"""A step of search on a GPU, like `models.kernels.continuations`: two kernels instead of some thirty.

The first kernel reads the scores in pieces, and keeps the best of each piece and the sum of its exponentials; the
second chooses among these. Nothing as large as the scores is written.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, import-untyped, import-not-found"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Triton compiles has the types that it is called with

from typing import Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from models.kernels.continuations import Tokens, unpacked

_BLOCK: Final = 1024
"""Scores that are read together."""
_PROGRAMS: Final = 1024
"""Roughly how many programs run at once; if there are fewer rows, they are cut into pieces."""
_MOST_PIECES: Final = 8


@triton.jit
def _pieces_kernel(
    logits,
    to_row,
    length,
    vocabulary,
    values,
    tokens,
    highests,
    totals,
    COUNT: tl.constexpr,
    ROOM: tl.constexpr,
    BLOCK: tl.constexpr,
    NEVER: tl.constexpr,
    NOR: tl.constexpr,
):
    row, piece, pieces = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    places = tl.arange(0, ROOM)
    found = tl.full((ROOM,), -float("inf"), tl.float32)
    found_tokens = tl.zeros((ROOM,), tl.int32)
    lowest = -float("inf")
    highest = -float("inf")
    total = 0.0
    for first in range(piece * length, tl.minimum((piece + 1) * length, vocabulary), BLOCK):
        own = first + tl.arange(0, BLOCK)
        some = tl.load(logits + row.to(tl.int64) * to_row + own, own < vocabulary, -float("inf")).to(tl.float32)
        above = tl.maximum(highest, tl.max(some, 0))
        # If all are -inf, a difference would be NaN.
        base = tl.where(above == -float("inf"), 0.0, above)
        total = total * tl.exp(highest - base) + tl.sum(tl.exp(some - base), 0)
        highest = above
        some = tl.where((own == NEVER) | (own == NOR), -float("inf"), some)
        best = tl.max(some, 0)
        while best > lowest:
            token = tl.min(tl.where(some == best, own, vocabulary), 0)
            some = tl.where(own == token, -float("inf"), some)
            # Of equal candidates, the one with the highest token number makes room.
            low = (found == lowest) & (places < COUNT)
            last = tl.max(tl.where(low, found_tokens, -1), 0)
            worst = tl.max(tl.where(low & (found_tokens == last), places, -1), 0)
            found = tl.where(places == worst, best, found)
            found_tokens = tl.where(places == worst, token, found_tokens)
            lowest = tl.min(tl.where(places < COUNT, found, float("inf")), 0)
            best = tl.max(some, 0)
    at = row * pieces + piece
    tl.store(values + at * COUNT + places, found, places < COUNT)
    tl.store(tokens + at * COUNT + places, found_tokens, places < COUNT)
    tl.store(highests + at, highest)
    tl.store(totals + at, total)


@triton.jit
def _best_kernel(
    values,
    tokens,
    highests,
    sums,
    pieces,
    so_far,
    vocabulary,
    scores,
    origins,
    chosen,
    on_scores,
    on_origins,
    on_tokens,
    END: tl.constexpr,
    COUNT: tl.constexpr,
    BEAM: tl.constexpr,
    ROWS: tl.constexpr,
    PIECES: tl.constexpr,
    ROOM: tl.constexpr,
):
    sentence = tl.program_id(0)
    rows, each, places = tl.arange(0, ROWS), tl.arange(0, PIECES), tl.arange(0, ROOM)
    own = sentence * BEAM + rows
    known = (rows < BEAM)[:, None] & (each < pieces)[None, :]
    at = own[:, None] * pieces + each[None, :]
    highest = tl.load(highests + at, known, -float("inf"))
    above = tl.max(highest, 1)
    base = tl.where(above == -float("inf"), 0.0, above)
    total = tl.sum(tl.load(sums + at, known, 0.0) * tl.exp(highest - base[:, None]), 1)
    spent = tl.load(so_far + own, rows < BEAM, -float("inf")) - base - tl.log(total)
    left = (rows < BEAM)[:, None] & (places < pieces * COUNT)[None, :]
    candidates = own[:, None] * (pieces * COUNT) + places[None, :]
    found = tl.load(values + candidates, left, -float("inf")) + spent[:, None]
    found = tl.where(found == found, found, -float("inf"))  # noqa: PLR0124 - NaN is not equal to itself
    numbers = rows[:, None].to(tl.int64) * vocabulary + tl.load(tokens + candidates, left, 0)
    last = vocabulary.to(tl.int64) * BEAM - 1
    waiting = rows < 0
    for k in range(COUNT):
        best = tl.max(tl.max(tl.where(left, found, -float("inf")), 1), 0)
        number = tl.min(tl.min(tl.where(left & (found == best), numbers, last), 1), 0)
        left = left & (numbers != number)
        origin, token = number // vocabulary, number % vocabulary
        tl.store(scores + sentence * COUNT + k, best)
        tl.store(origins + sentence * COUNT + k, origin)
        tl.store(chosen + sentence * COUNT + k, token)
        if END >= 0:
            # A hypothesis that ends leaves its place to the next one beyond the first N that does not end.
            place = tl.where(k < BEAM, k, tl.min(tl.where(waiting, rows, ROWS), 0))
            takes = (rows == place) & (token != END)
            waiting = tl.where(rows == place, token == END, waiting)
            slots = sentence * BEAM + rows
            tl.store(on_scores + slots, tl.zeros_like(above) + best, takes)
            tl.store(on_origins + slots, tl.zeros_like(rows).to(tl.int64) + origin, takes)
            tl.store(on_tokens + slots, tl.zeros_like(rows).to(tl.int64) + token, takes)


def choose(logits: Tensor, so_far: Tensor, never: Tokens, end: int) -> tuple[Tensor, Tensor]:
    """Return the 2N best continuations of N hypotheses, and the N of them that go on.

    Args:
        logits: (B x N, V), for the next token.
        so_far: (B, N), float32: log-probabilities of the hypotheses so far.
        never: tokens that are never chosen; they still count in the sum of probabilities.
        end: the token that ends a sentence.

    Returns:
        As `models.kernels.continuations.choose`.
    """
    size = so_far.size(1)
    best, going = (_room(so_far, count) for count in (2 * size, size))
    _choose(logits, so_far, never, end, best, going)
    return best, going


def likeliest(logits: Tensor, never: Tokens) -> tuple[Tensor, Tensor]:
    """Return the likeliest next token of each row (the lowest of equals), and its log-probability; (R,) each.

    Args:
        logits: (R, V).
        never: as for `choose`.
    """
    so_far = torch.zeros(len(logits), 1, device=logits.device)
    best = _room(so_far, 1)
    _choose(logits, so_far, never, -1, best, best)
    values, _, tokens = unpacked(best[:, :, 0])
    return tokens.long(), values


def _choose(logits: Tensor, so_far: Tensor, never: Tokens, end: int, best: Tensor, going: Tensor) -> None:
    (rows, vocabulary), (sentences, beam), count = logits.shape, so_far.shape, best.size(2)
    blocks = triton.cdiv(vocabulary, _BLOCK)
    wanted = min(blocks, _MOST_PIECES, max(1, _PROGRAMS // rows))
    length = triton.cdiv(blocks, wanted)
    pieces = triton.cdiv(blocks, length)
    values, tokens = (
        torch.empty(rows, pieces, count, dtype=kind, device=logits.device) for kind in (torch.float32, torch.int32)
    )
    highests, sums = torch.empty(2, rows, pieces, device=logits.device)
    with torch.cuda.device_of(logits):
        _pieces_kernel[rows, pieces](
            logits,
            logits.stride(0),
            length * _BLOCK,
            vocabulary,
            values,
            tokens,
            highests,
            sums,
            COUNT=count,
            ROOM=triton.next_power_of_2(count),
            BLOCK=_BLOCK,
            NEVER=never[0],
            NOR=never[1],
            num_warps=4,
        )
        _best_kernel[sentences,](
            values,
            tokens,
            highests,
            sums,
            pieces,
            so_far,
            vocabulary,
            *unpacked(best),
            *unpacked(going),
            END=end,
            COUNT=count,
            BEAM=beam,
            ROWS=triton.next_power_of_2(beam),
            PIECES=triton.next_power_of_2(pieces),
            ROOM=triton.next_power_of_2(pieces * count),
            num_warps=1,
        )


def _room(like: Tensor, count: int) -> Tensor:
    """Return room for `count` continuations per sentence; each part is aligned to 16 bytes, or Triton recompiles."""
    size = len(like) * count
    room = torch.empty(3, triton.cdiv(size, 4) * 4, dtype=torch.int32, device=like.device)
    packed: Tensor = room[:, :size].unflatten(1, (len(like), count))
    return packed
