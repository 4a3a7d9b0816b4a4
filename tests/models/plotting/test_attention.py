"""The picture of attention between sentences, compared with the equations written out."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from models.config import (
    ArchitectureConfig,
    AveragedDocumentConfig,
    DocTransformerConfig,
    GlobalLocalConfig,
    LayerWeightingConfig,
    Norm,
    SentenceConfig,
)
from models.data.documents import Document, Sentence
from models.data.tokenizer import EOS
from models.engine.runtime import Runtime
from models.errors import PictureError
from models.network.architectures.doc_transformer import DocTransformer
from models.network.attention import Attention
from models.network.transformer import EncoderLayer
from models.plotting.attention import sentence_attention
from models.plotting.passage import network_of
from tests.models.network.oracles.transformer import (
    Sequence,
    embed,
    encoder_layer,
    linear,
    norm,
    over_itself,
    residual,
    softmax,
)

OpenModel = Callable[..., Runtime]


def mean_weights(attention: Attention, queries: Sequence, memory: Sequence) -> list[float]:
    """The weight of each key, averaged over heads and queries, computed one product at a time."""
    size = len(queries[0]) // attention.heads
    total = [0.0] * len(memory)
    for x in queries:
        query, keys = linear(attention.query, x), [linear(attention.key_value, m) for m in memory]
        for head in range(attention.heads):
            own = slice(head * size, (head + 1) * size)
            weights = softmax([query[own] @ key[own] / math.sqrt(size) for key in keys])
            total = [sum(pair) for pair in zip(total, map(float, weights), strict=True)]
    return [each / (len(queries) * attention.heads) for each in total]


@pytest.mark.parametrize("order", ["pre", "post"])
@torch.no_grad()
def test_attention_is_the_papers(open_model: OpenModel, document: Document, order: Norm) -> None:
    """A preceding sentence gets the sum of what Zhang et al.'s context attention gives to its tokens."""
    runtime = open_model(DocTransformerConfig(integration="encoder"), encoder_layers=1, norm=order)
    (found,) = sentence_attention(runtime, document)
    model, tokenizer = network_of(runtime), runtime.tokenizer
    backbone, architecture = model.backbone, model.architecture
    assert isinstance(architecture, DocTransformer)
    assert architecture.context_encoder is not None
    sources = [list(tokenizer.encode_source(sentence.source)) for sentence in document.sentences]
    layer, sublayer = backbone.encoder[0], architecture.encoder[0]
    assert isinstance(layer, EncoderLayer)
    for number in range(1, len(sources)):
        first = max(0, number - 2)
        joined = [token for tokens in sources[first:number] for token in tokens] + [EOS]
        memory = embed(backbone, backbone.source_embedding, joined)
        for context_layer in architecture.context_encoder.layers:
            memory = encoder_layer(context_layer, memory)
        memory = [norm(architecture.context_encoder.norm, x) for x in memory]
        x = embed(backbone, backbone.source_embedding, [*sources[number], EOS])
        x = residual(layer.self_residual, x, over_itself(layer.self_attention))
        queries: list[Tensor] = [norm(sublayer.norm, each) for each in x] if order == "pre" else x
        weights = mean_weights(sublayer.attention, queries, memory)
        end = len(sources[first]) if number - first == 2 else 0
        expected = {number - 1: sum(weights[end:])} | ({first: sum(weights[:end])} if end else {})
        assert found.shares[number] == pytest.approx([expected.get(i, 0.0) for i in range(5)], abs=1e-5)


@pytest.mark.parametrize(
    ("architecture", "parts", "reads"),
    [
        (DocTransformerConfig(), ["encoder", "decoder"], [[], [0], [0, 1], [1, 2], [2, 3]]),
        (
            LayerWeightingConfig(context_sentences=3),
            ["encoder: source context", "decoder: source context", "decoder: target context"],
            [[], [0], [0, 1], [0, 1, 2], [1, 2, 3]],
        ),
        (GlobalLocalConfig(block_sentences=3), ["encoder"], [[0, 1, 2], [0, 1, 2], [0, 1, 2], [3, 4], [3, 4]]),
        (GlobalLocalConfig(causal=True), ["encoder"], [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_rows_add_up_to_one_over_what_is_read(
    open_model: OpenModel,
    document: Document,
    architecture: ArchitectureConfig,
    parts: list[str],
    reads: list[list[int]],
) -> None:
    """A sentence divides its attention among the sentences of its window; if there are none, its row is 0."""
    found = sentence_attention(open_model(architecture), document)
    assert [each.part for each in found] == parts
    for each in found:
        for row, read in zip(each.shares, reads, strict=True):
            assert [i for i, share in enumerate(row) if share > 0] == read
            assert sum(row) == pytest.approx(1.0 if read else 0.0, abs=1e-5)


def test_document_without_translations_is_translated(open_model: OpenModel, document: Document) -> None:
    """Without given translations, the decoder's attention is to the model's own."""
    runtime = open_model(DocTransformerConfig())
    sources = Document(tuple(Sentence(sentence.source) for sentence in document.sentences), "sources")
    encoder, decoder = sentence_attention(runtime, sources)
    expected = sentence_attention(runtime, document)
    assert encoder == expected[0]
    assert decoder != expected[1]


@pytest.mark.parametrize(
    "architecture",
    [SentenceConfig(), AveragedDocumentConfig(context="document"), DocTransformerConfig(integration="none")],
    ids=lambda config: config.kind,
)
def test_architecture_without_context_attention_says_so(
    open_model: OpenModel, document: Document, architecture: ArchitectureConfig
) -> None:
    """A model that attends to no other sentences has no such picture."""
    with pytest.raises(PictureError, match="no attention across sentences"):
        sentence_attention(open_model(architecture), document)


def test_document_without_context_says_so(open_model: OpenModel, document: Document) -> None:
    """A single sentence has no others to attend to."""
    with pytest.raises(PictureError, match="single: no sentence has other sentences to attend to"):
        sentence_attention(open_model(DocTransformerConfig()), Document(document.sentences[:1], "single"))
