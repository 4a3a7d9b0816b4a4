from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from models.config import ArchitectureConfig
from models.data.batches import read_batch
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import EOS
from models.network.decoding import ModelDecoder
from models.search.hypotheses import SearchOptions
from models.training.objective import token_losses
from tests.support.search import search

Make = Callable[..., Any]


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Two documents."""
    built: TokenizedCorpus = make_corpus(make_document(1), make_document(2))
    return built


@pytest.mark.parametrize("options", [SearchOptions(1), SearchOptions(4, 4)], ids=["greedy", "beam"])
def test_a_translations_score_is_what_the_model_gives_it(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus, options: SearchOptions
) -> None:
    """Scored in one pass in the same context, each translation has the log-probability that search found."""
    model = make_model(architecture)
    batch = corpus.batch(range(10), model.architecture)
    options = SearchOptions(options.beam_size, options.n_best, min_length=0)
    found = search(ModelDecoder(model), batch, options, [12] * 10)
    for index, hypotheses in enumerate(found):
        read = model.architecture.select(corpus.example(index, model.architecture))
        turns = corpus.batch([index], model.architecture).turns
        for hypothesis in hypotheses:
            translated = read_batch([read], [hypothesis.tokens], model.architecture)
            with torch.no_grad():
                losses = token_losses(model, replace(translated, turns=turns))[0]
            total = -losses[: hypothesis.length].sum().item()
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
            assert EOS not in hypothesis.tokens


@pytest.mark.parametrize("options", [SearchOptions(1), SearchOptions(4, 4)], ids=["greedy", "beam"])
def test_translations_do_not_depend_on_batch_mates(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus, options: SearchOptions
) -> None:
    """A sentence has the same translation in a batch as alone."""
    model = make_model(architecture)
    together = search(ModelDecoder(model), corpus.batch(range(10), model.architecture), options, [12] * 10)
    for index, hypotheses in enumerate(together):
        (alone,) = search(ModelDecoder(model), corpus.batch([index], model.architecture), options, [12])
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in hypotheses]
        assert [h.score for h in alone] == pytest.approx([h.score for h in hypotheses], abs=1e-5)


def test_drafts_change_no_translation(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus
) -> None:
    """With perfect, cut, changed, made-up and missing drafts in one batch, tokens, scores and memories are the same."""
    model = make_model(architecture)
    decoder, options = ModelDecoder(model), SearchOptions(1)
    batch = corpus.batch(range(10), model.architecture)
    expected = [found for (found,) in search(decoder, batch, options, [12] * 10)]
    perfect = [found.tokens for found in expected]
    drafts = [
        *perfect[:2],
        *(each[:3] for each in perfect[2:4]),
        *([*each[:5], 7, 8] for each in perfect[4:7]),
        [9] * 4,
        (),
        (),
    ]
    found = [one for (one,) in search(decoder, batch, options, [12] * 10, drafts)]
    assert [one.tokens for one in found] == perfect
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)
    assert sum(one.kept for one in found) >= 20
    for one, other in zip(found, expected, strict=True):
        assert one.memory.keys() == other.memory.keys()
        for name, tensor in one.memory.items():
            torch.testing.assert_close(tensor, other.memory[name], atol=1e-5, rtol=0)
