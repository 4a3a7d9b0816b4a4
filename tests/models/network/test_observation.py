"""Architectures declare which of their modules are gates, and which attend to other sentences."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.config import (
    ArchitectureConfig,
    AveragedDocumentConfig,
    DocTransformerConfig,
    GlobalLocalConfig,
    LayerWeightingConfig,
    Norm,
)
from models.data.batches import Batch, Example
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import PAD
from models.network.attention import Attention
from models.network.observation import NOWHERE, WatchedAttention, observe
from models.training.objective import target_of
from tests.support.bert import tiny_bert_context, with_bert

Make = Callable[..., Any]
SENTENCES = 5


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """One document of five sentences."""
    built: TokenizedCorpus = make_corpus(make_document(3, SENTENCES))
    return built


def read(corpus: TokenizedCorpus, model: Any, indices: list[int]) -> tuple[list[Example], Batch]:
    """Examples with the context that the architecture reads, and their batch."""
    reader = model.architecture
    return [reader.select(corpus.example(i, reader)) for i in indices], corpus.batch(indices, reader)


@torch.no_grad()
def hidden(model: Any, batch: Batch) -> Tensor:
    """Hidden states of the batch's targets."""
    states: Tensor = model.hidden(batch, target_of(batch)[:, :-1])
    return states


def test_watching_changes_nothing(make_model: Make, corpus: TokenizedCorpus, architecture: ArchitectureConfig) -> None:
    """A network gives the same results while it is watched, and no hooks are left afterwards."""
    model = make_model(architecture)
    examples, batch = read(corpus, model, list(range(SENTENCES)))
    watched = [*model.architecture.gates(batch), *model.architecture.context_attentions(examples, batch)]
    seen: list[Tensor] = []
    found = observe(watched, lambda: seen.append(hidden(model, batch)))
    assert len(found) == len(watched)
    assert torch.equal(seen[0], hidden(model, batch))
    assert not any(module._forward_hooks for module in model.modules())


def test_what_is_watched_is_where_the_batch_is(
    make_model: Make, corpus: TokenizedCorpus, architecture: ArchitectureConfig
) -> None:
    """On a GPU, no tensors on the CPU are mixed in."""
    reader = make_model(architecture).architecture
    examples = [reader.select(corpus.example(index, reader)) for index in range(SENTENCES)]
    batch = corpus.batch(range(SENTENCES), reader).to(torch.device("meta"))
    places = [gate.real for gate in reader.gates(batch)]
    places += [each for one in reader.context_attentions(examples, batch) for each in (one.real, one.sentences)]
    assert {tensor.device.type for tensor in places} <= {"meta"}


def test_gates_do_not_see_padding(
    make_model: Make, corpus: TokenizedCorpus, architecture: ArchitectureConfig, norm: Norm
) -> None:
    """The gates of a batch are those of its single sentences, between 0 and 1, without any for padding."""
    model = make_model(architecture, norm=norm)

    def gates(indices: list[int]) -> list[Tensor]:
        _, batch = read(corpus, model, indices)
        return observe(model.architecture.gates(batch), lambda: hidden(model, batch))

    alone = zip(*(gates([index]) for index in range(SENTENCES)), strict=True)
    for values, expected in zip(gates(list(range(SENTENCES))), alone, strict=True):
        assert len(values)
        assert bool(((values >= 0) & (values <= 1)).all())
        assert torch.allclose(values, torch.cat(expected), atol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        DocTransformerConfig(),
        AveragedDocumentConfig(context="previous", attention_width=8, attention_heads=2),
        LayerWeightingConfig(),
        GlobalLocalConfig(target_memory=False),
        tiny_bert_context(),
    ],
    ids=lambda config: config.kind,
)
def test_closed_gates_shut_out_the_context(
    make_model: Make,
    make_corpus: Make,
    make_document: Make,
    config: ArchitectureConfig,
    norm: Norm,
    request: pytest.FixtureRequest,
) -> None:
    """If gates give the context no weight, the preceding sentence makes no difference; otherwise it does."""
    model = make_model(with_bert(config, request), norm=norm)
    document = make_document(3, 2)
    other = Document((Sentence("fed dad cab", document.sentences[0].target), document.sentences[1]))
    batches = [read(make_corpus(each), model, [0, 1])[1] for each in (document, other)]
    length = int(target_of(batches[0])[1].ne(PAD).sum()) - 1

    def second(*, closed: bool) -> list[Tensor]:
        """The hidden states of the second sentence after each of the first ones."""
        found = []
        for batch in batches:
            with ExitStack() as stack:
                for gate in model.architecture.gates(batch) if closed else []:
                    constant = torch.zeros_like if gate.of_context else torch.ones_like
                    stack.enter_context(gate.module.register_forward_hook(lambda _, __, y, same=constant: same(y)))
                found.append(hidden(model, batch)[1, :length])
        return found

    assert torch.allclose(*second(closed=True), atol=1e-5)
    assert not torch.allclose(*second(closed=False), atol=1e-3)


@torch.no_grad()
def test_weights_are_those_that_attention_mixes_by(
    make_model: Make, corpus: TokenizedCorpus, architecture: ArchitectureConfig, norm: Norm
) -> None:
    """Values averaged by the weights, and projected, are what fused attention gives."""
    model = make_model(architecture, norm=norm)
    examples, batch = read(corpus, model, list(range(SENTENCES)))
    outputs: list[tuple[Tensor, Tensor]] = []

    def see(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> None:
        if isinstance(module, Attention):
            x, keys, values, mask = arguments
            mixed = module.weights(x, keys, mask) @ values
            outputs.append((output, module.output(mixed.transpose(1, 2).flatten(2))))

    watched = model.architecture.context_attentions(examples, batch)
    handles = [each.module.register_forward_hook(see) for each in watched]
    hidden(model, batch)
    for handle in handles:
        handle.remove()
    assert all(torch.allclose(fused, by_weights, atol=1e-5) for fused, by_weights in outputs)


@torch.no_grad()
def test_each_key_belongs_to_a_sentence(
    make_model: Make, corpus: TokenizedCorpus, architecture: ArchitectureConfig
) -> None:
    """All weight is on real keys, of which each sentence has as many as tokens, or one more for its end."""
    model = make_model(architecture)
    examples, batch = read(corpus, model, list(range(SENTENCES)))
    watched = model.architecture.context_attentions(examples, batch)
    for attention, weights in zip(watched, observe(watched, lambda: hidden(model, batch)), strict=True):
        used = attention.real.any(1)
        assert torch.allclose(weights.sum(1)[used], torch.ones(int(used.sum())), atol=1e-5)
        for example, row, places in zip(examples, weights, attention.sentences, strict=True):
            check_places(attention, example, row, places)


def check_places(attention: WatchedAttention, example: Example, weights: Tensor, places: Tensor) -> None:
    """Check that each sentence has as many keys with weight in a row as it has tokens, or one more for its end."""
    found = places[weights > 0].tolist()
    texts = example.own or example
    before = example.translations if attention.part.endswith("target context") else texts.preceding
    sentences = dict(enumerate(before, -len(before))) | {0: texts.source} | dict(enumerate(texts.following, 1))
    for place in set(found) - {NOWHERE}:
        assert found.count(place) - len(sentences[place]) in {0, 1}
    if found and before:
        assert min(found) == -len(before)
