"""Sentences and contexts that are encoded by graphs; for the steps after that see `test_graph_decoder`."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from models.config import DocTransformerConfig
from models.data.corpus import TokenizedCorpus
from models.network.decoding import ModelDecoder
from models.network.inference import captured_reading
from models.network.inference.captured_reading import CapturedReading
from models.network.inference.capturing import Capturing
from models.network.model import TranslationModel
from models.network.state import State
from tests.support.tape import Tapes

Make = Callable[..., Any]
Read = Callable[[range], State | None]


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Nine documents of five sentences."""
    built: TokenizedCorpus = make_corpus(*(make_document(seed) for seed in range(9)))
    return built


@pytest.fixture
def model(make_model: Make) -> TranslationModel:
    """A model that reads context."""
    built: TranslationModel = make_model(DocTransformerConfig())
    return built


def reader(model: TranslationModel, corpus: TokenizedCorpus, tapes: Tapes, limit: int = 2**30) -> Read:
    """Reads rows of a corpus by what is captured."""
    begin, lengths = ModelDecoder(model).begin, model.architecture.lengths
    reading = CapturedReading(Capturing(tapes, "reading"), begin, lengths, limit)

    def read(rows: range) -> State | None:
        batch = corpus.batch(rows, model.architecture)
        with torch.inference_mode(), model.architecture.computing_by(reading.context):
            return reading.start(batch, model.architecture.encode(batch, model.backbone))

    return read


def scores(model: TranslationModel, state: State) -> Tensor:
    """Of the first word of each sentence."""
    with torch.inference_mode():
        rows = len(state.fixed["source.mask"])
        return ModelDecoder(model).step(torch.ones(rows, dtype=torch.int64), state)


@torch.inference_mode()
def expected(model: TranslationModel, corpus: TokenizedCorpus, rows: range) -> Tensor:
    """The same without anything captured."""
    return scores(model, ModelDecoder(model).start(corpus.batch(rows, model.architecture)))


def test_batches_do_not_see_those_before_them(model: TranslationModel, corpus: TokenizedCorpus) -> None:
    """Longer ones have been where a shorter one is read, and what is read later changes nothing of it."""
    tapes = Tapes()
    read = reader(model, corpus, tapes)
    turns = [range(20, 28), range(3), range(1, 2), range(40, 45), range(3, 6)]
    found = [read(rows) for rows in turns]
    assert tapes.replays > tapes.captures
    for rows, state in zip(turns, found, strict=True):
        assert state is not None
        torch.testing.assert_close(scores(model, state), expected(model, corpus, rows))


def test_many_tokens_are_read_without_a_graph(
    model: TranslationModel, corpus: TokenizedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is captured for batches that keep a device busy, and padding would cost."""
    tapes = Tapes()
    monkeypatch.setattr(captured_reading, "MOST_TOKENS", 8 * (32 + 64))  # of as many sentences, and their contexts
    read = reader(model, corpus, tapes)
    assert read(range(8)) is not None
    assert read(range(9)) is None
    assert tapes.captures == 3  # contexts and sentences of eight, and the one context that was new then


@pytest.mark.parametrize(("limit", "captures"), [(0, 6), (2**30, 4)])
def test_memory_for_graphs_is_bounded(
    model: TranslationModel, corpus: TokenizedCorpus, limit: int, captures: int
) -> None:
    """Those that were used longest ago go, and are captured anew when they are wanted again."""
    tapes = Tapes()
    read = reader(model, corpus, tapes, limit)
    for rows in (range(1, 5), range(6, 7), range(7, 10)):
        read(rows)
    assert tapes.captures == captures
