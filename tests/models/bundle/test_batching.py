"""Work in batches of like sizes."""

from models.bundle.batching import BATCH_TOKENS, in_batches


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
