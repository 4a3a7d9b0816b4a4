"""Properties of every architecture, on pre-norm and post-norm backbones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from models.config import ArchitectureConfig, Norm, SentenceConfig
from models.data.batches import Batch, Example, make_batch
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import BOS, EOS, PAD
from models.network.model import TranslationModel
from models.network.state import State
from models.training.objective import target_of, token_losses
from tests.support.outputs import outputs

Make = Callable[..., Any]
TOLERANCE = 1e-5


@pytest.fixture
def model(make_model: Make, architecture: ArchitectureConfig, norm: Norm) -> TranslationModel:
    """Each architecture on each backbone."""
    built: TranslationModel = make_model(architecture, norm=norm)
    return built


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Three documents of five sentences of different lengths."""
    built: TokenizedCorpus = make_corpus(*(make_document(seed) for seed in range(3)))
    return built


@pytest.fixture
def batch(corpus: TokenizedCorpus, model: TranslationModel) -> Batch:
    """All sentences of two documents, including the first ones."""
    return corpus.batch(range(10), model.architecture)


def apart(batch: Batch) -> Batch:
    """The batch with each sentence by itself, as if none left a memory to the next."""
    return replace(batch, turns=())


def history(model: TranslationModel, corpus: TokenizedCorpus, index: int) -> list[int]:
    """The indices of a sentence of the corpus, and of those before it on whose memories it depends."""
    first = int(corpus.first[index])
    least, _ = model.architecture.window.around(index - first)
    return list(range(first + least, index + 1)) if model.architecture.recurrent else [index]


@torch.no_grad()
def stepwise(model: TranslationModel, tokens: Tensor, state: State, sizes: list[int]) -> Tensor:
    """Log-probabilities if so many tokens are decoded at a time."""
    parts = [model.logits(model.decode(part, state)) for part in tokens.split(sizes, dim=1)]
    return torch.cat(parts, dim=1).log_softmax(-1)


def assert_close(one: Tensor, other: Tensor, mask: Tensor | None = None) -> None:
    """Check that values are equal within the tolerance where the mask is true."""
    difference = (one - other).abs().amax(-1)
    assert (difference if mask is None else difference[mask]).max() < TOLERANCE


def changed(document: Document, position: int) -> Document:
    """The document with other words in one source sentence."""
    sentences = list(document.sentences)
    sentences[position] = Sentence("fed cba fff", sentences[position].target)
    return replace(document, sentences=tuple(sentences))


