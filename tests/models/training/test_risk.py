"""Minimum risk training goes by what a model would choose, and teaches it to choose better."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.config import ArchitectureConfig, BackboneConfig, DocTransformerConfig, RiskConfig, SentenceConfig
from models.data.batches import Batch, Example, Rivals, make_batch, pad_targets
from models.errors import DataError
from models.network.model import TranslationModel
from models.search.hypotheses import SearchOptions
from models.training.objective import token_losses
from models.training.risk import risk, risk_losses

V = 20
BACKBONE = BackboneConfig(width=16, feed_forward=24, heads=2, encoder_layers=1, decoder_layers=1, max_length=16)
SOURCES, REFERENCES = [[5, 6, 7], [8]], [[11, 12], [13, 14, 15, 16]]
CANDIDATES = [[[11, 13], [12], [12, 12, 12]], [[13, 14], [17, 18, 19]]]
GAINS = [[0.9, 0.2, 0.1], [0.8, 0.3, 0.0]]


def config(**values: float) -> RiskConfig:
    """Of a file that nobody reads."""
    return RiskConfig(candidates=Path("candidates"), **values)  # type: ignore[arg-type]


def make_model(architecture: ArchitectureConfig) -> TranslationModel:
    """A tiny random model."""
    torch.manual_seed(1)
    built = TranslationModel(BACKBONE, architecture, V, V)
    built.initialize()
    return built.eval()


@pytest.fixture
def rivals() -> Rivals:
    """Three candidates of one sentence, and two of another."""
    rows = [REFERENCES[0], *CANDIDATES[0], REFERENCES[1], *CANDIDATES[1], []]
    real = torch.tensor([[True, True, True], [True, True, False]])
    return Rivals(pad_targets(rows), torch.tensor(GAINS), real)


@pytest.fixture
def batch(rivals: Rivals) -> Batch:
    """Both sentences."""
    return replace(make_batch(SOURCES, REFERENCES, {}), rivals=rivals)


def test_a_risk_is_what_the_likelier_candidates_lack(rivals: Rivals) -> None:
    """Shen et al. 2016, eq. 6 and 7: 1 less the mean gain, each weighed by its share of the probability."""
    log_probabilities = torch.tensor([[2.0, 4.0, 6.0], [3.0, 8.0, 0.0]]).neg()
    lengths = torch.tensor([[2, 2, 2], [3, 4, 1]])
    found = risk(log_probabilities, lengths, torch.tensor([[3], [5]]), rivals, config(sharpness=2.0))
    first, second = [math.exp(-x) for x in (2, 4, 6)], [math.exp(-x) for x in (2, 4)]
    gains = [
        sum(p * gain for p, gain in zip(each, of, strict=False))
        for each, of in zip((first, second), GAINS, strict=True)
    ]
    assert found.tolist() == pytest.approx([1 - gains[0] / sum(first), 1 - gains[1] / sum(second)])


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 1.4])
def test_candidates_are_compared_as_in_search(alpha: float) -> None:
    """The likeliest of two candidates of unlike lengths is the one that search would choose."""
    options = SearchOptions(alpha=alpha, normalization="power")
    gains = torch.tensor([[1.0, 0.0]])
    pair = Rivals(torch.zeros(3, 1), gains, torch.ones(1, 2, dtype=torch.bool))
    for totals, lengths in (((-6.0, -9.0), (4, 7)), ((-6.0, -11.0), (4, 7)), ((-6.0, -7.0), (9, 10))):
        one, other = (options.normalize(*each) for each in zip(totals, lengths, strict=True))
        found = risk(torch.tensor([totals]), torch.tensor([lengths]), torch.tensor([[5]]), pair, config(alpha=alpha))
        assert (found.item() < 0.5) == (one > other)


@pytest.mark.parametrize("architecture", [SentenceConfig(), DocTransformerConfig(context_sentences=1)])
@torch.no_grad()
def test_candidates_are_as_likely_as_alone(architecture: ArchitectureConfig, batch: Batch, rivals: Rivals) -> None:
    """Each by the sentence that it translates; and of the reference there is as much as was asked for."""
    model = make_model(architecture)
    read = [Example(SOURCES[0], preceding=[[9, 9]]), Example(SOURCES[1])]
    context = model.architecture.collate([model.architecture.select(each) for each in read])
    batch = replace(batch, context=context)

    def totals(targets: list[list[int]]) -> torch.Tensor:
        return token_losses(model, replace(batch, target=pad_targets(targets))).sum(1)

    columns = [totals([[*CANDIDATES[0], []][place], [*CANDIDATES[1], []][place]]) for place in range(3)]
    lengths = torch.tensor([[3, 2, 4], [3, 4, 1]])
    expected = risk(-torch.stack(columns, 1), lengths, torch.tensor([[3], [5]]), rivals, config(alpha=1.4))
    found = risk_losses(model, batch, config(alpha=1.4, cross_entropy=0.3))
    torch.testing.assert_close(found, 0.3 * totals(REFERENCES) + 0.7 * torch.tensor([3, 5]) * expected)
    smooth = risk_losses(model, batch, config(alpha=1.4, cross_entropy=0.3), label_smoothing=0.2)
    differ = token_losses(model, batch, 0.2).sum(1) - token_losses(model, batch).sum(1)
    torch.testing.assert_close(smooth - found, 0.3 * differ)


def test_a_model_learns_to_choose_the_best(batch: Batch) -> None:
    """After some updates, the best candidate of each sentence is the likeliest by far."""
    model = make_model(SentenceConfig())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    settings = config(sharpness=5.0, cross_entropy=0.0)
    for _ in range(60):
        optimizer.zero_grad()
        risk_losses(model, batch, settings).sum().backward()
        optimizer.step()
    with torch.no_grad():
        risks = risk_losses(model, batch, settings) / torch.tensor([3, 5])
    assert risks.tolist() == pytest.approx([0.1, 0.2], abs=0.02)


def test_a_batch_without_candidates_has_no_risk(batch: Batch) -> None:
    """It says so."""
    with pytest.raises(DataError, match="without candidates"):
        risk_losses(make_model(SentenceConfig()), replace(batch, rivals=None), config())
