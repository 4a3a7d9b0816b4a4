"""CUDA kernels give what torch or the CPU kernels give; these tests are skipped without a GPU."""

import pytest
import torch
from torch import Tensor

from models.kernels import continuations
from tests.support import torch_kernels

pytest.importorskip("triton", reason="there is no Triton")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)

from models.kernels.gpu import attention, cross_entropy, sublayers
from models.kernels.gpu import continuations as fused

pytestmark = pytest.mark.gpu
PAD, BOS, EOS = 0, 1, 2
CLOSE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
on_the_gpu = torch.device("cuda")


@pytest.fixture(params=CLOSE, ids=str, autouse=True)
def kind(request: pytest.FixtureRequest) -> torch.dtype:
    """The type of weights and states; seeded, so that each test has the same numbers every time."""
    torch.manual_seed(1)
    chosen: torch.dtype = request.param
    return chosen


def same(found: Tensor, expected: Tensor, kind: torch.dtype) -> None:
    """Check that the GPU gave what float32 on a CPU gives, as far as the precision of its type goes."""
    torch.testing.assert_close(found.float().cpu(), expected.float(), atol=CLOSE[kind], rtol=CLOSE[kind])


@pytest.mark.parametrize(("heads", "width"), [(8, 512), (6, 384), (3, 36)])
@pytest.mark.parametrize("position", [0, 1, 40])
def test_a_word_attends_to_those_before_it(heads: int, width: int, position: int, kind: torch.dtype) -> None:
    """A word reads the keys of its own sentence, wherever they are stored, and its own keys are added to them."""
    rows, room = 6, 64
    new = torch.randn(rows, 1, 3 * width).to(kind)
    past = torch.randn(2, room, rows + 2, width).to(kind)
    columns = torch.randint(rows + 2, (rows, room))
    starts = torch.tensor([0, 3, 39, 40, 0, 10]).clamp(max=position)
    here = torch.tensor([position])
    on_gpu = past.to(on_the_gpu)
    given = (each.to(on_the_gpu) for each in (columns, here, starts))
    found = attention.attend_past(new.to(on_the_gpu).chunk(3, -1), tuple(on_gpu.unbind()), *given, heads)
    plain = past.float()
    queries, keys, values = new.float().chunk(3, -1)
    expected = torch_kernels.attend_past((queries, keys, values), tuple(plain.unbind()), columns, here, starts, heads)
    same(found, expected, kind)
    same(on_gpu, plain, kind)


@pytest.mark.parametrize("hypotheses", [1, 4, 5, 8, 17])
def test_hypotheses_attend_to_their_sentence(hypotheses: int, kind: torch.dtype) -> None:
    """With a mask that hides keys on either side, and without one."""
    queries, keys, values = torch.randn(3 * hypotheses, 1, 128), torch.randn(3, 2, 50, 64), torch.randn(3, 2, 50, 64)
    mask = torch.zeros(3, 1, 1, 50)
    mask[0, ..., 30:] = mask[1, ..., :20] = torch.finfo(torch.float32).min / 2
    for hidden in (mask, None):
        given = (None if each is None else each.to(on_the_gpu, kind) for each in (queries, keys, values, hidden))
        rounded = (None if each is None else each.to(kind).float() for each in (queries, keys, values, hidden))
        same(attention.attend_fixed(*given), torch_kernels.attend_fixed(*rounded), kind)


def test_a_norm_and_what_is_added_later(kind: torch.dtype) -> None:
    """The fused call gives a layer norm and a sum, as separate calls do."""
    x, later, norm = torch.randn(5, 384).to(kind), torch.randn(384).to(kind), torch.nn.LayerNorm(384)
    torch.nn.init.normal_(norm.weight)
    found = sublayers.enter(x.to(on_the_gpu), norm.to(on_the_gpu, kind), later.to(on_the_gpu))
    for one, other in zip(found, torch_kernels.enter(x.float(), norm.cpu().float(), later.float()), strict=True):
        same(one, other, kind)


def test_context_comes_in_through_a_gate(kind: torch.dtype) -> None:
    """Here there are more elements than one program takes."""
    given = torch.randn(3, 7, 1, 512).to(kind)
    same(sublayers.let_in(*given.to(on_the_gpu)), torch_kernels.let_in(*given.float()), kind)


@pytest.mark.parametrize(("sentences", "beam", "vocabulary"), [(3, 4, 32_000), (40, 2, 8000), (2, 1, 1030), (1, 5, 40)])
@pytest.mark.parametrize("ties", [False, True])
def test_the_best_continuations_are_those_of_a_cpu(
    sentences: int, beam: int, vocabulary: int, ties: bool, kind: torch.dtype
) -> None:
    """This includes ties, hypotheses that do not exist yet, and hypotheses that end."""
    logits = torch.randn(sentences * beam, vocabulary) * 3
    logits[::2, EOS] = logits.amax() - 0.5
    logits = (logits.round() if ties else logits).to(kind)
    totals = torch.randn(sentences, beam)
    totals[0, 1:] = -float("inf")
    found = fused.choose(logits.to(on_the_gpu), totals.to(on_the_gpu), (PAD, BOS), EOS)
    expected = continuations.choose(logits.float(), totals, (PAD, BOS), [], EOS)
    for (scores, origins, tokens), (right, *others) in zip(
        map(continuations.unpacked, found), map(continuations.unpacked, expected), strict=True
    ):
        there = right.isfinite()
        torch.testing.assert_close(scores.cpu(), right, atol=1e-4, rtol=0)
        assert [origins.cpu()[there].tolist(), tokens.cpu()[there].tolist()] == [
            each[there].tolist() for each in others
        ]


@pytest.mark.parametrize("rows", [1, 64, 1500])
def test_the_likeliest_token_is_that_of_a_cpu(rows: int, kind: torch.dtype) -> None:
    """The result does not depend on how a row is cut into pieces."""
    logits = (torch.randn(rows, 8000) * 3).to(kind)
    tokens, values = fused.likeliest(logits.to(on_the_gpu), (PAD, BOS))
    right, expected = continuations.likeliest(logits.float(), (PAD, BOS), [])
    assert tokens.tolist() == right.tolist()
    torch.testing.assert_close(values.cpu(), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("vocabulary", [50, 2048, 16001])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_is_torchs(vocabulary: int, smoothing: float, kind: torch.dtype) -> None:
    """Losses and gradients agree, scaled by row, whether or not the last block of a row is full."""
    logits, expected = (4 * torch.randn(7, vocabulary)).to(kind), torch.randint(vocabulary, (7,))
    scales, plain = torch.randn(7), logits.float().requires_grad_()
    wanted = torch.nn.functional.cross_entropy(plain, expected, reduction="none", label_smoothing=smoothing)
    (wanted * scales).sum().backward()
    given = logits.to(on_the_gpu), expected.to(on_the_gpu)
    losses, totals = cross_entropy.losses(*given, smoothing)
    torch.testing.assert_close(losses.cpu(), wanted.detach())
    assert plain.grad is not None
    same(cross_entropy.gradients(*given, totals, scales.to(on_the_gpu), smoothing), plain.grad, kind)
