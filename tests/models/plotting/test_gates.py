"""The picture of gates, compared with the equations written out."""

from collections.abc import Callable
from statistics import fmean

import pytest
import torch
from torch import Tensor

from models.config import (
    ArchitectureConfig,
    AveragedDocumentConfig,
    DocTransformerConfig,
    GlobalLocalConfig,
    LayerWeightingConfig,
    SentenceConfig,
)
from models.data.documents import Document
from models.data.tokenizer import EOS
from models.engine.runtime import Runtime
from models.errors import PictureError
from models.network.architectures.aware_layers import SourceContextLayer
from models.network.architectures.doc_transformer import ContextAttention, DocTransformer
from models.network.architectures.layer_weighting import LayerWeighting
from models.network.transformer import EncoderLayer
from models.plotting.gates import GateValues, gate_values
from models.plotting.passage import network_of
from tests.models.network.oracles.transformer import (
    Sequence,
    attend,
    embed,
    encoder_layer,
    linear,
    norm,
    over_itself,
    residual,
)

OpenModel = Callable[..., Runtime]


def sources_of(runtime: Runtime, document: Document) -> list[list[int]]:
    """The token ids of each sentence, including its end."""
    return [[*runtime.tokenizer.encode_source(sentence.source), EOS] for sentence in document.sentences]


def check(found: GateValues, expected: Sequence) -> None:
    """Check that the mean and the quantiles are those of all values."""
    values = torch.stack(expected)
    assert found.tokens == len(expected)
    assert found.mean == pytest.approx(float(values.mean()), abs=1e-5)
    quantiles = values.flatten().quantile(torch.tensor([0.05, 0.25, 0.75, 0.95]))
    assert found.quantiles == pytest.approx(quantiles.tolist(), abs=1e-5)


@torch.no_grad()
def test_gate_of_zhang(open_model: OpenModel, document: Document) -> None:
    """The context's share is 1 - sigmoid(W_i x + W_s y) (Zhang et al. 2018, eq. 12), for each source token."""
    runtime = open_model(
        DocTransformerConfig(integration="encoder", context_sentences=1), encoder_layers=1, norm="post"
    )
    backbone, architecture = network_of(runtime).backbone, network_of(runtime).architecture
    assert isinstance(architecture, DocTransformer)
    assert architecture.context_encoder is not None
    layer, sublayer = backbone.encoder[0], architecture.encoder[0]
    assert isinstance(layer, EncoderLayer)
    assert isinstance(sublayer, ContextAttention)
    assert sublayer.gate is not None
    expected: Sequence = []
    before = [EOS]
    for source in sources_of(runtime, document):
        memory = encoder_layer(
            architecture.context_encoder.layers[0], embed(backbone, backbone.source_embedding, before)
        )
        x = embed(backbone, backbone.source_embedding, source)
        for each in residual(layer.self_residual, x, over_itself(layer.self_attention)):
            y = attend(sublayer.attention, each, memory)
            expected.append(1 - sigmoid(linear(sublayer.gate.sentence, each) + linear(sublayer.gate.context, y)))
        before = source
    (found,) = gate_values(runtime, document)
    assert (found.part, found.layer) == ("encoder", 1)
    check(found, expected)


@torch.no_grad()
def test_gate_of_xu(open_model: OpenModel, document: Document) -> None:
    """The current sentence keeps sigmoid(W [a; c] + b) of its context, for each context token."""
    config = LayerWeightingConfig(context_sentences=2, layer_weighting=False, target_context=False)
    runtime = open_model(config, encoder_layers=1)
    backbone, architecture = network_of(runtime).backbone, network_of(runtime).architecture
    assert isinstance(architecture, LayerWeighting)
    layer = architecture.source_layers[0]
    assert isinstance(layer, SourceContextLayer)
    assert layer.input_attention is not None
    assert layer.gate is not None
    memories: list[Sequence] = []
    for source in sources_of(runtime, document):
        x = encoder_layer(backbone.encoder[0], embed(backbone, backbone.source_embedding, source))
        memories.append([norm(backbone.encoder_norm, each) for each in x])
    expected: Sequence = []
    for number, memory in enumerate(memories):
        for context in memories[max(0, number - 2) : number]:
            for a in residual(layer.self_residual, context, over_itself(layer.self_attention)):
                query = norm(layer.input_norm, a)
                c = attend(layer.input_attention, query, memory)
                expected.append(sigmoid(linear(layer.gate.both, torch.cat([query, c]))))
    found = {gate.part: gate for gate in gate_values(runtime, document)}
    assert list(found) == [
        "context: input",
        "encoder: source context",
        "decoder: source in context",
        "decoder: source context",
    ]
    check(found["context: input"], expected)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + torch.exp(-x))


@pytest.mark.parametrize(
    ("architecture", "layers"),
    [
        (DocTransformerConfig(), {"encoder": 2, "decoder": 2}),
        (AveragedDocumentConfig(context="previous", attention_width=8, attention_heads=2), {"decoder": 2}),
        (GlobalLocalConfig(), {"encoder": 3}),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_gates_of_every_layer(
    open_model: OpenModel, document: Document, architecture: ArchitectureConfig, layers: dict[str, int]
) -> None:
    """Each part has gates up to its last layer, and their figures are between 0 and 1, in order."""
    found = gate_values(open_model(architecture), document)
    assert {gate.part: gate.layer for gate in found} == layers
    for gate in found:
        assert 0 <= gate.quantiles[0] <= gate.quantiles[1] <= gate.quantiles[2] <= gate.quantiles[3] <= 1
        assert gate.quantiles[0] <= gate.mean <= gate.quantiles[3]
    assert 0 < fmean(gate.mean for gate in found) < 1


@pytest.mark.parametrize(
    "architecture", [SentenceConfig(), DocTransformerConfig(gating=False)], ids=lambda config: config.kind
)
def test_architecture_without_gates_says_so(
    open_model: OpenModel, document: Document, architecture: ArchitectureConfig
) -> None:
    """A model without gates has no such picture."""
    with pytest.raises(PictureError, match="has no gates"):
        gate_values(open_model(architecture), document)


def test_gates_that_no_sentence_uses(open_model: OpenModel, document: Document) -> None:
    """A document of one sentence has no context, so only the frozen model translates it."""
    single = Document(document.sentences[:1], "single")
    with pytest.raises(PictureError, match="single has no sentence with context"):
        gate_values(open_model(LayerWeightingConfig()), single)
