"""All layers of a decoder in one call, for one word per row, or several words one after the other."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from models.config import DocTransformerConfig, GlobalLocalConfig, LayerWeightingConfig, Norm, SentenceConfig
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import EOS
from models.errors import UnsupportedOptionError
from models.kernels.choices import Chosen, Stretch
from models.kernels.machine import supports_int8
from models.network.decoding import ModelDecoder
from models.network.inference.preparation import prepare
from models.network.model import TranslationModel
from models.network.state import State
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
SEARCHES = [
    SearchOptions(1),
    SearchOptions(1, min_length=11, most_repeated=5),
    SearchOptions(3, 3),
    SearchOptions(3, 2, patience=1.5, min_length=11, most_repeated=5),
    SearchOptions(2, alpha=0),
]

pytestmark = pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Three documents."""
    built: TokenizedCorpus = make_corpus(*map(make_document, range(3)))
    return built


class Counting(ModelDecoder):
    """Counts the steps that it takes."""

    taken = 0

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Take a step."""
        self.taken += 1
        return super().step(tokens, state)

    def stretch(self, tokens: Tensor, totals: Tensor | None, state: State, limits: Stretch) -> Chosen:
        """Take some."""
        chosen = super().stretch(tokens, totals, state, limits)
        self.taken += len(chosen.found[0])
        return chosen


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
@pytest.mark.parametrize("options", SEARCHES, ids=str)
def test_it_gives_what_the_layers_give(
    make_model: Make, corpus: TokenizedCorpus, config: Any, options: SearchOptions, norm: Norm
) -> None:
    """Words and scores are equal to the bit, with and without a beam, while the cache grows and sentences end."""
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


@pytest.mark.parametrize("size", [1, 3])
def test_several_words_are_one_call(make_model: Make, corpus: TokenizedCorpus, size: int) -> None:
    """Search looks at what was found after some steps, or as soon as enough sentences are done to leave the batch."""
    model = make_model(DocTransformerConfig())
    prepare(model, int8=True)
    running = new_search(ModelDecoder(model), SearchOptions(size, min_length=40))
    batch = corpus.batch(range(9), model.architecture)
    running.add(batch, [Wanted(key, length) for key, length in enumerate([3, 5, *7 * [40]])])
    looks = []
    while running.running:
        looks.append(sorted((one.key, one.hypotheses[0].length) for one in running.step()))
    together = [(key, 40) for key in range(2, 9)]
    assert looks == [[(0, 3), (1, 5)], *4 * [[]], together]  # two of nine are enough to leave the batch; 35 = 4 * 8 + 3


def test_a_call_is_short_however_many_rows_there_are(make_model: Make, corpus: TokenizedCorpus) -> None:
    """Others wait for it: of ten sentences with ten hypotheses each, it takes two words."""
    model = make_model(DocTransformerConfig())
    prepare(model, int8=True)
    running = new_search(ModelDecoder(model), SearchOptions(10, min_length=12))
    running.add(corpus.batch(range(10), model.architecture), [Wanted(key, 12) for key in range(10)])
    taken = []
    while running.running:
        running.step()
        taken.append(running.taken)
    assert taken == 6 * [2]


@pytest.mark.parametrize("options", SEARCHES, ids=str)
def test_no_step_is_wasted_on_a_sentence_alone(
    make_model: Make, corpus: TokenizedCorpus, options: SearchOptions
) -> None:
    """Once nothing is left to be found, there are no more steps in the same call than there would be one by one."""
    model = make_model(DocTransformerConfig())
    with torch.no_grad():
        model.backbone.output.weight[EOS] *= 6  # translations end at some word or other
    prepare(model, int8=True)

    def steps(number: int) -> int:
        decoder = Counting(model)
        running = new_search(decoder, options)
        running.add(corpus.batch([number], model.architecture), [Wanted(0, 50)])
        while running.running:
            running.step()
        return decoder.taken

    together = list(map(steps, range(12)))
    model.step = None
    assert together == list(map(steps, range(12)))
    assert min(together) < 50


def test_a_vocabulary_may_be_too_small_for_a_beam(make_model: Make, corpus: TokenizedCorpus) -> None:
    """There would not be enough continuations to choose from."""
    model = make_model(SentenceConfig())
    prepare(model, int8=True)
    running = new_search(ModelDecoder(model), SearchOptions(beam_size=1000))
    running.add(corpus.batch(range(2), model.architecture), [Wanted(key, 9) for key in range(2)])
    with pytest.raises(UnsupportedOptionError, match="too small for beam 1000"):
        running.step()
