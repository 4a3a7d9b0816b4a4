"""The systems of Stojanovski and Fraser 2019 (LMU)."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.config import AveragedDocumentConfig, BackboneConfig, SentenceConfig
from models.data.batches import Example
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import BOS, EOS
from models.network.architectures.averaged_document import AveragedDocument
from models.network.model import TranslationModel
from models.network.parameters import count_parameters
from models.training.objective import target_of
from tests.models.network.oracles.averaged_document import averaged_document
from tests.support.outputs import outputs

Make = Callable[..., Any]
SMALL = BackboneConfig(width=16, feed_forward=16, heads=2, encoder_layers=2, decoder_layers=2, max_length=12)
NARROW = {"attention_width": 8, "attention_heads": 2}


def config(**switches: Any) -> AveragedDocumentConfig:
    """A config that fits tiny models."""
    return AveragedDocumentConfig.model_validate(NARROW | switches)


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """One document of five sentences."""
    built: TokenizedCorpus = make_corpus(make_document(3))
    return built


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "settings",
    [{"context": "none"}, {"context": "previous"}, {"context": "document"}, {"context": "joint"}, {"warm_start": True}],
    ids=lambda settings: str(*settings.values()),
)
@torch.no_grad()
def test_log_probabilities_are_the_papers(
    make_model: Make, corpus: TokenizedCorpus, settings: dict[str, Any], norm: str
) -> None:
    """A batch of whole sentences gives what the equations, written out, give for each sentence alone."""
    model: TranslationModel = make_model(config(document_sentences=3, **settings), norm=norm)
    found = outputs(model, corpus.batch(range(5), model.architecture))
    for index in range(5):
        source, target = list(corpus.sources[index]), list(corpus.targets[index])
        preceding = [list(tokens) for tokens in corpus.sources[max(0, index - 3) : index]]
        expected = averaged_document(model, [*source, EOS], [BOS, *target], preceding)
        assert torch.allclose(found[index, : len(expected)], expected, atol=1e-5)


def test_published_sizes() -> None:
    """At width 1024, the sentence before needs 36 million parameters, and the document 8 million (section 5)."""
    backbone = BackboneConfig(width=1024, feed_forward=4096, heads=16, encoder_layers=6, decoder_layers=6)

    def added(context: str) -> int:
        with torch.device("meta"):
            settings = AveragedDocumentConfig.model_validate({"context": context})
            model = TranslationModel(backbone, settings, 32, 32)
        return sum(p.numel() for name, p in model.named_parameters() if name.startswith("architecture."))

    assert round(added("previous") / 1e6) == 36
    assert round(added("document") / 1e6) == 8
    assert added("joint") == added("previous") + added("document")


def test_sentence_before_and_document_are_read_as_published() -> None:
    """The sentence before begins with a mark; the document is all tokens; a first sentence has only the mark."""
    reader = AveragedDocument(config(), SMALL, 0.0)
    example = reader.select(Example([9], preceding=[[4, 5], [6]]))
    assert reader.collate([example])["previous"].tolist() == [[BOS, 6, EOS]]
    assert reader.collate([example])["document"].tolist() == [[4, 5, 6]]
    first = reader.collate([reader.select(Example([9]))])
    assert first["previous"].tolist() == [[BOS]]
    assert first["document"].shape == (1, 0)


def test_document_too_long_loses_its_oldest_sentences_whole() -> None:
    """The document has at most ten sentences, and no more tokens than the config says."""
    reader = AveragedDocument(config(context="document", document_tokens=5), SMALL, 0.0)
    preceding = [[4] * 3, [5] * 3, [6] * 2]
    assert list(reader.select(Example([9], preceding=preceding)).preceding) == preceding[1:]
    many = AveragedDocument(config(context="document"), SMALL, 0.0)
    assert len(many.select(Example([9], preceding=[[4]] * 12)).preceding) == 10


def test_sentence_before_without_room_is_left_out() -> None:
    """The backbone has 12 positions: 10 tokens fit between the mark and the end, but 11 do not."""
    reader = AveragedDocument(config(), SMALL, 0.0)
    rows = [reader.collate([reader.select(Example([9], preceding=[[4] * n]))])["previous"] for n in (10, 11)]
    assert [row.size(1) for row in rows] == [12, 1]


@torch.no_grad()
def test_a_new_document_layer_changes_nothing(make_model: Make, corpus: TokenizedCorpus) -> None:
    """With only the document as context, step two starts exactly from the sentence model."""
    model: TranslationModel = make_model(config(context="document"), scramble=False)
    reads = corpus.batch([4], model.architecture)
    alone = corpus.batch([0], model.architecture)
    context = {**reads.context, "document": alone.context["document"]}
    with_document, without = (
        model.decode(target_of(reads)[:, :-1], model.start(batch, cached=False))
        for batch in (reads, type(reads)(reads.source, reads.target, context))
    )
    assert torch.equal(with_document, without)


@torch.no_grad()
def test_a_warm_start_is_the_sentence_model(make_model: Make, corpus: TokenizedCorpus) -> None:
    """With a warm start, neither kind of context changes anything at first."""
    model: TranslationModel = make_model(config(warm_start=True), norm="pre", scramble=False)
    sentence = TranslationModel(model.backbone.config, SentenceConfig(), 40, 40).eval()
    sentence.backbone = model.backbone
    found, expected = (
        each.decode(target_of(batch)[:, :-1], each.start(batch, cached=False))
        for each in (model, sentence)
        for batch in [corpus.batch([4], each.architecture)]
    )
    assert torch.allclose(found, expected, atol=1e-6)


def test_only_the_embeddings_are_frozen(make_model: Make) -> None:
    """Step two trains the rest of the backbone further."""
    model: TranslationModel = make_model(config(), embeddings="shared")
    model.freeze()
    assert [name for name, p in model.named_parameters() if not p.requires_grad] == ["backbone.target_embedding.weight"]
    assert sum(part.frozen for part in count_parameters(model)) == model.backbone.target_embedding.weight.numel()
