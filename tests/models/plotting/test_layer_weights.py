"""The picture of learnt mixtures of layers."""

import math
from collections.abc import Callable

import pytest

from models.config import DocTransformerConfig, LayerWeightingConfig
from models.engine.runtime import Runtime
from models.errors import PictureError
from models.network.architectures.layer_weighting import LayerWeighting
from models.plotting.layer_weights import layer_weights
from models.plotting.passage import network_of

OpenModel = Callable[..., Runtime]


def test_weights_are_the_softmax_of_the_parameters(open_model: OpenModel) -> None:
    """There is a share for the embeddings, and for each layer of the encoder or decoder."""
    runtime = open_model(LayerWeightingConfig(target_weighting=True), encoder_layers=3)
    architecture = network_of(runtime).architecture
    assert isinstance(architecture, LayerWeighting)
    found = layer_weights(runtime)
    assert {side: len(shares) for side, shares in found.items()} == {"source": 4, "target": 3}
    for side, mixture in (("source", architecture.mixture), ("target", architecture.target_mixture)):
        assert mixture is not None
        exponentials = [math.exp(weight) for weight in mixture.weights.tolist()]
        assert found[side] == pytest.approx([each / sum(exponentials) for each in exponentials])


def test_only_what_is_mixed(open_model: OpenModel) -> None:
    """If only source layers are mixed, there are no weights of the target side."""
    assert list(layer_weights(open_model(LayerWeightingConfig()))) == ["source"]


@pytest.mark.parametrize(
    "architecture", [DocTransformerConfig(), LayerWeightingConfig(layer_weighting=False)], ids=lambda each: each.kind
)
def test_model_without_a_mixture_says_so(
    open_model: OpenModel, architecture: DocTransformerConfig | LayerWeightingConfig
) -> None:
    """A model without learnt weights of layers has no such picture."""
    with pytest.raises(PictureError, match="no learned weights of layers"):
        layer_weights(open_model(architecture))
