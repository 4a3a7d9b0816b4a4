import pytest

from models.data.batches import Example, read_batch
from models.data.tokenizer import PAD
from models.engine.candidates import Reading, score
from models.network.model import TranslationModel


def test_candidates_are_scored_as_they_are_alone(model: TranslationModel) -> None:
    """This holds for any lengths and numbers, and with padding among the words, which CTranslate2 may propose."""
    batch = read_batch([Example([5, 6, 7]), Example([8])], None, model.architecture)
    candidates = [[[4, 5, 6], [PAD]], [[7, PAD, 9, 10, PAD]]]
    together = score(model, batch, candidates)
    assert [[len(values) for values in each] for each in together] == [[4, 2], [6]]
    for place, each in enumerate(candidates):
        for candidate, values in zip(each, together[place], strict=True):
            alone = score(model, batch, [[candidate] if row == place else [[]] for row in range(2)])
            assert alone[place][0] == pytest.approx(values, abs=1e-4)


def test_another_token_is_scored_where_each_stands(model: TranslationModel) -> None:
    """At each place, including that of the end of sentence, it is scored as in a candidate that has it there."""
    reading = Reading.of(model, read_batch([Example([5, 6, 7])], None, model.architecture))
    ((own, beside),) = reading.score_beside([[4, 5]], 9)
    assert own == pytest.approx(reading.score([[4, 5]])[0], abs=1e-5)
    instead = reading.score([[9], [4, 9], [4, 5, 9]])
    assert beside == pytest.approx([values[place] for place, values in enumerate(instead)], abs=1e-4)


def test_a_candidate_may_be_as_long_as_the_model_has_positions(model: TranslationModel) -> None:
    """If CTranslate2 has cut a candidate at the maximum length, there is no position for the end of sentence."""
    most = len(model.backbone.positions)
    batch = read_batch([Example([5, 6, 7])], None, model.architecture)
    ((longest, shorter),) = score(model, batch, [[[4] * most, [4] * (most - 1)]])
    assert len(longest) == len(shorter) == most
    assert longest[:-1] == pytest.approx(shorter[:-1], abs=1e-4)
