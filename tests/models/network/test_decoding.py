from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.config import ArchitectureConfig
from models.data.batches import TokenizedCorpus
from models.data.tokenizer import EOS
from models.network.decoding import ModelDecoder
from models.search.hypotheses import SearchOptions
from models.search.search import search
from models.training.objective import token_losses

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
    """Scored in one pass with the same context, each translation has the log-probability that search found."""
    model = make_model(architecture)
    batch = corpus.batch(range(10), model.architecture)
    options = SearchOptions(options.beam_size, options.n_best, min_length=0)
    found = search(ModelDecoder(model), batch, options, [12] * 10)
    for index, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            reference, corpus.targets[index] = corpus.targets[index], hypothesis.tokens
            with torch.no_grad():
                losses = token_losses(model, corpus.batch([index], model.architecture))[0]
            corpus.targets[index] = reference  # which others have as context
            total = -losses[: hypothesis.length].sum().item()
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
            assert EOS not in hypothesis.tokens


@pytest.mark.parametrize("options", [SearchOptions(1), SearchOptions(4, 4)], ids=["greedy", "beam"])
def test_translations_do_not_depend_on_batch_mates(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus, options: SearchOptions
) -> None:
    """A sentence is translated in a batch as it is alone."""
    model = make_model(architecture)
    together = search(ModelDecoder(model), corpus.batch(range(10), model.architecture), options, [12] * 10)
    for index, hypotheses in enumerate(together):
        (alone,) = search(ModelDecoder(model), corpus.batch([index], model.architecture), options, [12])
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in hypotheses]
        assert [h.score for h in alone] == pytest.approx([h.score for h in hypotheses], abs=1e-5)
