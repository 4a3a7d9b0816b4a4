"""The loss and the schedule are those of the papers."""

import math
from dataclasses import replace

import pytest
import torch

from models.config import BackboneConfig, ScheduleConfig, SentenceConfig
from models.data.batches import Batch, make_batch
from models.errors import DataError
from models.network.model import TranslationModel
from models.training.checkpoints import Progress
from models.training.objective import count_tokens, learning_rate, token_losses, weighted_sum

V = 20
UPDATES = 20_000
BACKBONE = BackboneConfig(width=16, feed_forward=24, heads=2, encoder_layers=1, decoder_layers=1, max_length=16)


@pytest.fixture
def model() -> TranslationModel:
    """A tiny random sentence model."""
    torch.manual_seed(1)
    built = TranslationModel(BACKBONE, SentenceConfig(), V, V)
    built.initialize()
    return built.eval()


@pytest.fixture
def batch() -> Batch:
    """Three sentences of different lengths."""
    return make_batch([[5, 6, 7], [8], [9, 10]], [[11, 12], [13, 14, 15, 16], []], {})


def log_probabilities(model: TranslationModel, batch: Batch) -> torch.Tensor:
    """Log-probabilities of every class at every position of the target."""
    assert batch.target is not None
    hidden = model.decode(batch.target[:, :-1], model.start(batch, cached=False))
    return model.logits(hidden).log_softmax(-1)


@torch.no_grad()
def test_the_loss_is_the_cross_entropy_of_each_token(model: TranslationModel, batch: Batch) -> None:
    """It is minus the log-probability of each target token, including the end of sentence, and 0 for padding."""
    assert batch.target is not None
    losses, expected = token_losses(model, batch), -log_probabilities(model, batch)
    for row, length in enumerate((3, 5, 1)):
        own = expected[row].gather(1, batch.target[row, 1:, None])[:, 0]
        assert torch.allclose(losses[row, :length], own[:length], atol=1e-6)
        assert not losses[row, length:].any()


@torch.no_grad()
def test_label_smoothing_spreads_probability_over_all_classes(model: TranslationModel, batch: Batch) -> None:
    """Szegedy et al. 2016: (1 - e) of the mass on the token, e / V on every class."""
    plain, smooth = token_losses(model, batch), token_losses(model, batch, 0.1)
    uniform = -log_probabilities(model, batch).mean(-1)
    real = plain.gt(0)
    assert torch.allclose(smooth[real], 0.9 * plain[real] + 0.1 * uniform[real], atol=1e-6)


def test_a_batch_without_a_target_has_no_loss(model: TranslationModel) -> None:
    """It is an error."""
    with pytest.raises(DataError):
        token_losses(model, make_batch([[5]], None, {}))


def test_the_rate_rises_to_its_peak_and_falls_with_the_square_root() -> None:
    """The rate rises linearly to `peak` at `warmup`, and is half of that at four times as many updates."""
    schedule = ScheduleConfig(peak=1e-3, warmup=100)
    assert learning_rate(schedule, 1, UPDATES) == pytest.approx(1e-5)
    assert learning_rate(schedule, 50, UPDATES) == pytest.approx(5e-4)
    assert learning_rate(schedule, 100, UPDATES) == pytest.approx(1e-3)
    assert learning_rate(schedule, 400, UPDATES) == pytest.approx(5e-4)


def test_the_schedule_is_that_of_vaswani() -> None:
    """With the right peak, it is d^-0.5 min(t^-0.5, t w^-1.5) (eq. 3)."""
    schedule = ScheduleConfig(peak=1 / math.sqrt(512 * 4000), warmup=4000)
    for update in (1, 1000, 4000, 20000):
        expected = 512**-0.5 * min(update**-0.5, update * 4000**-1.5)
        assert learning_rate(schedule, update, UPDATES) == pytest.approx(expected)


def test_a_linear_rate_ends_at_nothing() -> None:
    """It is half of the peak halfway down; the last update still changes weights, but one after it would not."""
    schedule = ScheduleConfig(kind="linear", peak=1e-3, warmup=100)
    assert learning_rate(schedule, 50, 1099) == pytest.approx(5e-4)
    assert learning_rate(schedule, 100, 1099) == pytest.approx(1e-3)
    assert learning_rate(schedule, 600, 1099) == pytest.approx(5e-4)
    assert learning_rate(schedule, 1099, 1099) == pytest.approx(1e-6)
    assert learning_rate(schedule, 1100, 1099) == 0


def test_learning_rate_of_plateaus() -> None:
    """A linear warm-up, then a constant, times the factor after each plateau (Stojanovski and Fraser 2019)."""
    schedule = ScheduleConfig(kind="plateau", peak=1e-4, warmup=10, factor=0.7)
    assert learning_rate(schedule, 5, UPDATES) == pytest.approx(5e-5)
    assert learning_rate(schedule, 10, UPDATES) == learning_rate(schedule, 10_000, UPDATES) == 1e-4
    assert learning_rate(schedule, 10_000, UPDATES, plateaus=2) == pytest.approx(4.9e-5)


def test_stale_validations_make_a_plateau() -> None:
    """Stale validations in a row count, afresh after a better one, which does not raise the rate again."""
    progress = Progress()
    for loss in (3.0, 3.1, 3.2, 2.9, 3.0, 3.0, 3.0, 3.0):
        progress.judge(loss, patience=2)
    assert (progress.plateaus, progress.stale, progress.best_loss) == (3, 4, 2.9)


def test_a_sentence_weighs_as_if_it_were_there_so_often(batch: Batch) -> None:
    """A batch with a sentence of weight 3 has the loss and the weight of one that has the sentence three times."""
    torch.manual_seed(1)
    losses = torch.rand(3, 5) * torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]])
    heavy = replace(batch, weights=torch.tensor([1.0, 3.0, 1.0]))
    assert count_tokens(batch) == (9, 9.0)
    assert count_tokens(heavy) == (9, 19.0)
    rows = [0, 1, 1, 1, 2]
    torch.testing.assert_close(weighted_sum(losses, heavy), losses[rows].sum())
    torch.testing.assert_close(weighted_sum(losses, batch), losses.sum())
