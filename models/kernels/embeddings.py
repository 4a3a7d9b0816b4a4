"""Scaled token embeddings plus position embeddings, in place of four calls of torch for a few rows of a table."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

from models.kernels.compiled import compiled, part


def _embed(tokens, table, scale, positions, places, result):
    """Embed tokens (R, T) at `places` (R, T), or (1, T) for all rows, into (R, T, D); places are capped at the last."""
    last, alike = len(positions) - 1, len(places) == 1
    for r in range(tokens.shape[0]):
        for t in range(tokens.shape[1]):
            vector, place = table[tokens[r, t]], positions[min(places[0 if alike else r, t], last)]
            for i in range(table.shape[1]):
                result[r, t, i] = vector[i] * scale + place[i]


embed: Final = compiled(_embed)
embed_part: Final = part(_embed)
"""`embed` for functions that are compiled themselves (`steps`)."""
