"""Work in batches of like sizes."""

import pytest
import torch

from models.bundle.batching import BATCH_TOKENS, in_batches, want_of_memory


def test_work_is_done_in_batches_and_given_in_order() -> None:
    """Work of like size goes together, no batch is over the budget unless it is alone, and results keep their order."""
    sizes = [3, BATCH_TOKENS // 2, 700, BATCH_TOKENS // 2, 5, BATCH_TOKENS + 1, 700]
    seen: list[list[int]] = []

    def work(indices: list[int]) -> list[str]:
        seen.append(indices)
        return [f"result {i}" for i in indices]

    assert in_batches(sizes, work) == [f"result {i}" for i in range(len(sizes))]
    assert seen == [[5], [1, 3], [2, 6], [4, 0]]
    assert in_batches([], work) == []


def test_a_batch_that_memory_does_not_suffice_for_is_done_in_halves() -> None:
    """As small as it takes, with the same results; work on a single piece that fails has failed."""
    room = 3

    def work(indices: list[int]) -> list[int]:
        if len(indices) > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [10 * i for i in indices]

    assert in_batches([5] * 20, work) == [10 * i for i in range(20)]
    room = 0
    with pytest.raises(torch.OutOfMemoryError):
        in_batches([5] * 20, work)


def test_what_ctranslate2_says_of_memory_is_understood() -> None:
    """Its errors have no kinds; others stay what they are."""
    for said in ("CUDA failed with error out of memory", "cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED"):
        with pytest.raises(torch.OutOfMemoryError, match=said), want_of_memory():
            raise RuntimeError(said)
    with pytest.raises(RuntimeError, match="no such model") as found, want_of_memory():
        raise RuntimeError("no such model")
    assert not isinstance(found.value, torch.OutOfMemoryError)
