"""Our cross-entropy equals torch's, in values and gradients, however many rows are computed at once."""

import pytest
import torch
import torch.nn.functional as F

from models.training import cross_entropy as module
from models.training.cross_entropy import cross_entropy

V = 50


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("at_once", [1, 3 * V + 1, 100 * V])
def test_it_is_torchs(monkeypatch: pytest.MonkeyPatch, at_once: int, label_smoothing: float) -> None:
    """Ten rows are computed one by one, in threes with one left over, or together; each has its own gradient."""
    monkeypatch.setitem(module._AT_ONCE, "cpu", at_once)
    torch.manual_seed(1)
    ours = (4 * torch.randn(10, V, dtype=torch.float64)).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    expected, weights = torch.randint(V, (10,)), torch.randn(10, dtype=torch.float64)
    found = cross_entropy(ours, expected, label_smoothing)
    wanted = F.cross_entropy(theirs, expected, reduction="none", label_smoothing=label_smoothing)
    torch.testing.assert_close(found, wanted)
    (found * weights).sum().backward()
    (wanted * weights).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_logits_in_bfloat16_are_computed_with_in_float32() -> None:
    """The loss is that of the rounded logits, and only the final gradient is rounded."""
    torch.manual_seed(1)
    logits = torch.randn(10, V).bfloat16().requires_grad_()
    exact, expected = logits.detach().float().requires_grad_(), torch.randint(V, (10,))
    found, wanted = cross_entropy(logits, expected, 0.1), cross_entropy(exact, expected, 0.1)
    torch.testing.assert_close(found, wanted)
    found.sum().backward()
    wanted.sum().backward()
    assert logits.grad is not None
    assert exact.grad is not None
    assert torch.equal(logits.grad, exact.grad.bfloat16())


def test_large_logits_do_not_overflow() -> None:
    """Exponentials of large numbers are never computed."""
    logits = torch.tensor([[1000.0, 0.0], [-1000.0, 0.0]], requires_grad=True)
    losses = cross_entropy(logits, torch.tensor([0, 0]))
    assert losses.tolist() == [0.0, 1000.0]
    losses.sum().backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0.0, 0.0], [-1.0, 1.0]]
