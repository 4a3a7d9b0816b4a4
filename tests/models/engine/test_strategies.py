from typing import Any

import pytest
import torch

from models.bundle.step_one import sentence_model
from models.data.batches import Example
from models.engine import strategies
from models.engine.candidates import score
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.network.inference.graph_decoder import GraphDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import SearchOptions
from tests.support.tape import Tapes

REQUESTS = [
    TokenizedRequest(Example([5, 6, 7]), 6),
    TokenizedRequest(Example([8] * 20, [[9, 10], [11]]), 12),
    TokenizedRequest(Example([12], [[13] * 30]), 4),
    TokenizedRequest(Example([5, 6, 7], [[20, 21]]), 9),
]
TARGETS = [[4, 5], [6], [7, 8, 9, 10], []]


def test_batch_mates_change_nothing(model: TranslationModel) -> None:
    """A request has the same translations and log-probabilities alone and among others, with or without context."""
    engine = TorchEngine(model)
    for beam_size in (1, 4):
        options = SearchOptions(beam_size, n_best=beam_size)
        together = engine.translate(REQUESTS, options)
        for request, found in zip(REQUESTS, together, strict=True):
            (alone,) = engine.translate([request], options)
            assert [h.tokens for h in found] == [h.tokens for h in alone]
            torch.testing.assert_close([h.score for h in found], [h.score for h in alone], atol=1e-5, rtol=0)
    together_scores = engine.log_probabilities(REQUESTS, TARGETS)
    for request, target, values in zip(REQUESTS, TARGETS, together_scores, strict=True):
        assert len(values) == len(target) + 1
        torch.testing.assert_close(values, engine.log_probabilities([request], [target])[0], atol=1e-5, rtol=0)


def test_each_translation_has_its_own_maximum_length(model: TranslationModel) -> None:
    """No translation is longer than its request allows, including the end of sentence."""
    for request, (found,) in zip(REQUESTS, TorchEngine(model).translate(REQUESTS, SearchOptions(1)), strict=True):
        assert found.length <= request.max_length


def test_scores_are_those_of_search(model: TranslationModel) -> None:
    """Scoring a finished translation gives the log-probability that it had in the search."""
    engine = TorchEngine(model)
    found = [best for (best,) in engine.translate(REQUESTS, SearchOptions(4, min_length=0))]
    finished = [(request, best) for request, best in zip(REQUESTS, found, strict=True) if best.finished]
    assert finished
    values = engine.log_probabilities([r for r, _ in finished], [best.tokens for _, best in finished])
    for row, (_, best) in zip(values, finished, strict=True):
        torch.testing.assert_close(sum(row), best.log_probability, atol=1e-4, rtol=0)


@pytest.mark.parametrize("count", [1, 4])
def test_frames_make_room_for_scoring(model: TranslationModel, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """If idle frames of captured steps take up the memory, they are freed, and a single sentence is tried once more."""
    expected = TorchEngine(model).log_probabilities(REQUESTS[:count], TARGETS[:count])
    decoder = GraphDecoder(model, Tapes())
    engine = TorchEngine(model, decoder=decoder)
    engine.translate(REQUESTS, SearchOptions(1))
    assert decoder._frames._idle
    tried = []

    def scarce(*arguments: Any) -> list[list[list[float]]]:
        tried.append(len(arguments[2]))
        if decoder._frames._idle:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return score(*arguments)

    monkeypatch.setattr(strategies, "score", scarce)
    values = engine.log_probabilities(REQUESTS[:count], TARGETS[:count])
    assert tried == ([4, 2, 2] if count == 4 else [1, 1])
    for one, other in zip(values, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)


def test_the_sentence_model_is_the_backbone_alone(model: TranslationModel) -> None:
    """It shares the backbone's weights, ignores context, and leaves the model that it was taken from as it was."""
    bare = sentence_model(model)
    assert {p.data_ptr() for p in bare.parameters()} == {p.data_ptr() for p in model.backbone.parameters()}
    values = TorchEngine(bare).log_probabilities(REQUESTS, TARGETS)
    without = [TokenizedRequest(Example(request.example.source), request.max_length) for request in REQUESTS]
    assert values == TorchEngine(bare).log_probabilities(without, TARGETS)
    assert values != TorchEngine(model).log_probabilities(REQUESTS, TARGETS)


def test_contexts_count_an_eighth_in_a_batch() -> None:
    """Ten sentences of context do not make a request count as larger; a hundred do, so that memory stays bounded."""
    source, context = [5] * 29, [[6] * 20]
    assert TokenizedRequest(Example(source), 9).size == 30
    assert TokenizedRequest(Example(source, context * 10), 9).size == 30
    assert TokenizedRequest(Example(source, context * 100), 9).size == 100 * 20 // 8 + 1
    assert TokenizedRequest(Example(source, following=context * 100), 9).size == 100 * 20 // 8 + 1
