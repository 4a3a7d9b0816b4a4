from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from models.data.tokenizer import BOS, EOS, PAD
from models.search import vocabulary
from models.search.vocabulary import likeliest, likeliest_by_torch


def log_probabilities(logits: Tensor, early: Sequence[int] = ()) -> Tensor:
    """The log-probabilities of all tokens, in the order of their ids."""
    tokens, values = likeliest_by_torch(logits, logits.size(1), early, ())
    assert values.diff(dim=1).nan_to_num(0).le(0).all()  # the likeliest first
    return torch.empty_like(values).scatter(1, tokens, values)


def test_padding_and_beginning_of_sentence_are_never_generated() -> None:
    """They are excluded however likely the model finds them."""
    logits = torch.zeros(1, 8)
    logits[0, [PAD, BOS]] = 100.0
    assert log_probabilities(logits)[0, [PAD, BOS]].tolist() == [-float("inf")] * 2


def test_the_others_keep_the_models_probability() -> None:
    """Forbidding a token does not change how a translation is scored."""
    logits = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    expected = logits.log_softmax(-1)
    assert torch.equal(log_probabilities(logits.clone())[:, EOS:], expected[:, EOS:])


def test_a_translation_that_is_too_short_cannot_end() -> None:
    """Below the minimum length, the end of sentence has no probability."""
    too_short, enough = log_probabilities(torch.zeros(2, 8), early=[0])[:, EOS]
    assert too_short == -float("inf")
    assert enough > -3


@pytest.mark.parametrize("early", [[], [1], [0, 2], [0, 1, 2]])
def test_only_those_that_are_too_short_cannot_end(early: list[int]) -> None:
    """This may concern none of the rows, some of them, or all."""
    ends = log_probabilities(torch.zeros(3, 8), early)[:, EOS].isinf().tolist()
    assert ends == [row in early for row in range(3)]


class _Kernels(TorchDispatchMode):
    """Records the names of the kernels that run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_device_is_told_once_which_rows_are_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each set of rows is copied once, as Python waits for copies, and for lists of rows; all rows need no copy."""
    told, tensor = [], torch.tensor

    def tell(rows: tuple[int, ...], **options: Any) -> Tensor:
        told.append(rows)
        return tensor(rows, **options)

    vocabulary._told.cache_clear()
    monkeypatch.setattr(torch, "tensor", tell)
    with _Kernels() as kernels:
        for early in ([0, 1, 2], [0, 2], [0, 2], [], [0, 2], [1]):
            likeliest_by_torch(torch.zeros(3, 8), 1, early, ())
    assert told == [(0, 2), (1,)]
    assert not [name for name in kernels.names if "index_put" in name]


@pytest.mark.parametrize("size", [3, 30, 64, 129, 1000])
def test_both_ways_find_the_likeliest(size: int) -> None:
    """The kernel and torch agree, even if the likeliest is the last, tied, forbidden, or an end that is too early."""
    logits = torch.randint(6, (40, size), generator=torch.Generator().manual_seed(size)).float()
    logits[0, EOS] = logits[1, -1] = logits[2, -1] = 9
    rules = [0, 3], [(1, size - 1), (4, int(logits[4].argmax()))]
    tokens, values = likeliest(logits.clone(), *rules)
    expected, theirs = (each[:, 0] for each in likeliest_by_torch(logits.clone(), 1, *rules))
    assert torch.equal(values.isinf(), theirs.isinf())
    some = values.isfinite()
    assert torch.equal(tokens[some], expected[some])
    torch.testing.assert_close(values[some], theirs[some])


@pytest.mark.parametrize("size", [100, 128])
def test_what_is_no_number_is_not_made_one(size: int) -> None:
    """A NaN for one sentence makes its own score not finite, for a valid token, and leaves the others as they are."""
    logits = torch.zeros(3, size)
    logits[1, 50] = float("nan")
    tokens, values = likeliest(logits)
    assert values.isfinite().tolist() == [True, False, True]
    assert tokens.max() < size


def test_sixteen_bits_are_chosen_from_as_they_are() -> None:
    """Probabilities of bfloat16 logits are those of the same numbers in float32."""
    logits = torch.randn(4, 200, generator=torch.Generator().manual_seed(1)).bfloat16()
    tokens, values = likeliest_by_torch(logits.clone(), 3, (), ())
    expected, theirs = likeliest_by_torch(logits.float(), 3, (), ())
    assert values.dtype == torch.float32
    torch.testing.assert_close(values, theirs)
    assert torch.equal(logits.gather(1, tokens), logits.gather(1, expected))  # a tie may be broken differently
