"""BERT as a context encoder, as in Guo and Nguyen 2020."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from models.config import BackboneConfig, SentenceConfig
from models.data.batches import Example
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import BOS, EOS
from models.network.architectures.bert_context import BertContext
from models.network.model import TranslationModel
from models.training.objective import token_losses
from tests.models.network.oracles.bert_context import bert_context
from tests.support.bert import tiny_bert_context
from tests.support.outputs import outputs

Make = Callable[..., Any]
SMALL = BackboneConfig(width=16, feed_forward=16, heads=2, encoder_layers=2, decoder_layers=2, max_length=96)
CLS, SEP = 2, 3


@pytest.fixture
def make_reader(bert: Path) -> Callable[..., BertContext]:
    """Make the architecture with the small BERT."""
    return lambda **switches: BertContext(tiny_bert_context(bert, **switches), SMALL)


def outputs_of(model: TranslationModel, corpus: TokenizedCorpus, index: int) -> Tensor:
    """Log-probabilities of the reference of one sentence, (1, T, V)."""
    return outputs(model, corpus.batch([index], model.architecture))


def read(reader: BertContext, current: str, *preceding: str, following: tuple[str, ...] = ()) -> list[int]:
    """BERT's input for a sentence in its context, as BERT's ids."""

    def example(encoded: Callable[[str], list[int]]) -> Example:
        return Example(encoded(current), [encoded(text) for text in preceding], [encoded(text) for text in following])

    def pieces(text: str) -> list[int]:
        return (reader.pieces([text]) or [])[0]

    own = example(pieces)
    selected = reader.select(Example(own.source, own.preceding, own.following, own=own))
    return [number - 1 for number in reader.collate([selected])["bert"][0].tolist()]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"integration": "encoder"},
        {"integration": "decoder"},
        {"integration": "none"},
        {"context_sentences": 2, "following_sentences": 1},
    ],
    ids=str,
)
@torch.no_grad()
def test_log_probabilities_are_the_papers(
    make_model: Make, make_corpus: Make, make_document: Make, bert: Path, switches: dict[str, Any], norm: str
) -> None:
    """A batch of whole sentences gives what the equations, written out, give for each sentence alone."""
    config, document = tiny_bert_context(bert, **switches), make_document(3)
    model, corpus = make_model(config, norm=norm), make_corpus(document)
    found = outputs(model, corpus.batch(range(5), model.architecture))
    texts = [sentence.source for sentence in document.sentences]
    for index in range(5):
        before = " ".join(texts[max(0, index - config.context_sentences) : index])
        after = " ".join(texts[index + 1 : index + 1 + config.following_sentences])
        source, target = [*corpus.sources[index], EOS], [BOS, *corpus.targets[index]]
        expected = bert_context(model, bert, source, target, (before, texts[index], after))
        assert torch.allclose(found[index, : len(expected)], expected, atol=1e-5)


def test_input_is_the_previous_sentence_and_the_current_one(make_reader: Callable[..., BertContext]) -> None:
    """Input is in lower case; the previous sentence, if any, is between [CLS] and [SEP]."""
    a, b, c = 5, 7, 9
    reader = make_reader()
    assert read(reader, "b c", "a a", "C A") == [CLS, c, a, SEP, b, c, SEP]
    assert read(reader, "b c") == [CLS, SEP, b, c, SEP]
    wide = make_reader(context_sentences=2, following_sentences=2)
    assert read(wide, "b", "a", "c", following=("c c", "a", "b")) == [CLS, a, c, SEP, b, SEP, c, c, a, SEP]


def test_input_too_long_loses_the_oldest_words_first(make_reader: Callable[..., BertContext]) -> None:
    """First the previous sentences lose words, then those that follow, then the sentence itself, at its end."""
    a, b, c, d = 5, 7, 9, 11
    reader = make_reader(bert_pieces=10)
    assert read(reader, "b b b b", "a a c d") == [CLS, a, c, d, SEP, b, b, b, b, SEP]
    assert read(reader, "b b b b b b b d", "a") == [CLS, SEP, *[b] * 7, SEP]
    wide = make_reader(bert_pieces=10, context_sentences=2, following_sentences=2)
    assert read(wide, "b b", "a a", "c d", following=("d", "d")) == [CLS, c, d, SEP, b, b, SEP, d, d, SEP]
    assert read(wide, "b b b b", "a", following=("d d d", "d")) == [CLS, SEP, *[b] * 4, SEP, d, d, SEP]
    assert len(read(wide, "b b b b b b", "a", following=("d",))) == 10


def test_context_without_room_is_not_counted(make_reader: Callable[..., BertContext]) -> None:
    """Sentences for which BERT has no positions are not selected; one that it reads in part is."""
    reader = make_reader(bert_pieces=10, context_sentences=3)
    own = Example([7] * 4, preceding=[[5], [5], [9] * 3])
    chosen = reader.select(Example([20], preceding=[[21], [22], [23]], own=own))
    assert list(chosen.preceding) == [[23]]
    own = Example([7] * 4, preceding=[[5], [5, 5], [9] * 2])
    chosen = reader.select(Example([20], preceding=[[21], [22], [23]], own=own))
    assert list(chosen.preceding) == [[22], [23]]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_bert_is_never_trained_and_everything_else_is(
    make_model: Make, make_corpus: Make, make_document: Make, bert: Path, norm: str
) -> None:
    """BERT is not among the model's parameters, gets no gradients and never changes; all other parts are trained."""
    model: TranslationModel = make_model(tiny_bert_context(bert), norm=norm, dropout=0.1).train()
    model.freeze()
    assert all(parameter.requires_grad for parameter in model.parameters())
    encoder = model.architecture.pretrained
    before = {name: value.clone() for name, value in encoder.model.state_dict().items()}
    assert not {id(p) for p in encoder.model.parameters()} & {id(p) for p in model.parameters()}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(2):
        token_losses(model, make_corpus(make_document(1)).batch(range(5), model.architecture)).sum().backward()
        optimizer.step()
    assert not encoder.model.training
    assert all(torch.equal(value, before[name]) for name, value in encoder.model.state_dict().items())
    assert all(p.grad is None for p in encoder.model.parameters())


