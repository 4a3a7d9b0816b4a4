"""Layer-wise weighting and input-aware gating, as in Xu et al. 2021."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.config import BackboneConfig, LayerWeightingConfig
from models.data.batches import Example
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import BOS, EOS
from models.network.architectures.layer_weighting import LayerWeighting, WordDropout
from models.network.model import TranslationModel
from models.network.transformer import Transformer
from models.training.objective import target_of
from tests.models.network.oracles.layer_weighting import layer_weighting
from tests.support.outputs import outputs

Make = Callable[..., Any]
SMALL = BackboneConfig(width=16, feed_forward=16, heads=2, encoder_layers=2, decoder_layers=2, max_length=12)


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """One document of five sentences."""
    built: TokenizedCorpus = make_corpus(make_document(3))
    return built


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"context_sentences": 2, "source_layers": 2, "target_layers": 2},
        {"layer_weighting": False},
        {"layer_weighting": False, "input_gating": False},
        {"target_weighting": True},
        {"target_context": False},
    ],
    ids=str,
)
@torch.no_grad()
def test_log_probabilities_are_the_papers(
    make_model: Make, corpus: TokenizedCorpus, switches: dict[str, Any], norm: str
) -> None:
    """A batch gives what the equations, written out, give for each sentence alone; the first is the base model's."""
    config = LayerWeightingConfig.model_validate(switches)
    model: TranslationModel = make_model(config, norm=norm)
    found = outputs(model, corpus.batch(range(5), model.architecture))
    for index in range(5):
        read = range(max(0, index - config.context_sentences), index)
        preceding = [(list(corpus.sources[i]), list(corpus.targets[i])) for i in read]
        source, target = [*corpus.sources[index], EOS], [BOS, *corpus.targets[index]]
        expected = layer_weighting(model, config, source, target, preceding)
        assert torch.allclose(found[index, : len(expected)], expected, atol=1e-5)


def test_published_size() -> None:
    """Layers and gates have 68 d^2 weights: 17.83 million at width 512, the +17.8 M of the paper's table 1."""
    backbone = BackboneConfig()
    with torch.device("meta"):
        model = TranslationModel(backbone, LayerWeightingConfig(), 32, 32)
    matrices = sum(
        p.numel()
        for name, p in model.named_parameters()
        if name.startswith("architecture.") and p.dim() == 2 and "offset" not in name
    )
    assert matrices == 68 * backbone.width**2
    assert round(matrices / 1e4) == 1783


def test_each_context_sentence_is_encoded_once() -> None:
    """Sentences of a document in a batch share their context; the latest sentence is first, and 0 means none."""
    reader = LayerWeighting(LayerWeightingConfig(context_sentences=2), SMALL, 0.0)
    document = [([4], [5]), ([6, 6], [7]), ([8], [9])]
    examples = [
        reader.select(
            Example([10], preceding=[s for s, _ in document[:count]], translations=[t for _, t in document[:count]])
        )
        for count in range(4)
    ]
    context = reader.collate(examples)
    assert context["sources"].tolist() == [[4, EOS, 0], [6, 6, EOS], [8, EOS, 0]]
    assert context["targets"].tolist() == [[BOS, 5], [BOS, 7], [BOS, 9]]
    assert context["index"].tolist() == [[0, 0], [1, 0], [2, 1], [3, 2]]


def test_same_source_with_another_translation_is_another_context() -> None:
    """A context sentence is identified by its translation as well as by its source."""
    reader = LayerWeighting(LayerWeightingConfig(), SMALL, 0.0)
    examples = [Example([10], preceding=[[4]], translations=[[t]]) for t in (5, 6, 5)]
    assert reader.collate(examples)["index"].tolist() == [[1], [2], [1]]


def test_sentence_without_room_ends_the_context() -> None:
    """12 positions hold 11 tokens and an end; a longer sentence is left out, and so are all before it."""
    reader = LayerWeighting(LayerWeightingConfig(), SMALL, 0.0)
    sources, targets = [[4], [5], [6]], [[7], [8] * 12, [9] * 11]
    chosen = reader.select(Example([10], preceding=sources, translations=targets))
    assert (list(chosen.preceding), list(chosen.translations)) == ([[6]], [[9] * 11])


@torch.no_grad()
def test_word_dropout_leaves_out_whole_words() -> None:
    """In training, a tenth of the embeddings are zero and the others scaled up; in evaluation, all are unchanged."""
    backbone = Transformer(SMALL, 16, 16)
    words = WordDropout(0.1)
    tokens = torch.randint(4, 16, (500, 12), generator=torch.Generator().manual_seed(1))
    whole = backbone.embed(backbone.target_embedding, tokens, slice(12))
    torch.manual_seed(1)
    state = backbone.start(tokens, torch.zeros(500, 12, 16), cached=False)
    dropped = words.embed_target(tokens, backbone, state)
    gone = dropped.eq(0).all(-1)
    assert 0.08 < gone.float().mean() < 0.12
    assert torch.allclose(dropped[~gone], whole[~gone] / 0.9)
    assert torch.equal(words.eval().embed_target(tokens, backbone, state), whole)


@torch.no_grad()
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_words_of_translations_are_left_out_in_training(
    make_model: Make, corpus: TokenizedCorpus, share: float
) -> None:
    """If the config says so, different words are left out each time; source words never are."""
    model: TranslationModel = make_model(LayerWeightingConfig(token_dropout=share)).train()
    batch = corpus.batch(range(5), model.architecture)
    one, other = (model.architecture.encode(batch, model.backbone) for _ in range(2))
    assert torch.equal(one["target"], other["target"]) is (share == 0)
    assert torch.equal(one["source.alone"], other["source.alone"])


def test_layer_weights_begin_even() -> None:
    """The mixture starts with the same weight for each layer; a softmax makes them sum to one."""
    reader = LayerWeighting(LayerWeightingConfig(), SMALL, 0.0)
    assert reader.mixture is not None
    assert reader.mixture.weights.softmax(0).tolist() == pytest.approx([1 / 3] * 3)


@torch.no_grad()
def test_step_two_starts_at_the_sentence_model(make_model: Make, corpus: TokenizedCorpus) -> None:
    """On a pre-norm backbone, freshly initialised layers change nothing, whatever the context."""
    model: TranslationModel = make_model(LayerWeightingConfig(), norm="pre", scramble=False)
    with_context = corpus.batch([4], model.architecture)
    without = model.architecture.collate([Example(corpus.sources[4])])
    outputs = [
        model.decode(target_of(batch)[:, :-1], model.start(batch, cached=False))
        for batch in (with_context, type(with_context)(with_context.source, with_context.target, without))
    ]
    assert torch.allclose(*outputs, atol=1e-6)
