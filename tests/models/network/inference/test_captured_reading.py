"""Encoding sentences and contexts with graphs; for the decoding steps after that, see `test_graph_decoder`."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from models.config import ArchitectureConfig, DocTransformerConfig, SentenceConfig
from models.data.batches import Batch
from models.data.corpus import TokenizedCorpus
from models.network.decoding import ModelDecoder
from models.network.inference import captured_reading
from models.network.inference.captured_reading import CapturedReading
from models.network.inference.capturing import Capturing
from models.network.inference.graph_decoder import GraphDecoder
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
    """Make a function that reads rows of a corpus with captured graphs, and encodes their contexts each time."""
    reading = CapturedReading(Capturing(tapes, "reading"), ModelDecoder(model), limit)

    def read(rows: range) -> State | None:
        model.eval()  # forgets states of contexts
        batch = corpus.batch(rows, model.architecture)
        with torch.inference_mode(), model.architecture.computing_by(reading.context):
            return reading.start(batch, model.architecture.encode(batch, model.backbone))

    return read


@torch.inference_mode()
def first_scores(decoder: ModelDecoder, batch: Batch) -> Tensor:
    """The scores of the first word of each sentence."""
    return decoder.step(torch.ones(len(batch.source), dtype=torch.int64), decoder.start(batch)).clone()


def test_each_architecture_reads_the_same(
    make_model: Make, architecture: ArchitectureConfig, corpus: TokenizedCorpus
) -> None:
    """Scores are the same with and without graphs, in batches of various sizes, even after longer ones."""
    model, tapes = make_model(architecture), Tapes()
    graphs, plain = GraphDecoder(model, tapes), ModelDecoder(model)
    for rows in (range(20, 28), range(20, 28), range(3), range(40, 45), range(1, 2), range(3, 6), range(6, 7)):
        batch = corpus.batch(rows, model.architecture)
        model.eval()  # forgets states of contexts
        found = first_scores(graphs, batch)
        model.eval()
        torch.testing.assert_close(found, first_scores(plain, batch), atol=1e-4, rtol=1e-4)
    assert bool(graphs._reading._kept) == (architecture.kind != "global_local")


def test_what_is_read_later_changes_nothing(model: TranslationModel, corpus: TokenizedCorpus) -> None:
    """States of several batches of one shape can exist at the same time."""
    read = reader(model, corpus, Tapes())
    turns = [range(8), range(20, 28), range(3), range(40, 45)]
    found = [read(rows) for rows in turns]
    assert found[0] is None
    plain = ModelDecoder(model)
    for rows, state in zip(turns[1:], found[1:], strict=True):
        assert state is not None
        batch = corpus.batch(rows, model.architecture)
        with torch.inference_mode():
            scores = plain.step(torch.ones(len(batch.source), dtype=torch.int64), state)
        torch.testing.assert_close(scores, first_scores(plain, batch), atol=1e-4, rtol=1e-4)


def test_no_graph_has_more_positions_than_the_model(make_model: Make) -> None:
    """Graphs can also read sentences whose length, rounded up to a power of two, would exceed the positions."""
    model = make_model(SentenceConfig())
    assert 70 < len(model.backbone.positions) < 128
    graphs, plain = GraphDecoder(model, Tapes()), ModelDecoder(model)
    batch = Batch(torch.arange(2 * 70).view(2, 70) % 30 + 4, None, {})
    for _ in range(3):
        torch.testing.assert_close(first_scores(graphs, batch), first_scores(plain, batch), atol=1e-4, rtol=1e-4)
    assert graphs._reading._kept


def test_no_graph_has_more_positions_than_the_encoder_of_contexts(model: TranslationModel) -> None:
    """An encoder such as BERT has other positions than the backbone; lengths are rounded up to at most those."""
    model.architecture.context_positions = 48
    reading, read = CapturedReading(Capturing(Tapes(), "reading"), ModelDecoder(model), 2**30), set()

    def compute(ids: Tensor) -> list[Tensor]:
        read.add(ids.size(1))
        return [ids[..., None].float()]

    for length in (40, 45, 47):
        (states,) = reading.context(compute, torch.full((2, length), 7))
        assert bool((states[:, :length] == 7).all())
    assert read == {40, 48}


@pytest.mark.parametrize(("few", "most"), [(0, 0), (0, 2**15)], ids=["there are many tokens", "most is padding"])
def test_where_a_graph_does_not_pay_there_is_none(
    model: TranslationModel, corpus: TokenizedCorpus, monkeypatch: pytest.MonkeyPatch, few: int, most: int
) -> None:
    """With many tokens or mostly padding, graphs save nothing, so none is captured."""
    monkeypatch.setattr(captured_reading, "FEW_TOKENS", few)
    monkeypatch.setattr(captured_reading, "MOST_TOKENS", most)
    read = reader(model, corpus, Tapes())
    assert [read(range(9)) for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("limit", [0, 2**30])
def test_memory_for_graphs_is_bounded(model: TranslationModel, corpus: TokenizedCorpus, limit: int) -> None:
    """The least recently used graphs are dropped, and captured anew when they are wanted twice again."""
    tapes = Tapes()
    read = reader(model, corpus, tapes, limit)
    for rows in (range(1, 5), range(6, 7)) * 2 + (range(1, 5),) * 3:
        read(rows)
    assert (tapes.captures > 4) == (limit == 0)
