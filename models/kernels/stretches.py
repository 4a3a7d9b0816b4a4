"""Several steps of search in one call: for few rows, what Python does between steps takes as long as a step.

Each step returns the same bits as by itself, since it consists of the same functions. It says in `taken` (1,) how many
steps there were before enough sentences might be done; see `choices.Stretch` for when that is.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np

from models.kernels.compiled import compiled, inlined
from models.kernels.continuations import choose_part, likeliest_part
from models.kernels.steps import Stack, score_next


@inlined
def _score(words, stack, ends, early, end, ahead, scores):
    """Put the scores of the next tokens into `scores` (R, V), `ahead` steps after the first; see `steps.score_next`."""
    tables, shapes, kind, past, past_shape, position, columns, unseen, fixed, source, context = stack
    there = Stack(tables, shapes, kind, past, past_shape, position + ahead, columns, unseen, fixed, source, context)
    score_next(words, there, ends[0], ends[1], scores)
    places = words[4]
    for p in range(len(places)):
        places[p, 0] += 1
    for r in range(len(scores)):
        if early[r] > ahead:
            scores[r, end] = -np.inf


@inlined
def _count_down(left, b, ended):
    """Record that a sentence that was not done is one token longer; return whether it is done now."""
    if left[b] == 0:
        return False
    left[b] = 0 if ended else left[b] - 1
    return left[b] == 0


@inlined
def _count_done(left):
    done = 0
    for b in range(len(left)):
        if left[b] == 0:
            done += 1
    return done


def _draw(words, stack, ends, special, early, forbidden, left, enough, tokens, values, taken):
    """Put each row's likeliest next tokens and their log-probabilities into `tokens` and `values` (T, R).

    Args:
        words: as for `steps.score_next`; the tokens and their places are overwritten.
        stack: the same; it must have room for T words.
        ends: the last two of the arguments there, the closing norm and the output projection.
        special: tokens that are never chosen, and the one that ends a sentence.
        early: this and the next three are as in `choices.Stretch`; `left` is overwritten.
        forbidden: (F, 2).
        left: (R,).
        enough: a number.
        tokens: zeros.
        values: any.
        taken: any.
    """
    never, end = special
    scores, done = np.empty((len(left), ends[1][-1]), np.float32), _count_done(left)
    for ahead in range(len(tokens)):
        _score(words, stack, ends, early, end, ahead, scores)
        likeliest_part(scores, never, forbidden, tokens[ahead], values[ahead])
        for r in range(len(left)):
            words[0][r, 0] = tokens[ahead, r]
            done += _count_down(left, r, tokens[ahead, r] == end)
        taken[0] = ahead + 1
        if done >= enough:
            break


def _spread(words, stack, ends, special, early, forbidden, left, missing, enough, totals, rows, found, taken):
    """Put what beam search looks at of each step into `found` (T, 3, B, 2N), as `search.Candidates.chosen` does.

    Args:
        words: this and the next five are as for `_draw`.
        stack: its columns follow the hypotheses, except in the last step, whose order is left in `rows`.
        ends: see there.
        special: see there.
        early: see there.
        forbidden: see there.
        left: (B,); overwritten.
        missing: (B,), as in `choices.Stretch`; overwritten.
        enough: a number.
        totals: (B, N); overwritten by those after the last step.
        rows: (R,), any.
        found: any.
        taken: any.
    """
    (never, end), (sentences, size) = special, totals.shape
    scores, done = np.empty((totals.size, ends[1][-1]), np.float32), _count_done(left)
    logs, best = np.empty((sentences, 2 * size), np.float32), np.empty((2, sentences, 2 * size), np.int32)
    going = np.empty((2, sentences, size), np.int32)
    for ahead in range(len(found)):
        if ahead:
            _reorder(stack.columns, rows, stack.position + ahead)
        _score(words, stack, ends, early, end, ahead, scores)
        choose_part(scores, totals, never, forbidden, end, logs, best[0], best[1], totals, going[0], going[1])
        seen, seen_logs = found[ahead], found[ahead, 0].view(np.float32)
        for b in range(sentences):
            for n in range(size):  # element by element, since Numba takes seconds to compile an assignment of slices
                row, here, there = b * size + n, (b, n), (b, size + n)
                seen_logs[here], seen_logs[there] = logs[here], totals[here]
                for kind in range(2):
                    seen[kind + 1, b, n], seen[kind + 1, b, size + n] = best[kind, b, n], going[kind, b, n]
                rows[row], words[0][row, 0] = b * size + going[0, b, n], going[1, b, n]
                missing[b] -= best[1, b, n] == end
            done += _count_down(left, b, missing[b] <= 0)
        taken[0] = ahead + 1
        if done >= enough:
            break


@inlined
def _reorder(columns, rows, words):
    """Let each hypothesis continue the one in `rows` (R,), in the first `words` of `columns`."""
    before = columns.copy()
    for r in range(len(rows)):
        for w in range(words):
            columns[r, w] = before[rows[r], w]


draw: Final = compiled(_draw)
spread: Final = compiled(_spread)
