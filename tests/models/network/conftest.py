"""Every architecture as a tiny random model, and documents to read. A new architecture is one line here."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from models.config import (
    ArchitectureConfig,
    AveragedDocumentConfig,
    BackboneConfig,
    ConcatenationConfig,
    DocTransformerConfig,
    GlobalLocalConfig,
    LayerWeightingConfig,
    Norm,
    SentenceConfig,
    TokenizerConfig,
)
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.network.model import TranslationModel
from tests.support.bert import make_bert, tiny_bert_context, with_bert

ARCHITECTURES: dict[str, ArchitectureConfig] = {
    "sentence": SentenceConfig(),
    "doc_transformer": DocTransformerConfig(),
    "doc_transformer in the encoder": DocTransformerConfig(integration="encoder", context_sentences=1),
    "doc_transformer in the decoder": DocTransformerConfig(integration="decoder", context_layers=2, gating=False),
    "doc_transformer nowhere": DocTransformerConfig(integration="none"),
    "averaged_document": AveragedDocumentConfig(attention_width=8, attention_heads=2, document_sentences=3),
    "averaged_document of the sentence before": AveragedDocumentConfig(
        context="previous", attention_width=8, attention_heads=1
    ),
    "averaged_document of the document": AveragedDocumentConfig(context="document", document_sentences=2),
    "averaged_document of nothing": AveragedDocumentConfig(context="none"),
    "concatenation": ConcatenationConfig(context_sentences=2),
    "layer_weighting": LayerWeightingConfig(context_sentences=2),
    "layer_weighting of the source": LayerWeightingConfig(target_context=False, layer_weighting=False, source_layers=2),
    "layer_weighting without gate": LayerWeightingConfig(
        context_sentences=1, input_gating=False, target_layers=2, target_weighting=True
    ),
    "global_local": GlobalLocalConfig(block_sentences=4),
    "global_local, causal or not": GlobalLocalConfig(
        causal="both", single_sentence_global=True, segment_relative=False
    ),
    "global_local, causal, as in the paper": GlobalLocalConfig(causal=True, depth="paper", segment_embedding=False),
    "global_local without memory": GlobalLocalConfig(target_memory=False, gate=False, reset_positions=False),
    "global_local of the history": GlobalLocalConfig(block_sentences=2, global_layer=False),
    "bert_context": tiny_bert_context(),
    "bert_context in the encoder, with what follows": tiny_bert_context(
        integration="encoder", context_sentences=2, following_sentences=1
    ),
    "bert_context in the decoder": tiny_bert_context(integration="decoder"),
    "bert_context nowhere": tiny_bert_context(integration="none"),
}

BACKBONE = BackboneConfig(width=16, feed_forward=24, heads=2, encoder_layers=2, decoder_layers=2, max_length=96)

MakeModel = Callable[..., TranslationModel]
MakeDocument = Callable[..., Document]


@pytest.fixture(params=ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def architecture(request: pytest.FixtureRequest) -> ArchitectureConfig:
    """Each architecture in turn."""
    config: ArchitectureConfig = request.param
    return with_bert(config, request)


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT that knows the letters of the documents."""
    return make_bert(tmp_path_factory.mktemp("bert"), "abcdef")


@pytest.fixture(params=["pre", "post"])
def norm(request: pytest.FixtureRequest) -> Norm:
    """Both positions of the norms, in turn."""
    order: Norm = request.param
    return order


@pytest.fixture(scope="session")
def make_document() -> MakeDocument:
    """Make documents of random words."""

    def make(seed: int, sentences: int = 5) -> Document:
        chooser = random.Random(seed)

        def words() -> str:
            return " ".join("".join(chooser.choices("abcdef", k=3)) for _ in range(chooser.randint(1, 5)))

        return Document(tuple(Sentence(words(), words()) for _ in range(sentences)))

    return make


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory, make_document: MakeDocument) -> Tokenizer:
    """A joint vocabulary of 40 pieces."""
    sentences = [sentence for seed in range(40) for sentence in make_document(seed).sentences]
    config = TokenizerConfig(path=tmp_path_factory.mktemp("tokenizer"), vocabulary=40, byte_fallback=False)
    return train_tokenizer(config, (s.source for s in sentences), (s.target or "" for s in sentences))


@pytest.fixture(scope="session")
def make_corpus(tokenizer: Tokenizer) -> Callable[..., TokenizedCorpus]:
    """Make a corpus of tokenized documents."""
    return lambda *documents: TokenizedCorpus(documents, tokenizer, BACKBONE.max_length)


@pytest.fixture
def make_model(tokenizer: Tokenizer) -> MakeModel:
    """Make a model in evaluation mode; all parameters are random, even those that usually start at zero or one."""

    def make(
        architecture: ArchitectureConfig,
        backbone: BackboneConfig = BACKBONE,
        *,
        dropout: float = 0.0,
        scramble: bool = True,
        **switches: object,
    ) -> TranslationModel:
        size = len(tokenizer.source_pieces)
        torch.manual_seed(7)
        model = TranslationModel(backbone.model_copy(update=switches), architecture, size, size, dropout)
        model.initialize()
        if scramble:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(torch.randn_like(parameter), alpha=0.2)
        return model.eval()

    return make
