from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from models.config import BackboneConfig, DocTransformerConfig, Norm, SentenceConfig
from models.data.batches import Batch, Example, make_batch
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import BOS, EOS
from models.network.architectures.context_attention import ContextAttention
from models.network.architectures.doc_transformer import DocTransformer
from models.network.layers import Gate
from models.training.objective import target_of, token_losses
from tests.models.network.oracles.doc_transformer import doc_transformer

Make = Callable[..., Any]
SMALL = BackboneConfig(width=16, feed_forward=24, heads=2, encoder_layers=2, decoder_layers=2, max_length=32)


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Two documents."""
    built: TokenizedCorpus = make_corpus(make_document(1), make_document(2))
    return built


@torch.no_grad()
def hidden(model: Any, batch: Batch) -> Tensor:
    """Hidden states of a whole target."""
    states: Tensor = model.decode(target_of(batch)[:, :-1], model.start(batch, cached=False))
    return states


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"context_sentences": 3, "context_layers": 2},
        {"gating": False},
        {"integration": "encoder"},
        {"integration": "decoder", "context_sentences": 1},
        {"integration": "none"},
    ],
    ids=str,
)
@torch.no_grad()
def test_log_probabilities_are_the_papers(
    make_model: Make, corpus: TokenizedCorpus, settings: dict[str, Any], norm: Norm
) -> None:
    """A batch of whole sentences gives what the equations, written out, give for each sentence alone."""
    config = DocTransformerConfig.model_validate(settings)
    model = make_model(config, norm=norm)
    batch = corpus.batch(range(5), model.architecture)
    found = model.logits(hidden(model, batch)).log_softmax(-1)
    for index in range(5):
        source, target = list(corpus.sources[index]), list(corpus.targets[index])
        preceding = [list(tokens) for tokens in corpus.sources[max(0, index - config.context_sentences) : index]]
        expected = doc_transformer(model, [*source, EOS], [BOS, *target], preceding)
        assert torch.allclose(found[index, : len(expected)], expected, atol=1e-5)


def test_integration_none_is_the_sentence_model_to_the_bit(
    make_model: Make, corpus: TokenizedCorpus, norm: Norm
) -> None:
    """With the context module off, it adds neither values nor parameters to the backbone, with or without context."""
    off = make_model(DocTransformerConfig(integration="none"), norm=norm)
    sentence = make_model(SentenceConfig(), norm=norm)
    sentence.load_state_dict(off.state_dict())
    batches = [corpus.batch(range(10), model.architecture) for model in (off, sentence)]
    assert torch.equal(hidden(off, batches[0]), hidden(sentence, batches[1]))


def test_step_two_starts_at_the_sentence_model(make_model: Make, corpus: TokenizedCorpus) -> None:
    """On a pre-norm backbone, a freshly initialised context module changes nothing, whatever the context."""
    model = make_model(DocTransformerConfig(), norm="pre", scramble=False)
    sentence = make_model(SentenceConfig(), norm="pre")
    sentence.backbone = model.backbone
    batches = [corpus.batch(range(10), each.architecture) for each in (model, sentence)]
    assert torch.equal(hidden(model, batches[0]), hidden(sentence, batches[1]))


@pytest.mark.parametrize(("window", "count"), [(1, 1), (2, 2), (3, 3)])
def test_context_is_the_latest_sentences_joined(window: int, count: int) -> None:
    """Preceding sentences are in reading order, with nothing between them, and one end of sentence after the last."""
    reader = DocTransformer(DocTransformerConfig(context_sentences=window), SMALL, 0.0)
    preceding = [[10, 11], [12], [13, 14, 15]]
    chosen = reader.select(Example([9], preceding=preceding))
    assert chosen.preceding == preceding[-count:]
    assert reader.collate([chosen])["tokens"].tolist() == [[*(t for s in preceding[-count:] for t in s), EOS]]


def test_no_context_is_the_boundary_token() -> None:
    """The first sentence of a document reads </s> alone, never an empty tensor."""
    reader = DocTransformer(DocTransformerConfig(), SMALL, 0.0)
    assert reader.collate([reader.select(Example([9]))])["tokens"].tolist() == [[EOS]]


@pytest.mark.parametrize(("lengths", "kept"), [((15, 16), 2), ((16, 16), 1), ((2, 31), 1), ((2, 32), 0), ((40, 5), 1)])
def test_context_too_long_loses_its_oldest_sentences_whole(lengths: tuple[int, int], kept: int) -> None:
    """The latest sentences that fit into 32 positions, including the end of sentence, are read; none is cut."""
    reader = DocTransformer(DocTransformerConfig(), SMALL, 0.0)
    preceding = [[10 + i] * length for i, length in enumerate(lengths)]
    chosen = reader.select(Example([9], preceding=preceding))
    assert chosen.preceding == preceding[2 - kept :]
    assert reader.collate([chosen])["tokens"].size(1) <= SMALL.max_length


def test_gate_is_the_papers() -> None:
    """Zhang et al. 2018, eq. 12 and 13: LN(g * x + (1 - g) * y) with g = sigmoid(W_i x + W_s y)."""
    torch.manual_seed(1)
    layer = ContextAttention(SMALL.model_copy(update={"norm": "post"}), 0.0, gating=True)
    x, context = torch.randn(2, 3, 16), torch.randn(2, 4, 16)
    keys, values = layer.attention.keys_values(context)
    mask = torch.ones(2, 1, 1, 4, dtype=torch.bool)
    y = layer.attention(x, keys, values, mask)
    assert isinstance(layer.gate, Gate)
    g = torch.sigmoid(x @ layer.gate.sentence.weight.T + y @ layer.gate.context.weight.T)
    assert torch.allclose(layer(x, keys, values, mask), layer.norm(g * x + (1 - g) * y), atol=1e-6)


def test_without_gate_the_context_is_a_residual_sublayer() -> None:
    """Without gating, it computes LN(x + y)."""
    torch.manual_seed(1)
    layer = ContextAttention(SMALL.model_copy(update={"norm": "post"}), 0.0, gating=False)
    x, context = torch.randn(2, 3, 16), torch.randn(2, 4, 16)
    keys, values = layer.attention.keys_values(context)
    mask = torch.ones(2, 1, 1, 4, dtype=torch.bool)
    expected = layer.norm(x + layer.attention(x, keys, values, mask))
    assert torch.allclose(layer(x, keys, values, mask), expected, atol=1e-6)


CONTEXT_SWITCHES = [
    {"context_sentences": sentences, "context_layers": layers, "integration": integration, "gating": gating}
    for (sentences, layers), integration, gating in product(
        [(1, 1), (2, 3), (3, 2)], ["none", "encoder", "decoder", "both"], [True, False]
    )
]
BACKBONE_SWITCHES = [
    {
        "norm": norm,
        "embeddings": embeddings,
        "activation": activation,
        "encoder_layers": deep,
        "decoder_layers": shallow,
    }
    for norm, (embeddings, activation, deep, shallow) in product(
        ["pre", "post"],
        [
            ("shared", "relu", 2, 2),
            ("output", "gelu", 3, 1),
            ("separate", "gelu_tanh", 1, 2),
            ("shared", "swish", 2, 1),
        ],
    )
]


@pytest.mark.parametrize("switches", CONTEXT_SWITCHES, ids=lambda switches: "-".join(map(str, switches.values())))
def test_every_switch_of_the_context_learns(
    make_model: Make, corpus: TokenizedCorpus, norm: Norm, switches: dict[str, Any]
) -> None:
    """Each combination builds, and one small step down the gradient of what it trains lowers the loss."""
    assert_learns(
        make_model(DocTransformerConfig(**switches), norm=norm), corpus, everything=switches["integration"] == "none"
    )


@pytest.mark.parametrize("switches", BACKBONE_SWITCHES, ids=lambda switches: "-".join(map(str, switches.values())))
def test_every_switch_of_the_backbone_learns(
    make_model: Make, corpus: TokenizedCorpus, switches: dict[str, Any]
) -> None:
    """Each combination builds, and one small step down the gradient of everything lowers the loss."""
    assert_learns(make_model(DocTransformerConfig(), **switches), corpus, everything=True)


def assert_learns(model: Any, corpus: TokenizedCorpus, *, everything: bool) -> None:
    """Check that a step along the gradient lowers the loss on the same sentences; all trained parameters take part."""
    if not everything:
        model.freeze()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    batch = corpus.batch(range(10), model.architecture)
    loss = token_losses(model, batch).sum()
    loss.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in trained)
    with torch.no_grad():
        for parameter in trained:
            parameter.sub_(parameter.grad, alpha=1e-5)
    assert token_losses(model, batch).sum() < loss


@pytest.mark.parametrize("settings", [{}, {"gating": False}, {"integration": "decoder"}], ids=str)
@torch.no_grad()
def test_what_a_context_changes_is_amplified(
    make_model: Make, corpus: TokenizedCorpus, settings: dict[str, Any], norm: Norm
) -> None:
    """What attention gives beyond its output for empty context is multiplied; with empty context nothing changes."""
    model = make_model(DocTransformerConfig.model_validate(settings), norm=norm)
    architecture = model.architecture
    real = corpus.batch(range(1, 4), architecture)
    empty = make_batch([[1, 2], [3]], [[4], [5, 6]], architecture.collate([Example((1, 2)), Example((3,))]))
    without = hidden(model, empty)

    def given(batch: Batch) -> Tensor:
        context = architecture.encode(batch, model.backbone)
        attention = architecture.decoder[1].attention
        query = torch.linspace(-1, 1, 16).expand(len(batch.source), 3, 16)
        return attention(query, *attention.known(context["states"], context["mask"]), context["mask"])

    before, nothing = given(real), given(empty)[0, 0]
    architecture.amplify(model.backbone, 1.0)
    torch.testing.assert_close(given(real), before)
    architecture.amplify(model.backbone, 2.5)
    torch.testing.assert_close(given(real), nothing + 2.5 * (before - nothing), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(hidden(model, empty), without, atol=1e-5, rtol=1e-5)
    architecture.amplify(model.backbone, 0.0)
    torch.testing.assert_close(given(real), nothing.expand_as(before), atol=1e-5, rtol=1e-5)
