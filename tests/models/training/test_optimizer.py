"""Muon changes matrices by nearly orthogonal steps of the size of Adam's, and leaves all else to Adam."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from models.config import BackboneConfig, DocTransformerConfig, SentenceConfig, TrainingConfig
from models.data.batches import make_batch
from models.errors import CheckpointError
from models.network.model import TranslationModel
from models.training.distributed import World
from models.training.muon import Muon
from models.training.objective import token_losses
from models.training.optimizer import Optimizer

V, RATE = 20, 1e-2
BACKBONE = BackboneConfig(
    width=16, feed_forward=24, heads=2, encoder_layers=1, decoder_layers=1, max_length=16, embeddings="separate"
)
MATRIX, TABLES = (
    "backbone.decoder.0.feed_forward.inner.weight",
    ("backbone.output.weight", "backbone.target_embedding.weight"),
)


def a_model() -> TranslationModel:
    """A tiny random sentence model with a gradient."""
    torch.manual_seed(1)
    model = TranslationModel(BACKBONE, SentenceConfig(), V, V)
    model.initialize()
    words = torch.randint(5, V, (2, 100, 9)).tolist()
    token_losses(model, make_batch(*words, {})).sum().backward()
    return model


def moves(kind: str) -> dict[str, Tensor]:
    """The first step's change of each parameter, in units of the rate."""
    model = a_model()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    Optimizer(model, TrainingConfig(updates=1, optimizer=kind), World()).step(RATE)
    return {name: (p.detach() - before[name]) / RATE for name, p in model.named_parameters()}


def test_muon_moves_matrices_by_orthogonal_steps() -> None:
    """A step has similar singular values, unlike the gradient, and the size of Adam's later steps."""
    step, gradient = moves("muon")[MATRIX], dict(a_model().named_parameters())[MATRIX].grad
    assert gradient is not None
    values = torch.linalg.svdvals(step) / (0.2 * math.sqrt(max(step.shape)))
    unlike = torch.linalg.svdvals(gradient)
    assert values.median() > 0.7
    assert values.max() < 1.3
    assert unlike.max() > 5 * unlike.median()


@pytest.mark.parametrize("shape", [(24, 16), (16, 16), (16, 24)])
@pytest.mark.parametrize("bfloat16", [False, True])
def test_muon_is_that_of_torch(shape: tuple[int, int], bfloat16: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three steps, in float32 or bfloat16, equal torch's, which are in bfloat16, up to its rounding."""
    monkeypatch.setattr("models.training.muon.computes_bfloat16", lambda _: bfloat16)
    torch.manual_seed(1)
    start, gradients = torch.randn(shape), torch.randn(3, *shape)
    ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
    muons = (
        Muon([ours], World(), RATE),
        torch.optim.Muon([theirs], RATE, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
    )
    for gradient in gradients:
        for matrix, muon in zip((ours, theirs), muons, strict=True):
            matrix.grad = gradient.clone()
            muon.step()
    assert torch.allclose(ours, theirs, atol=0.05 * (start - theirs).abs().max().item())


def test_muon_does_not_shrink_what_has_no_gradient() -> None:
    """There is no weight decay, as with Adam."""
    model = a_model()
    before = [p.detach().clone() for p in model.parameters()]
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    Optimizer(model, TrainingConfig(updates=1, optimizer="muon"), World()).step(RATE)
    assert all(map(torch.equal, before, model.parameters()))


def test_muon_has_nothing_to_share_out_without_gradients() -> None:
    """If no matrix has a gradient, all stay as they are, even with several processes."""
    matrix = torch.ones(3, 2, requires_grad=True)
    Muon([matrix], World(0, 2), RATE).step()
    assert torch.equal(matrix, torch.ones(3, 2))


def test_muon_leaves_tables_and_vectors_to_adam() -> None:
    """Embeddings, the output layer, norms and biases change exactly as with Adam, and matrices do not."""
    muon, adam = moves("muon"), moves("adam")
    matrices = {
        name for name, step in adam.items() if step.ndim == 2 and name not in TABLES and "embedding" not in name
    }
    for name, step in adam.items():
        assert torch.equal(muon[name], step) == (name not in matrices), name


def test_gradients_are_clipped_and_remembered_as_the_settings_say() -> None:
    """Together, they have the norm `clip_norm`, and Adam's two means take the shares of them that the betas leave."""
    model, settings = a_model(), TrainingConfig(updates=1, clip_norm=0.5, adam_betas=(0.8, 0.9))
    optimizer = Optimizer(model, settings, World())
    assert sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None) > 0.5**2
    optimizer.step(RATE)
    means: dict[str, list[Tensor]] = {"exp_avg": [], "exp_avg_sq": []}
    for key, tensor in optimizer.tensors().items():
        means.get(key.partition("/")[0], []).append(tensor)
    assert sum(mean.square().sum().item() for mean in means["exp_avg"]) == pytest.approx((0.2 * 0.5) ** 2, rel=1e-3)
    assert sum(mean.sum().item() for mean in means["exp_avg_sq"]) == pytest.approx(0.1 * 0.5**2, rel=1e-3)


def test_a_large_epsilon_keeps_small_gradients_from_moving_much() -> None:
    """Adam's first step is the rate times g / (|g| + epsilon)."""
    model = a_model()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    Optimizer(model, TrainingConfig(updates=1, clip_norm=0.5, adam_epsilon=1.0), World()).step(RATE)
    assert max((p - before[name]).abs().max().item() for name, p in model.named_parameters()) < RATE / 3


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_the_backbone_may_move_slower(kind: str) -> None:
    """At a tenth of the rate, it takes a tenth of the step; context modules take the whole step."""
    steps = []
    for share in (1.0, 0.1):
        model = TranslationModel(BACKBONE, DocTransformerConfig(context_sentences=1), V, V)
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        settings = TrainingConfig(
            step="document", init=Path("step-one"), updates=1, optimizer=kind, backbone_rate=share, unfreeze=True
        )
        Optimizer(model, settings, World()).step(RATE)
        steps.append({name: p.detach() - before[name] for name, p in model.named_parameters()})
    whole, slower = steps
    assert {name.partition(".")[0] for name in whole} == {"backbone", "architecture"}
    for name, step in whole.items():
        share = 0.1 if name.startswith("backbone.") else 1.0
        torch.testing.assert_close(slower[name], share * step, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_what_is_remembered_is_what_it_goes_on_with(kind: str) -> None:
    """An optimiser that loads another one's state takes the step that the other one would have taken."""
    settings = TrainingConfig(updates=9, optimizer=kind)
    ends = []
    for interrupted in (False, True):
        model = a_model()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        optimizer = Optimizer(model, settings, World())
        optimizer.step(RATE)
        if interrupted:
            remembered, optimizer = optimizer.tensors(), Optimizer(model, settings, World())
            optimizer.load(remembered)
        for name, p in model.named_parameters():
            p.grad = gradients[name].clone()
        optimizer.step(RATE)
        ends.append([p.detach() for p in model.parameters()])
    assert all(map(torch.equal, *ends))


def test_a_state_of_other_parameters_is_refused() -> None:
    """The error names the parameter."""
    with pytest.raises(CheckpointError, match="nosuch"):
        Optimizer(a_model(), TrainingConfig(updates=1), World()).load({"exp_avg/nosuch": torch.zeros(1)})
