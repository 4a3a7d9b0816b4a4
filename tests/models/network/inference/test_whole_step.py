"""All layers of a decoder in one call, for one word per row."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.config import DocTransformerConfig, GlobalLocalConfig, LayerWeightingConfig, Norm, SentenceConfig
from models.data.corpus import TokenizedCorpus
from models.kernels.machine import supports_int8
from models.network.decoding import ModelDecoder
from models.network.inference.preparation import prepare
from models.network.model import TranslationModel
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.running import Wanted
from models.search.search import new_search

Make = Callable[..., Any]
WITH_STEP = [
    SentenceConfig(),
    DocTransformerConfig(),
    DocTransformerConfig(integration="encoder"),
    DocTransformerConfig(integration="none"),
    LayerWeightingConfig(),
]
"""The last one embeds words and reads the last layer by itself."""

pytestmark = pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Three documents."""
    built: TokenizedCorpus = make_corpus(*map(make_document, range(3)))
    return built


def translated(model: TranslationModel, corpus: TokenizedCorpus, options: SearchOptions) -> dict[int, list[Hypothesis]]:
    """Translations of sentences that join while others are decoded, and leave at their maximum lengths."""
    running, found = new_search(ModelDecoder(model), options), []
    for start in range(0, 15, 5):
        indices = range(start, start + 5)
        running.add(corpus.batch(indices, model.architecture), [Wanted(i, 3 + 9 * (i % 5)) for i in indices])
        for _ in range(6):
            found += running.step() if running.running else []
    while running.running:
        found += running.step()
    return {one.key: one.hypotheses for one in found}


@pytest.mark.parametrize("config", WITH_STEP, ids=lambda config: config.kind)
@pytest.mark.parametrize("options", [SearchOptions(1), SearchOptions(3, 3)], ids=["greedy", "beam"])
def test_it_gives_what_the_layers_give(
    make_model: Make, corpus: TokenizedCorpus, config: Any, options: SearchOptions, norm: Norm
) -> None:
    """Words and scores are equal to the bit, with and without a beam, while the cache grows."""
    model = make_model(config, norm=norm, activation="gelu" if norm == "post" else "relu")
    prepare(model, int8=True)
    assert model.step is not None
    whole = translated(model, corpus, options)
    assert max(len(hypotheses[0].tokens) for hypotheses in whole.values()) > 32
    model.step = None
    assert whole == translated(model, corpus, options)


@pytest.mark.parametrize("config", WITH_STEP, ids=lambda config: config.kind)
def test_it_is_used_where_words_come_one_by_one(make_model: Make, corpus: TokenizedCorpus, config: Any) -> None:
    """It is used only there: several words at once, or a whole target, go through the layers."""
    model, calls = make_model(config), []
    prepare(model, int8=True)
    step = model.step
    assert step is not None
    model.step = lambda tokens, state: calls.append(tokens.tolist()) or step(tokens, state)
    batch = corpus.batch(range(4), model.architecture)
    with torch.inference_mode():
        decoder, state = ModelDecoder(model), ModelDecoder(model).start(batch)
        decoder.read(torch.ones(4, 3, dtype=torch.long), state)
        assert not calls
        decoder.step(torch.ones(4, dtype=torch.long), state)
        model.hidden(batch, torch.ones(4, 1, dtype=torch.long))
    assert calls == [[1] * 4]


@pytest.mark.parametrize("config", [GlobalLocalConfig(), DocTransformerConfig(gating=False)])
def test_layers_that_are_more_have_none(make_model: Make, config: Any) -> None:
    """An architecture that changes layers in other ways, or has context without a gate, has no whole step."""
    model = make_model(config)
    prepare(model, int8=True)
    assert model.step is None
