"""Global and local context, as in Zheng et al. 2020."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from models.config import BackboneConfig, GlobalLocalConfig, SentenceConfig
from models.data.batches import Example, pad_memories
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import BOS, EOS
from models.network.architectures.global_local import GlobalLocal
from models.network.model import TranslationModel
from models.training.objective import target_of, token_losses
from tests.models.network.oracles.global_local import global_local
from tests.support.outputs import outputs

Make = Callable[..., Any]
SMALL = BackboneConfig(width=16, feed_forward=16, heads=2, encoder_layers=2, decoder_layers=2, max_length=12)
SWITCHES: dict[str, dict[str, Any]] = {
    "default": {},
    "causal": {"causal": True, "single_sentence_global": True},
    "causal, and first sentences without the layer": {"causal": True},
    "paper": {"depth": "paper"},
    "paper without gate": {"depth": "paper", "gate": False},
    "no gate": {"gate": False},
    "positions count on": {"reset_positions": False, "segment_embedding": False},
    "no distances": {"segment_relative": False},
    "no memory": {"target_memory": False},
    "history alone": {"global_layer": False},
    "warm start": {"warm_start": True},
}


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Two documents of five sentences."""
    built: TokenizedCorpus = make_corpus(make_document(3), make_document(4))
    return built


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("switches", SWITCHES.values(), ids=SWITCHES.keys())
def test_log_probabilities_are_the_papers(
    make_model: Make, corpus: TokenizedCorpus, switches: dict[str, Any], norm: str
) -> None:
    """A batch of whole blocks, including memory, gives what the equations, written out, give for each block."""
    config = GlobalLocalConfig(block_sentences=3, **switches)
    model: TranslationModel = make_model(config, norm=norm)
    found = outputs(model, corpus.batch(range(7), model.architecture))
    for block in ((0, 1, 2), (3, 4)):
        sources = [[*corpus.sources[index], EOS] for index in block]
        targets = [[BOS, *corpus.targets[index]] for index in block]
        expected = global_local(model, sources, targets, causal=config.causal is True)
        for index, rows in zip(block, expected, strict=True):
            assert torch.allclose(found[index, : len(rows)], rows, atol=1e-5)


@torch.no_grad()
def test_step_two_starts_at_the_sentence_model(make_model: Make, corpus: TokenizedCorpus) -> None:
    """With kept positions and nothing to remember, a pre-norm model changes nothing, whatever follows."""
    config = GlobalLocalConfig(warm_start=True)
    model: TranslationModel = make_model(config, norm="pre", scramble=False)
    sentence = TranslationModel(model.backbone.config, SentenceConfig(), 40, 40).eval()
    sentence.backbone = model.backbone
    batch = corpus.batch([0], model.architecture)
    assert len(batch.context["sentences"]) > 1
    assert torch.allclose(outputs(model, batch), outputs(sentence, corpus.batch([0], sentence.architecture)), atol=1e-6)


def test_published_size() -> None:
    """Global layer, gate and projections of distances have 18 d^2 weights at four layers: 4.72 million at d = 512."""
    backbone = BackboneConfig(encoder_layers=4, decoder_layers=4)
    with torch.device("meta"):
        model = TranslationModel(backbone, GlobalLocalConfig(), 32, 32)
    added = {n: p for n, p in model.named_parameters() if n.startswith("architecture.")}
    matrices = sum(p.numel() for n, p in added.items() if p.dim() == 2 and p.size(0) >= 512)
    assert matrices == 18 * 512**2
    assert sum(p.numel() for p in added.values()) == pytest.approx(matrices, rel=0.01)


def test_a_batch_has_every_sentence_of_its_blocks_once() -> None:
    """Rows of the same block, or of its beginning, share its sentences, among which is the current one."""
    reader = GlobalLocal(GlobalLocalConfig(), SMALL, 0.0)
    whole = [
        Example([4], following=[[5], [6]]),
        Example([5], preceding=[[4]], following=[[6]]),
        Example([4], following=[[5]]),
        Example([6], preceding=[[4]]),
    ]
    context = reader.collate([reader.select(example) for example in whole])
    assert context["sentences"][:, 0].tolist() == [4, 5, 6, 6]
    assert context["at"][:, 0].tolist() == [0, 1, 2, 1]
    assert context["blocks"].tolist() == [[1, 2, 3], [1, 4, 0]]
    assert context["members"].tolist() == [[1, 2, 3], [4, 0, 0]]
    assert context["rows"].tolist() == [[0, 0, 0, 3], [1, 0, 1, 3], [0, 0, 2, 2], [3, 1, 0, 2]]


def test_a_sentence_without_room_keeps_its_place() -> None:
    """With 12 positions, a sentence of 12 tokens has none for its end, and is read as if it were empty."""
    reader = GlobalLocal(GlobalLocalConfig(), SMALL, 0.0)
    long, short = [4] * 12, [4] * 11
    found = reader.select(Example([9], preceding=[long, short], following=[long], translations=[short, long]))
    assert [list(map(list, side)) for side in (found.preceding, found.following, found.translations)] == [
        [[], short],
        [[]],
        [short, []],
    ]
    assert reader.collate([found])["blocks"].tolist() == [[0, 1, 2, 0]]