@pytest.mark.parametrize("size", [1, 3])
def test_step_by_step_is_the_whole_sequence(model: TranslationModel, batch: Batch, size: int) -> None:
    """Decoding with a cache, one token or several at a time, gives what a single pass gives."""
    tokens = target_of(batch)[:, :-1]
    length = tokens.size(1)
    sizes = [size] * (length // size) + [length % size] * bool(length % size)
    assert len(sizes) > 3
    whole = outputs(model, apart(batch))
    assert_close(stepwise(model, tokens, model.start(batch, cached=True), sizes), whole)


def test_step_by_step_is_the_whole_beyond_a_block_of_the_cache(
    model: TranslationModel, corpus: TokenizedCorpus
) -> None:
    """A cache that has grown several times still holds everything before."""
    long = torch.randint(4, 40, (2, 75), generator=torch.Generator().manual_seed(1))
    batch = replace(apart(corpus.batch([3, 4], model.architecture)), target=pad(long, (1, 0), value=BOS))
    tokens = target_of(batch)[:, :-1]
    assert_close(stepwise(model, tokens, model.start(batch, cached=True), [1] * 75), outputs(model, batch))


def test_reordered_hypotheses_go_on_from_their_own_past(model: TranslationModel, batch: Batch) -> None:
    """After a beam has widened, been reordered and lost sentences, each hypothesis is as if decoded in one pass."""
    generator = torch.Generator().manual_seed(3)
    sentences, everyone, width = torch.arange(10), torch.arange(10), 1
    state = model.start(batch, cached=True)
    history = torch.full((10, 1), BOS)
    last = stepwise(model, history, state, [1])
    for kept in (everyone, everyone, torch.tensor([7, 2, 5]), torch.arange(3)):
        rows = (kept[:, None] * width + torch.randint(width, (len(kept), 3), generator=generator)).flatten()
        state.keep(kept)
        state.reorder(rows)
        sentences, width = sentences[kept], 3
        new = torch.randint(4, 40, (len(rows), 1), generator=generator)
        history = torch.cat([history[rows], new], dim=1)
        last = stepwise(model, new, state, [1])
    whole = model.start(batch, cached=False)
    whole.keep(sentences)
    assert_close(last[:, -1], stepwise(model, history, whole, [history.size(1)])[:, -1])


def test_batched_is_alone(model: TranslationModel, corpus: TokenizedCorpus, batch: Batch) -> None:
    """A sentence's outputs do not depend on others in the batch, nor on how long these or their contexts are."""
    together = outputs(model, batch)
    for index in range(10):
        alone = outputs(model, corpus.batch(history(model, corpus, index), model.architecture))[-1]
        shorter = min(len(alone), len(together[index]))
        assert_close(together[index, :shorter], alone[:shorter])


def test_padding_changes_nothing(model: TranslationModel, batch: Batch) -> None:
    """Padding after source, target and context tokens makes no difference."""
    context = {name: pad(tensor, (0, 3), value=PAD) for name, tensor in batch.context.items()}
    source, target = pad(batch.source, (0, 4), value=PAD), pad(target_of(batch), (0, 2), value=PAD)
    padded = Batch(source, target, context, batch.turns)
    assert_close(outputs(model, padded)[:, :-2], outputs(model, batch))
    assert torch.allclose(token_losses(model, padded)[:, :-2], token_losses(model, batch), atol=TOLERANCE)


def test_nothing_leaks_from_the_future_of_the_target(model: TranslationModel, batch: Batch) -> None:
    """Changing tokens from some position on leaves all outputs before it as they were."""
    batch = apart(batch)
    target = target_of(batch).clone()
    before = outputs(model, batch)
    target[:, 4:] = torch.randint(4, 40, target[:, 4:].shape, generator=torch.Generator().manual_seed(2))
    after = outputs(model, replace(batch, target=target))
    assert_close(before[:, :4], after[:, :4])
    assert (before[:, 4:] - after[:, 4:]).abs().max() > 0.01


def test_context_is_what_the_window_holds(model: TranslationModel, make_corpus: Make, make_document: Make) -> None:
    """Changing a sentence inside the window changes the output; changing one outside does not."""
    document, position = make_document(5, 7), 5
    first, end = model.architecture.window.around(position)

    def output(read: Document) -> Tensor:
        corpus = make_corpus(read)
        return outputs(model, corpus.batch(history(model, corpus, position), model.architecture))[-1]

    expected = output(document)
    for other in range(7):
        if other != position:
            inside = first <= other < end
            difference = (output(changed(document, other)) - expected).abs().max()
            assert difference > 1e-3 if inside else difference == 0, other


def test_a_sentence_of_another_document_is_never_read(
    model: TranslationModel, make_corpus: Make, make_document: Make
) -> None:
    """Whatever the documents before and after it are, a document's sentences have the same outputs."""
    first, middle, last = (make_document(seed, 3) for seed in range(3))
    one = make_corpus(first, middle, last)
    other = make_corpus(changed(first, 2), middle, changed(last, 0))
    for index in (3, 4, 5):
        batches = [read.batch([index], model.architecture) for read in (one, other)]
        assert torch.equal(outputs(model, batches[0]), outputs(model, batches[1]))


def test_no_context_is_what_the_architecture_declares(
    model: TranslationModel, make_corpus: Make, make_document: Make
) -> None:
    """A sentence without context gets the sentence model's output, to the bit (`backbone`), or a null input's."""
    document = make_document(1, sentences=1)
    corpus = make_corpus(document)
    first = corpus.batch([0], model.architecture)
    if model.architecture.no_context == "backbone" or not model.architecture.window.size:
        sentence = TranslationModel(model.backbone.config, SentenceConfig(), 40, 40).eval()
        sentence.backbone = model.backbone
        assert torch.equal(outputs(model, first), outputs(sentence, first))
    else:
        pieces = model.architecture.pieces([document.sentences[0].source])
        nothing = Example(corpus.sources[0], own=None if pieces is None else Example(pieces[0]))
        null = make_batch([corpus.sources[0]], [corpus.targets[0]], model.architecture.collate([nothing]))
        assert torch.equal(outputs(model, first), outputs(model, null))


def test_step_two_moves_exactly_what_is_declared(
    make_model: Make, architecture: ArchitectureConfig, norm: Norm, corpus: TokenizedCorpus
) -> None:
    """After `freeze`, updates with dropout change all tensors that are declared, and none of the others."""
    model = make_model(architecture, norm=norm, dropout=0.2, scramble=False).train()
    model.freeze()
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    assert trained.keys() == {name for name, _ in model.named_parameters() if model.architecture.trains(name)}
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    if trained:
        optimizer = torch.optim.Adam(trained.values(), lr=1e-2)
        for _ in range(4):
            optimizer.zero_grad()
            token_losses(model, corpus.batch(range(10), model.architecture), 0.1).sum().backward()
            optimizer.step()
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert moved == trained.keys()


def test_the_end_of_the_target_is_where_the_sentence_ends(model: TranslationModel, batch: Batch) -> None:
    """Losses include the end of sentence, and nothing after it."""
    target = target_of(batch)
    losses = token_losses(model, batch)
    assert torch.equal(losses.gt(0), target[:, 1:].ne(PAD))
    assert torch.equal(target.eq(EOS).sum(1), torch.ones(10, dtype=torch.long))
