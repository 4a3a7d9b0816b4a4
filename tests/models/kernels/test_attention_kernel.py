import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.kernels.attention import attend
from models.network.attention import additive


def tensors(batch: int, queries: int, keys: int, width: int = 16) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of three heads side by side, as projections return them."""
    generator = torch.Generator().manual_seed(queries + keys)
    sizes = (queries, keys, keys)
    return tuple(  # type: ignore[return-value]
        torch.randn(batch, size, 3 * width, generator=generator).unflatten(-1, (3, width)).transpose(1, 2)
        for size in sizes
    )


def visible(batch: int, keys: int) -> Tensor:
    """A mask with gaps, in which every row sees at least one key."""
    mask = torch.rand(batch, 1, 1, keys, generator=torch.Generator().manual_seed(keys)) > 0.4
    mask[..., keys // 2] = True
    return mask


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 13), (4, 7), (9, 33), (18, 33)])
def test_it_is_scaled_dot_product_attention(queries: int, keys: int) -> None:
    """The kernel computes what torch does, with any mask, and for queries that each see one key more."""
    q, k, v = tensors(5, queries, keys)
    mask = visible(5, keys)
    masked = attend(q, k, v, additive(mask, torch.float32), False)
    assert torch.allclose(masked.transpose(1, 2), F.scaled_dot_product_attention(q, k, v, mask), atol=2e-6)
    seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    causal = attend(q, k, v, None, True)
    assert torch.allclose(causal.transpose(1, 2), F.scaled_dot_product_attention(q, k, v, seen), atol=2e-6)


@pytest.mark.parametrize("queries", [1, 6, 18])
def test_a_row_depends_on_nothing_else_in_its_batch(queries: int) -> None:
    """A row alone, without padding and hidden keys, gives the same numbers to the bit."""
    q, k, v = tensors(8, queries, 29)
    mask = visible(8, 29)
    together = attend(q, k, v, additive(mask, torch.float32), False)
    for row in range(8):
        own = mask[row, 0, 0]
        alone = attend(q[row : row + 1], k[row : row + 1, :, own], v[row : row + 1, :, own], None, False)
        assert torch.equal(alone, together[row : row + 1])


@pytest.mark.parametrize("queries", [11, 27])
@pytest.mark.parametrize("width", [8, 20, 64])
def test_a_query_depends_on_no_other(width: int, queries: int) -> None:
    """A query gives the same alone as among others, several of which share a pass over the keys, to the bit."""
    q, k, v = tensors(3, queries, 29, width)
    mask = additive(visible(3, 29), torch.float32)
    alone = [attend(q[:, :, n : n + 1], k, v, mask, False) for n in range(queries)]
    assert torch.equal(torch.cat(alone, dim=1), attend(q, k, v, mask, False))


@pytest.mark.parametrize("queries", [1, 6, 18])
def test_keys_and_values_may_be_kept_in_half_precision(queries: int) -> None:
    """Half-precision numbers are read exactly from their bits."""
    q, k, v = tensors(3, queries, 29, 20)
    halves = [each.half() for each in (k, v)]
    floats = attend(q, *(each.float() for each in halves), None, False)
    assert torch.equal(attend(q, *(each.view(torch.int16) for each in halves), None, False), floats)


@pytest.mark.parametrize("queries", [1, 4])
def test_keys_are_found_where_they_are(queries: int) -> None:
    """Keys that are looked up word by word give the same, to the bit, as keys copied into order."""
    q, _, _ = tensors(6, queries, 21)
    _, k, v = tensors(9, queries, 21)
    columns = torch.randint(9, (6, 32), generator=torch.Generator().manual_seed(1))
    mask = additive(visible(6, 21), torch.float32) if queries == 1 else None
    moved = [tensor[columns[:, :21], :, torch.arange(21)].transpose(1, 2) for tensor in (k, v)]
    causal = mask is None
    assert torch.equal(attend(q, k, v, mask, causal, columns), attend(q, *moved, mask, causal))


def test_a_row_that_sees_nothing_gives_numbers() -> None:
    """Padding has no keys; its result is never read, but must not be infinite."""
    q, k, v = tensors(2, 1, 5)
    nothing = torch.zeros(2, 1, 1, 5, dtype=torch.bool)
    assert attend(q, k, v, additive(nothing, torch.float32), False).isfinite().all()


def test_a_query_before_all_that_its_row_sees_gives_numbers() -> None:
    """A sentence may begin later than others in its batch; queries after its start see what they should."""
    q, k, v = tensors(2, 5, 5)
    seen = torch.arange(5).ge(3).expand(2, 1, 1, 5)
    found = attend(q, k, v, additive(seen, torch.float32), True)
    assert found.isfinite().all()
    alone = attend(q[:, :, 3:], k[:, :, 3:], v[:, :, 3:], None, True)
    assert torch.equal(found[:, 3:], alone)


def test_scores_of_any_size_are_softened() -> None:
    """If scores are far apart, only the highest count, equal ones share, and nothing overflows."""
    q = torch.full((1, 1, 1, 16), 30.0)
    k = torch.tensor([-30.0, 30.0, 30.0]).view(1, 1, 3, 1).expand(1, 1, 3, 16).contiguous()
    v = torch.tensor([1.0, 2.0, 4.0]).view(1, 1, 3, 1).expand(1, 1, 3, 16).contiguous()
    assert attend(q, k, v, None, False).flatten().tolist() == [3.0] * 16
