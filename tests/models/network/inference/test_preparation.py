from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.config import ArchitectureConfig
from models.data.corpus import TokenizedCorpus
from models.kernels.machine import supports_int8
from models.network.decoding import ModelDecoder
from models.network.inference.preparation import prepare
from models.search.hypotheses import SearchOptions
from models.search.running import Wanted
from models.search.search import new_search
from models.training.objective import token_losses
from tests.support.search import search

Make = Callable[..., Any]

OPTIONS = [SearchOptions(1), SearchOptions(3, 3)]


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Two documents."""
    built: TokenizedCorpus = make_corpus(make_document(1), make_document(2))
    return built


@torch.inference_mode()
def test_a_model_that_is_made_ready_computes_the_same(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus
) -> None:
    """Joined projections, and another way of calling modules, change only the last digits."""
    model = make_model(architecture)
    batch = corpus.batch(range(10), model.architecture)
    expected = token_losses(model, batch)
    prepare(model)
    assert torch.allclose(token_losses(model, batch), expected, atol=1e-4)


@pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")
@pytest.mark.parametrize("options", OPTIONS, ids=["greedy", "beam"])
def test_in_int8_a_translation_depends_on_nothing_else_in_its_batch(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus, options: SearchOptions
) -> None:
    """A sentence gets the same words alone and in a batch, and the same score to the bit.

    A difference in the last digit would sometimes round to another integer, and so become a thousandth. The widths are
    no multiples of vector lengths, since torch computes the remaining elements differently.
    """
    model = make_model(architecture, width=20, feed_forward=36)
    prepare(model, int8=True)
    if model.architecture.pretrained is not None:
        prepare(model.architecture.pretrained.model, int8=True)
    together = search(ModelDecoder(model), corpus.batch(range(10), model.architecture), options, [12] * 10)
    for index, hypotheses in enumerate(together):
        (alone,) = search(ModelDecoder(model), corpus.batch([index], model.architecture), options, [12])
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in hypotheses]
        assert [h.score for h in alone] == [h.score for h in hypotheses]


@pytest.mark.parametrize("options", OPTIONS, ids=["greedy", "beam"])
@pytest.mark.parametrize(
    "int8",
    [False, pytest.param(True, marks=pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU"))],
    ids=["float32", "int8"],
)
def test_a_sentence_that_joins_is_translated_as_alone(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus, options: SearchOptions, int8: bool
) -> None:
    """Sentences that join later are translated as they are alone, and so are those that are already running."""
    model = make_model(architecture, width=32, feed_forward=64)
    prepare(model, int8=int8)
    decoder = ModelDecoder(model)
    if not decoder.joins:
        pytest.skip("this architecture decodes together only what has started together")
    running, found = new_search(decoder, options), []
    for start in (0, 4, 8):
        indices = range(start, min(start + 4, 10))
        running.add(corpus.batch(indices, model.architecture), [Wanted(i, 4 + i % 9) for i in indices])
        for _ in range(5):
            found += running.step() if running.running else []
    while running.running:
        found += running.step()
    assert {one.key for one in found} == set(range(10))
    for one in found:
        (alone,) = search(decoder, corpus.batch([one.key], model.architecture), options, [4 + one.key % 9])
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in one.hypotheses]
        assert [h.score for h in alone] == pytest.approx([h.score for h in one.hypotheses], abs=1e-5)
