"""With kept states of the context, every architecture gives the same answers as without them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from models.config import ArchitectureConfig
from models.data.batches import Example
from models.data.corpus import TokenizedCorpus
from models.data.wordpiece import WordPiece
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.kernels.machine import supports_int8
from models.network.inference.preparation import prepare
from models.network.model import TranslationModel
from models.network.pretrained import PretrainedEncoder
from models.network.state_cache import StateCache
from models.search.hypotheses import SearchOptions
from models.training.checkpoints import load_weights, weights_of
from models.training.objective import token_losses
from models.training.validation import mean_loss

Make = Callable[..., Any]

COMPUTE_TYPES = [
    "float32",
    pytest.param("int8", marks=pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")),
]
SENTENCES = 10
CALLS = st.lists(st.lists(st.integers(0, SENTENCES - 1), min_size=1, max_size=4), min_size=2, max_size=4)
"""Calls for several sentences each: any of any document, again or for the first time."""


@pytest.fixture(scope="module")
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Two documents of five sentences; also sets one thread, for models this small."""
    torch.set_num_threads(1)
    built: TokenizedCorpus = make_corpus(*(make_document(seed) for seed in range(2)))
    return built


@pytest.fixture(params=COMPUTE_TYPES)
def model(make_model: Make, architecture: ArchitectureConfig, request: pytest.FixtureRequest) -> TranslationModel:
    """Each architecture as it is served."""
    built: TranslationModel = make_model(architecture, width=32, feed_forward=64)
    prepare(built, int8=request.param == "int8")
    if (encoder := built.architecture.pretrained) is not None:
        built.architecture.pretrained = OneByOne(encoder)
    return built


@dataclass(frozen=True)
class OneByOne:
    """A pretrained encoder that reads each text alone, as one in a bundle does on a CPU."""

    encoder: PretrainedEncoder

    @property
    def wordpiece(self) -> WordPiece:
        """The encoder's tokenizer."""
        return self.encoder.wordpiece

    def states(self, tokens: Tensor) -> Tensor:
        """The encoder's states (B, M, E) of padded ids (B, M)."""
        lengths = tokens.ne(0).sum(1).tolist()
        each = [self.encoder.states(row[None, :length])[0] for row, length in zip(tokens, lengths, strict=True)]
        return torch.stack([F.pad(own, (0, 0, 0, tokens.size(1) - len(own))) for own in each])


def asked(example: Example, model: TranslationModel) -> TokenizedRequest:
    """A sentence, with as much of its context as is read."""
    return TokenizedRequest(model.architecture.select(example), 8)


def forget(model: TranslationModel) -> None:
    """Clear all caches."""
    for kept in model.architecture.caches():
        kept.clear()


@settings(max_examples=3)
@given(calls=CALLS, limit=st.sampled_from([2**26, 4000]))
def test_whatever_was_asked_before_answers_are_those_of_a_cold_engine(
    model: TranslationModel, corpus: TokenizedCorpus, calls: list[list[int]], limit: int
) -> None:
    """Words are the same, and scores within a thousandth, whether the cache has room for all states or few."""
    if model.architecture.cache is not None:
        model.architecture.cache = StateCache(limit)
    options = SearchOptions(1, min_length=2)
    requests = [[asked(corpus.example(i, model.architecture), model) for i in call] for call in calls]
    warm = TorchEngine(model)
    found = [warm.translate(call, options) for call in requests]
    for call, answers in zip(requests, found, strict=True):
        forget(model)
        for (one, *_), (other, *_) in zip(answers, TorchEngine(model).translate(call, options), strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score, abs=1e-3)


def test_a_sentence_that_is_asked_again_encodes_no_context(model: TranslationModel, corpus: TokenizedCorpus) -> None:
    """All of its context is found in the cache, if the architecture keeps any."""
    example = corpus.example(4, model.architecture)
    engine = TorchEngine(model)
    engine.translate([asked(example, model)], SearchOptions(1))
    before = engine.cache_use()
    engine.translate([asked(example, model)], SearchOptions(1))
    again = engine.cache_use() - before
    assert again.misses == 0
    assert bool(again.hits) == bool(engine.caches)


def test_training_neither_uses_nor_fills_a_cache(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus
) -> None:
    """After an update, the dev loss is that of the new weights, although states of the old ones had been kept."""
    model: TranslationModel = make_model(architecture)
    before = mean_loss(model, corpus)
    assert mean_loss(model, corpus) == pytest.approx(before, abs=1e-5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model.train()
    token_losses(model, corpus.batch(range(5), model.architecture)).sum().backward()
    assert not any(kept.size for kept in model.architecture.caches())
    optimizer.step()
    model.eval()
    after = mean_loss(model, corpus)
    fresh: TranslationModel = make_model(architecture)
    load_weights(fresh, weights_of(model))
    assert after == pytest.approx(mean_loss(fresh, corpus), abs=1e-5)
    assert after != pytest.approx(before, abs=1e-3)
