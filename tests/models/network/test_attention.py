import math

import pytest
import torch

from models.network.attention import Attention, padding_mask


def test_attention_is_the_papers() -> None:
    """It is softmax(Q K^T / sqrt(d)) V in each head (Vaswani et al. 2017, eq. 1), then the output projection."""
    torch.manual_seed(1)
    attention, x, memory = Attention(8, 2), torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    keys, values = (part.view(3, 5, 2, 4) for part in attention.key_value(memory).split(8, -1))
    scores = torch.einsum("bthd,bshd->bhts", attention.query(x).view(3, 4, 2, 4), keys) / math.sqrt(4)
    expected = torch.einsum("bhts,bshd->bthd", scores.softmax(-1), values).reshape(3, 4, 8)
    assert torch.allclose(attention(x, *attention.keys_values(memory)), attention.output(expected), atol=1e-6)


def test_hypotheses_share_the_keys_of_their_sentence() -> None:
    """R = B x N rows attend to B sentences as if each sentence's keys were repeated N times."""
    torch.manual_seed(1)
    attention, x, memory = Attention(8, 2), torch.randn(6, 2, 8), torch.randn(2, 5, 8)
    mask = padding_mask(torch.tensor([[4, 4, 4, 0, 0], [4, 4, 4, 4, 4]]), 0)
    shared = attention(x, *attention.keys_values(memory), mask)
    repeated = attention(x, *attention.keys_values(memory.repeat_interleave(3, 0)), mask.repeat_interleave(3, 0))
    assert torch.allclose(shared, repeated, atol=1e-6)


def test_a_causal_query_sees_itself_and_what_is_before() -> None:
    """Changing later keys does not change earlier outputs."""
    torch.manual_seed(1)
    attention, x = Attention(8, 2), torch.randn(1, 4, 8)
    other = x.clone()
    other[:, 2:] = 0.0
    before, after = (
        attention.mix(attention.query(x), *attention.keys_values(each), causal=True) for each in (x, other)
    )
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.allclose(before[:, 2:], after[:, 2:])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("training", [True, False])
def test_the_last_queries_see_what_they_see_among_all(count: int, training: bool) -> None:
    """This holds for any number of queries, in training and in inference, which compute them in different ways."""
    torch.manual_seed(1)
    attention, x = Attention(8, 2), torch.randn(1, 4, 8)
    with torch.inference_mode(not training):
        keys_values = attention.keys_values(x)
        last, every = (attention.mix(attention.query(some), *keys_values, causal=True) for some in (x[:, -count:], x))
        assert torch.allclose(last, every[:, -count:], atol=1e-6)


def test_a_memory_may_have_another_width() -> None:
    """Keys and values can be computed from states that are wider than the model."""
    attention = Attention(8, 2, memory_width=12)
    assert attention(torch.randn(1, 3, 8), *attention.keys_values(torch.randn(1, 5, 12))).shape == (1, 3, 8)