@torch.no_grad()
def test_step_two_starts_at_the_sentence_model(
    make_model: Make, make_corpus: Make, make_document: Make, bert: Path
) -> None:
    """On a pre-norm backbone, freshly initialised attention to BERT changes nothing, whatever it reads."""
    model: TranslationModel = make_model(tiny_bert_context(bert), norm="pre", scramble=False)
    sentence = TranslationModel(model.backbone.config, SentenceConfig(), 40, 40).eval()
    sentence.backbone = model.backbone
    corpus = make_corpus(make_document(2))
    assert torch.allclose(outputs_of(model, corpus, 4), outputs_of(sentence, corpus, 4), atol=1e-6)


def two(first: str, second: str = "bad cab") -> Document:
    """A document of two sentences."""
    return Document((Sentence(first, "fed"), Sentence(second, "abc def")))


def test_fixed_context_reads_nothing_of_the_document(make_model: Make, make_corpus: Make, bert: Path) -> None:
    """The same constant sentence precedes each one, in training and later; another constant gives another output."""
    config = tiny_bert_context(bert, context="fixed", fixed_sentence="dad")
    model = make_model(config)
    assert model.architecture.window.size == 0
    before = make_corpus(two("abc")).example(1, model.architecture)
    assert not model.architecture.select(before).preceding
    assert read(model.architecture, "b", "a") == read(model.architecture, "b") == [CLS, 11, 6, 12, SEP, 7, SEP]
    one, other = (outputs_of(model, make_corpus(two(text)), 1) for text in ("abc", "fed fed"))
    assert torch.equal(one, other)
    changed = make_model(config.model_copy(update={"fixed_sentence": "fad fad"}))
    assert (outputs_of(changed, make_corpus(two("abc")), 1) - one).abs().max() > 1e-3


def test_random_context_says_nothing_of_the_real_one(make_reader: Callable[..., BertContext]) -> None:
    """Context is replaced by as many random words, always the same for a sentence, which itself is unchanged."""
    reader = make_reader(context="random")
    first, again, other = (read(reader, "b c", text) for text in ("a a a", "c d e", "a a"))
    assert first == again
    assert first != read(make_reader(), "b c", "a a a")
    assert (len(first), len(other)) == (8, 7)
    assert first[-4:] == [SEP, 7, 9, SEP]
    assert {number % 2 for number in first[1:4]} == {1}  # letters that begin a word, in this vocabulary
    assert read(reader, "b d", "a a a")[1:4] != first[1:4]
    assert read(reader, "b c") == [CLS, SEP, 7, 9, SEP]


def test_published_shapes(bert: Path) -> None:
    """At width 512 with 4 + 4 layers, each has attention to states of width 768, and a gate over two vectors."""
    backbone = BackboneConfig(width=512, encoder_layers=4, decoder_layers=4)
    with torch.device("meta"):
        architecture = BertContext(tiny_bert_context(bert, bert_width=768), backbone)
    d, e = 512, 768
    layer = 2 * (d * d + d) + 2 * (e * d + d) + 2 * d * d + d
    assert sum(p.numel() for p in architecture.parameters()) == 8 * layer