def test_a_block_is_no_longer_than_it_may_be() -> None:
    """If there are more sentences than it holds, those before the current one are read first, then those after it."""
    reader = GlobalLocal(GlobalLocalConfig(block_sentences=4), SMALL, 0.0)
    found = reader.select(Example([9], preceding=[[4], [5]], following=[[6], [7]], translations=[[8], [8]]))
    assert (len(found.preceding), len(found.following), len(found.translations)) == (2, 1, 2)


@torch.no_grad()
def test_what_a_block_leaves_is_what_decoding_it_in_turn_leaves(make_model: Make, corpus: TokenizedCorpus) -> None:
    """Sentences decoded in turn, with the memory passed on explicitly, whole or word by word, are as in one batch."""
    model: TranslationModel = make_model(GlobalLocalConfig(block_sentences=5))
    together = outputs(model, corpus.batch(range(10), model.architecture))
    memory = {}
    for turn in range(5):
        rows = [turn, 5 + turn]
        batch = replace(corpus.batch(rows, model.architecture), turns=(), memory=memory)
        tokens = target_of(batch)[:, :-1]
        whole = model.start(batch, cached=False)
        found = model.logits(model.decode(tokens, whole)).log_softmax(-1)
        left = []
        for row, index in enumerate(rows):
            length = len(corpus.targets[index]) + 1
            assert torch.allclose(found[row, :length], together[index, :length], atol=1e-5)
            alone = replace(
                corpus.batch([index], model.architecture),
                turns=(),
                memory={name: tensor[row : row + 1] for name, tensor in memory.items()},
            )
            state = model.start(alone, cached=True)
            for word in range(length):
                model.decode(tokens[row : row + 1, word : word + 1], state)
            left.append({name: t[0] for name, t in model.architecture.finish(state, torch.tensor([0])).items()})
        memory = model.architecture.finish(whole, torch.arange(2))
        for name, tensor in pad_memories(left).items():
            longest = tensor.size(1)
            assert torch.allclose(memory[name][:, -longest:].float(), tensor.float(), atol=1e-5)


def test_gradients_end_where_a_sentence_ends(make_model: Make, corpus: TokenizedCorpus) -> None:
    """The loss of a sentence depends on the translation before it, but gives that no gradients."""
    model: TranslationModel = make_model(GlobalLocalConfig(global_layer=False), embeddings="separate")
    batch = corpus.batch([0, 1], model.architecture)
    loss = token_losses(model, batch)[1].sum()
    assert not torch.allclose(loss, token_losses(model, replace(batch, turns=()))[1].sum())
    (gradient,) = torch.autograd.grad(loss, model.backbone.target_embedding.weight)
    first, second = (set(map(int, corpus.targets[index])) for index in (0, 1))
    assert first - second
    assert not gradient[list(first - second)].any()
    assert gradient[list(second)].any(1).all()


@torch.no_grad()
def test_following_sentences_are_hidden_in_half_of_the_batches(make_model: Make, corpus: TokenizedCorpus) -> None:
    """A model trained both ways computes each training batch either with or without following sentences."""
    model: TranslationModel = make_model(GlobalLocalConfig(causal="both", target_memory=False))
    example = corpus.example(1, model.architecture)
    batches = [corpus.batch([1], model.architecture)]
    hidden = replace(batches[0], context=model.architecture.collate([replace(example, following=())]))
    expected = [outputs(model, batch) for batch in (batches[0], hidden)]
    model.train()
    found = []
    for seed in range(40):
        torch.manual_seed(seed)
        output = outputs(model, batches[0])
        found.append([torch.allclose(output, each, atol=1e-6) for each in expected])
    assert all(sum(each) == 1 for each in found)
    assert 10 <= sum(as_hidden for _, as_hidden in found) <= 30


def test_states_that_are_kept_change_nothing(make_model: Make, corpus: TokenizedCorpus) -> None:
    """In inference, sentences are not encoded again, unless weights may have changed; results stay the same."""
    model: TranslationModel = make_model(GlobalLocalConfig(block_sentences=5))
    few, all_of_them = (corpus.batch(range(count), model.architecture) for count in (5, 10))
    expected = outputs(model, all_of_them)
    with torch.inference_mode():
        for batch in (few, all_of_them, all_of_them):
            found = outputs(model, batch)
    assert torch.allclose(found, expected, atol=1e-5)
    model.train()
    with torch.no_grad():
        model.backbone.encoder[0].feed_forward.outer.weight.mul_(2)
    model.eval()
    expected = outputs(model, few)
    with torch.inference_mode():
        assert torch.allclose(outputs(model, few), expected, atol=1e-5)


def test_reading_nothing_is_refused() -> None:
    """A model that reads neither the source document nor the history would read no context."""
    with pytest.raises(ValueError, match="nothing reads the context"):
        GlobalLocalConfig(global_layer=False, target_memory=False)
