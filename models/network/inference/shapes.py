"""Rounding of sizes for captures to a few values, so that a capture can be reused, with padding in the rest."""

from torch import Tensor

from models.network.state import ROOM


def few(sentences: int) -> int:
    """Round a number of sentences up to a power of two, at least 8 as fewer cost the same; a session's 1 stays 1."""
    return 1 if sentences == 1 else max(8, power_of_two(sentences))


def room_for(length: int, most: int | None = None) -> int:
    """Round a length up to a power of two, at least `ROOM`; no more than `most`, unless it is longer itself."""
    room = power_of_two(max(ROOM, length))
    return room if most is None else max(length, min(room, most))


def power_of_two(size: int) -> int:
    """Return the next power of two."""
    return 1 << (size - 1).bit_length()


def put_into(tensor: Tensor, room: Tensor, padding: float = 0, *, at_end: bool = False) -> None:
    """Copy a tensor into `room`, unless it is there already; pad its rows, on the left if `at_end`."""
    if tensor.data_ptr() == room.data_ptr():
        return
    rows = room[: len(tensor)]
    if rows.shape != tensor.shape:
        rows.fill_(padding)
    spare = [all_of_it - size if at_end else 0 for size, all_of_it in zip(tensor.shape, rows.shape, strict=True)]
    rows[tuple(map(slice, spare, map(sum, zip(spare, tensor.shape, strict=True))))].copy_(tensor)
