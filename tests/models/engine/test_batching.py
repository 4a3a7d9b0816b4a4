"""Work in batches of similar sizes."""

import gc
import weakref
from collections.abc import Callable

import pytest
import torch

from models.engine.batching import BATCH_TOKENS, in_batches, want_of_memory


def _nothing() -> None:
    """Free nothing."""


def test_work_is_done_in_batches_and_given_in_order() -> None:
    """Work of similar size goes together, only a single piece may exceed the budget, and results keep their order."""
    sizes = [3, BATCH_TOKENS // 2, 700, BATCH_TOKENS // 2, 5, BATCH_TOKENS + 1, 700]
    seen: list[list[int]] = []

    def work(indices: list[int]) -> list[str]:
        seen.append(indices)
        return [f"result {i}" for i in indices]

    assert in_batches(sizes, work, free=_nothing) == [f"result {i}" for i in range(len(sizes))]
    assert seen == [[5], [1, 3], [2, 6], [4, 0]]
    assert in_batches([], work, free=_nothing) == []


def test_a_batch_that_memory_does_not_suffice_for_is_done_in_halves() -> None:
    """Halves are as small as needed, with the same results; if there is no memory for a single piece, work fails."""
    room = 3

    def work(indices: list[int]) -> list[int]:
        if len(indices) > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [10 * i for i in indices]

    assert in_batches([5] * 20, work, free=_nothing) == [10 * i for i in range(20)]
    room = 0
    with pytest.raises(torch.OutOfMemoryError):
        in_batches([5] * 20, work, free=_nothing)


@pytest.mark.parametrize("said", ["CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"])
def test_what_is_kept_for_later_is_given_back_first(said: str) -> None:
    """It is freed before a batch is halved; a single piece is then tried once more, whatever the error is called."""
    tried: list[list[int]] = []
    room = [1]

    def work(indices: list[int]) -> list[int]:
        tried.append(indices)
        if len(indices) > room[0]:
            raise RuntimeError(said)
        return indices

    def free() -> None:
        room[0] += 1

    assert in_batches([5] * 4, work, free) == [0, 1, 2, 3]
    assert tried == [[0, 1, 2, 3], [0, 1], [2, 3]]
    tried.clear()
    room[0] = 0
    assert in_batches([5], work, free) == [0]
    assert tried == [[0], [0]]


def test_what_has_failed_is_gone_when_smaller_parts_are_tried() -> None:
    """Nothing refers to the tensors of a batch for which there was no memory, even without garbage collection."""
    begun: list[Callable[[], object]] = []

    def work(indices: list[int]) -> list[int]:
        assert not [left for left in begun if left() is not None]
        tensor = torch.zeros(len(indices))
        begun.append(weakref.ref(tensor))
        if len(tensor) > 1:
            raise RuntimeError("CUDA error: out of memory")
        return indices

    gc.disable()
    try:
        assert in_batches([5] * 4, work, free=_nothing) == [0, 1, 2, 3]
    finally:
        gc.enable()


def test_what_errors_say_of_memory_is_understood() -> None:
    """CTranslate2's errors of memory have no type of their own; other errors stay as they are."""
    for said in ("CUDA failed with error out of memory", "cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED"):
        with pytest.raises(torch.OutOfMemoryError, match=said), want_of_memory():
            raise RuntimeError(said)
    with pytest.raises(RuntimeError, match="no such model") as found, want_of_memory():
        raise RuntimeError("no such model")
    assert not isinstance(found.value, torch.OutOfMemoryError)
