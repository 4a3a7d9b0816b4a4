from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from models.config import BackboneConfig, SentenceConfig
from models.data.batches import make_batch
from models.network.model import TranslationModel

SMALL = BackboneConfig(width=16, feed_forward=24, heads=2, encoder_layers=1, decoder_layers=1, max_length=16)


def build(**switches: object) -> TranslationModel:
    """A sentence model over 20 source and 20 target pieces."""
    return TranslationModel(SMALL.model_copy(update=switches), SentenceConfig(), 20, 20)


def matrices(model: TranslationModel) -> int:
    """How many embedding and output matrices there are."""
    backbone = model.backbone
    parts = (backbone.source_embedding.weight, backbone.target_embedding.weight, backbone.output.weight)
    return len({id(part) for part in parts})


@pytest.mark.parametrize(("embeddings", "count"), [("shared", 1), ("output", 2), ("separate", 3)])
def test_embeddings_are_tied_as_the_switch_says(embeddings: str, count: int) -> None:
    """There are one, two or three matrices, which stay tied through initialisation."""
    model = build(embeddings=embeddings)
    assert matrices(model) == count
    model.initialize()
    assert matrices(model) == count


def test_embeddings_are_scaled_by_the_square_root_of_the_width() -> None:
    """As in Vaswani et al. 2017, section 3.4; positions are added."""
    backbone = build().backbone
    expected = backbone.source_embedding.weight[5] * 4 + backbone.positions[3]
    assert torch.allclose(backbone.embed(backbone.source_embedding, torch.tensor([[5]]), slice(3, 4))[0, 0], expected)


def test_depths_of_encoder_and_decoder_are_apart() -> None:
    """A deep encoder can have a shallow decoder."""
    backbone = build(encoder_layers=3, decoder_layers=1).backbone
    assert (len(backbone.encoder), len(backbone.decoder)) == (3, 1)


def test_initialisation_depends_on_the_seed_alone() -> None:
    """Two models with the same seed are equal to the bit, with different seeds they differ; biases start at zero."""
    weights = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        model = build()
        model.initialize()
        weights.append(torch.cat([parameter.flatten() for parameter in model.parameters()]))
        assert not any(m.bias.any() for m in model.modules() if isinstance(m, nn.Linear) and m.bias is not None)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_weights_begin_as_large_as_they_should() -> None:
    """Matrices follow Glorot and Bengio 2010, eq. 16; embeddings have length 1 before they are scaled."""
    torch.manual_seed(1)
    model = build(width=64, embeddings="output")
    model.initialize()
    backbone = model.backbone
    for embedding in (backbone.source_embedding, backbone.target_embedding):
        assert embedding.weight.norm(dim=1).mean().item() == pytest.approx(1, abs=0.1)
    inner = backbone.encoder[0].feed_forward.inner.weight  # type: ignore[union-attr]
    assert inner.abs().max().item() == pytest.approx((6 / (64 + 24)) ** 0.5, rel=0.01)  # type: ignore[operator]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_is_on_embeddings_and_on_what_every_sublayer_gives(norm: str) -> None:
    """As in Vaswani et al. 2017, section 5.4, it is applied on both sides, once each."""
    model, found = build(norm=norm).train(), Counter[str]()
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda *_, name=name: found.update([name]))
    batch = make_batch([[5, 6]], [[7, 8]], {})
    assert batch.target is not None
    model.hidden(batch, batch.target[:, :-1])
    residuals = ("encoder.0.self", "encoder.0.feed", "decoder.0.self", "decoder.0.source", "decoder.0.feed")
    assert found == {"backbone.dropout": 2} | {f"backbone.{name}_residual.dropout": 1 for name in residuals}


@given(st.lists(st.integers(4, 19), max_size=15), st.lists(st.integers(4, 19), min_size=1, max_size=14))
def test_any_sentence_up_to_the_maximum_length_has_finite_scores(source: list[int], target: list[int]) -> None:
    """This holds from an empty source to one that fills the position table."""
    model = build().eval()
    batch = make_batch([source], [target], {})
    assert batch.target is not None
    with torch.no_grad():
        hidden = model.decode(batch.target[:, :-1], model.start(batch, cached=False))
        assert model.logits(hidden).isfinite().all()
