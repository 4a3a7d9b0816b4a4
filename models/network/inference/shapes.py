"""Sizes of what is captured: few of them, so that what was captured fits again, with padding in the rest."""

from torch import Tensor

from models.network.state import ROOM


def few(sentences: int) -> int:
    """A number of sentences: one, as in a session, or as many as cost no more than some."""
    return 1 if sentences == 1 else max(8, power_of_two(sentences))


def room_for(length: int, most: int | None = None) -> int:
    """A length that has room for another: from `ROOM` on a power of two, unless this is more than `most` allows."""
    room = power_of_two(max(ROOM, length))
    return room if most is None else max(length, min(room, most))


def power_of_two(size: int) -> int:
    """The next one."""
    return 1 << (size - 1).bit_length()


def put_into(tensor: Tensor, room: Tensor, padding: float = 0, *, at_end: bool = False) -> None:
    """Copy a tensor into the room for it, unless it is there; pad its rows, on the left if they stand `at_end`."""
    if tensor.data_ptr() == room.data_ptr():
        return
    rows = room[: len(tensor)]
    if rows.shape != tensor.shape:
        rows.fill_(padding)
    spare = [all_of_it - size if at_end else 0 for size, all_of_it in zip(tensor.shape, rows.shape, strict=True)]
    rows[tuple(map(slice, spare, map(sum, zip(spare, tensor.shape, strict=True))))].copy_(tensor)
