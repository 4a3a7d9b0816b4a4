import copy
import gc
import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import pytest
import torch

from models.config import ArchitectureConfig, DocTransformerConfig
from models.data.batches import Batch, Example, make_batch
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import BOS
from models.network.decoding import ModelDecoder
from models.network.inference.frame import Frame, Shape
from models.network.inference.framed_state import FRAME_BYTES, FramedState, Frames
from models.network.inference.graph_decoder import GraphDecoder
from models.network.inference.graphs import Replay
from models.network.inference.preparation import prepare
from models.network.model import TranslationModel
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.loops import continues_loop
from models.search.running import Unwanted, Wanted
from models.search.search import new_search
from tests.support.search import run, search
from tests.support.steps import go_on, scores
from tests.support.tape import Launches, Tapes
from tests.support.torch_kernels import stand_in

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Use one thread: with tensors this small, several would mostly wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def corpus(make_corpus: Make, make_document: Make) -> TokenizedCorpus:
    """Three documents of five sentences."""
    built: TokenizedCorpus = make_corpus(*(make_document(seed) for seed in range(3)))
    return built


@pytest.fixture
def model(make_model: Make, architecture: ArchitectureConfig) -> TranslationModel:
    """A model of each architecture."""
    built: TranslationModel = make_model(architecture)
    return built


def with_memory(model: TranslationModel, batch: Batch) -> Batch:
    """The batch, with random memories of preceding sentences if the architecture is recurrent."""
    if not model.architecture.recurrent:
        return batch
    generator = torch.Generator().manual_seed(5)
    real = torch.arange(9).expand(len(batch.source), 9) >= torch.arange(len(batch.source))[:, None]
    left = {str(layer): torch.randn(len(real), 9, 16, generator=generator) for layer in range(2)}
    return replace(batch, memory={**left, "real": real})


def test_captured_steps_are_the_steps(model: TranslationModel, corpus: TokenizedCorpus) -> None:
    """Scores are equal whatever happens to the batch between steps, and however much of a frame is empty."""
    batches = [with_memory(model, corpus.batch(rows, model.architecture)) for rows in (range(10), range(10, 14))]
    tapes = Tapes()
    expected, found = scores(ModelDecoder(model), *batches), scores(GraphDecoder(model, tapes), *batches)
    assert len(found) == len(expected) > 30
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.log_softmax(-1), other.log_softmax(-1), atol=1e-4, rtol=0)
    assert tapes.replays > 30


def fused(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> TranslationModel:
    """The same model as on a GPU, with stand-ins for its kernels."""
    stand_in(monkeypatch)
    other = copy.deepcopy(model)
    prepare(other.eval(), fused=True)
    return other


def test_fused_steps_are_the_steps(
    model: TranslationModel, corpus: TokenizedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, words are looked up where they are stored; scores are equal, with and without frames."""
    batches = [with_memory(model, corpus.batch(rows, model.architecture)) for rows in (range(10), range(10, 14))]
    expected, other, tapes = scores(ModelDecoder(model), *batches), fused(model, monkeypatch), Tapes()
    for decoder in (ModelDecoder(other), GraphDecoder(other, tapes)):
        for one, another in zip(scores(decoder, *batches), expected, strict=True):
            torch.testing.assert_close(one.log_softmax(-1), another.log_softmax(-1), atol=1e-4, rtol=0)
    assert tapes.replays > 30


@pytest.mark.parametrize("sentences", [pytest.param(1, marks=pytest.mark.slow), 10])
@pytest.mark.parametrize("options", [SearchOptions(1), SearchOptions(4, 4)], ids=["greedy", "beam"])
def test_searches_by_fused_steps_find_the_same(
    model: TranslationModel,
    corpus: TokenizedCorpus,
    options: SearchOptions,
    sentences: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This holds for sentences that end at different times and leave, and for a single one."""

    def translations(decoder: ModelDecoder) -> list[list[list[int]]]:
        batch = with_memory(model, corpus.batch(range(sentences), model.architecture))
        lengths = [5 + 4 * number for number in range(sentences)]
        return [[each.tokens for each in some] for some in search(decoder, batch, options, lengths)]

    expected = translations(ModelDecoder(model))
    assert translations(GraphDecoder(fused(model, monkeypatch), Tapes())) == expected


@pytest.fixture
def doc_transformer(make_model: Make) -> TranslationModel:
    """A model that reads context."""
    built: TranslationModel = make_model(DocTransformerConfig())
    return built


@pytest.mark.parametrize("most_repeated", [None, 3], ids=["loops", "no loops"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_what_a_graph_chooses_is_what_search_would(
    doc_transformer: TranslationModel, corpus: TokenizedCorpus, beam_size: int, most_repeated: int | None
) -> None:
    """Some sentences join later, none may end too early, and if one repeats itself, search chooses instead."""
    options = SearchOptions(beam_size, beam_size, min_length=9, most_repeated=most_repeated)

    def translations(decoder: ModelDecoder) -> dict[int, list[Hypothesis]]:
        running, found = new_search(decoder, options), dict[int, list[Hypothesis]]()
        for keys in (range(5), range(5, 9)):
            running.add(corpus.batch(keys, doc_transformer.architecture), [Wanted(key, 40 + key) for key in keys])
            for _ in range(3):
                found |= {each.key: each.hypotheses for each in running.step()}
        while running.running:
            found |= {each.key: each.hypotheses for each in running.step()}
        return found

    tapes = Tapes()
    decoder = GraphDecoder(doc_transformer, tapes)
    expected, found = translations(ModelDecoder(doc_transformer)), translations(decoder)
    assert tapes.replays > 30
    assert all(frame.shape.choice for frame in decoder._frames._idle)  # none is captured a second time without choice
    assert found.keys() == expected.keys()
    for key, hypotheses in expected.items():
        assert [each.tokens for each in found[key]] == [each.tokens for each in hypotheses]
        assert [each.score for each in found[key]] == pytest.approx([each.score for each in hypotheses], abs=1e-4)
    said = [each.tokens for hypotheses in expected.values() for each in hypotheses]
    assert min(map(len, said)) >= 9
    looping = [
        tokens for tokens in said if any(continues_loop(tokens[:end], 3) == tokens[end] for end in range(len(tokens)))
    ]
    assert bool(looping) == (most_repeated is None)


@pytest.mark.parametrize("options", [SearchOptions(1), SearchOptions(4, 4)], ids=["greedy", "beam"])
def test_searches_at_the_same_time_do_not_meet(
    doc_transformer: TranslationModel, corpus: TokenizedCorpus, options: SearchOptions
) -> None:
    """Two searches of similar batches, in alternating steps, find what each finds alone; later ones reuse captures."""
    batches = [corpus.batch(rows, doc_transformer.architecture) for rows in (range(5), range(5, 10))]
    tapes = Tapes()
    decoder = GraphDecoder(doc_transformer, tapes)

    def found(decoders: ModelDecoder, *together: Batch) -> list[list[list[int]]]:
        searches = [new_search(decoders, options) for _ in together]
        results: list[dict[int, list[int]]] = [{} for _ in together]
        for one, batch in zip(searches, together, strict=True):
            one.add(batch, [Wanted(key, 6 + key) for key in range(5)])
        while going := [place for place, one in enumerate(searches) if one.running]:
            for place in going:
                results[place] |= {each.key: each.hypotheses[-1].tokens for each in searches[place].step()}
        return [[result[key] for key in range(5)] for result in results]

    alone = [found(ModelDecoder(doc_transformer), batch)[0] for batch in batches]
    assert found(decoder, *batches) == alone
    captures = tapes.captures
    assert found(decoder, *batches) == alone
    assert tapes.captures == captures > 1


def test_a_frame_that_others_have_left_is_as_new(doc_transformer: TranslationModel, corpus: TokenizedCorpus) -> None:
    """The next sentences are not affected by where the words of earlier ones began, or what they were."""
    one, other, new = (
        corpus.batch(rows, doc_transformer.architecture) for rows in (range(5), range(5, 8), range(7, 15))
    )
    tapes = Tapes()
    captured, plain = GraphDecoder(doc_transformer, tapes), ModelDecoder(doc_transformer)
    words = torch.arange(4, 12)
    with torch.inference_mode():
        state = captured.start(one)
        captured.step(words[:5], state)
        state.join(captured.start(other), 5, 3)
        captured.step(words, state)
        del state
        captures = tapes.captures
        state, expected = captured.start(new), plain.start(new)
        for _ in range(3):
            torch.testing.assert_close(captured.step(words, state), plain.step(words, expected))
    assert tapes.captures == captures


def test_a_batch_whose_longest_sentence_has_left_takes_less_room(doc_transformer: TranslationModel) -> None:
    """It moves to a smaller frame; the sources of all layers are selected in one call, and so are the contexts."""
    sources = [[5] * 40, [6] * 9, [7] * 12]
    context = doc_transformer.architecture.collate([Example(source) for source in sources])
    tapes, frames = Tapes(), []
    decoder = GraphDecoder(doc_transformer, tapes)
    with torch.inference_mode():
        state = decoder.start(make_batch(sources, None, context))
        for rows, kept in ((3, [2, 1]), (2, None)):
            decoder.step(torch.full((rows,), BOS), state)
            assert isinstance(state, FramedState)
            assert state.hold is not None
            frames.append({name: sizes for name, _, sizes in state.hold.frame.shape.fixed}["source.0.keys"][1])
            if kept is not None:
                with Launches(tapes) as launches:
                    state.keep(torch.tensor(kept))
                state.reorder(torch.tensor(kept))
                assert launches.kernels.count("aten::index_select") == 4  # keys and values, and a mask, of each
                assert len(state.fixed) == 10
                assert state.fixed["source.0.keys"].size(2) == 13  # with the end of the sentence
    assert frames == [64, 32]


def test_hypotheses_that_search_drops_are_not_gone_on_from(
    doc_transformer: TranslationModel, corpus: TokenizedCorpus
) -> None:
    """What search takes from the scores of a captured step counts in the next one."""
    batch, options, lengths = corpus.batch(range(10), doc_transformer.architecture), SearchOptions(4, 4), [12] * 10

    def translations(decoder: ModelDecoder, unwanted: Sequence[Unwanted | None] | None = None) -> list[list[list[int]]]:
        found = run(new_search(decoder, options), batch, lengths, unwanted=unwanted)
        return [[hypothesis.tokens for hypothesis in some] for some in found]

    free = translations(ModelDecoder(doc_transformer))
    middle = [best[len(best) // 2] for best, *_ in free]
    unwanted = [None if row % 2 else partial(_ends_with, middle[row]) for row in range(10)]
    expected = translations(ModelDecoder(doc_transformer), unwanted)
    assert sum(one != other for one, other in zip(free, expected, strict=True)) == 5
    assert translations(GraphDecoder(doc_transformer, Tapes()), unwanted) == expected


def _ends_with(token: int, tokens: Sequence[int]) -> bool:
    return tokens[-1:] == [token]


def test_drafts_are_verified_and_gone_on_from(model: TranslationModel, corpus: TokenizedCorpus) -> None:
    """With captured steps and drafts of any quality, translations are those of ordinary steps without drafts."""
    batch = with_memory(model, corpus.batch(range(10), model.architecture))
    options, lengths = SearchOptions(1, min_length=6), [12] * 10
    expected = [best.tokens for (best,) in search(ModelDecoder(model), batch, options, lengths)]
    drafts = [[*tokens[:place], 7] for place, tokens in enumerate(expected)]
    found = search(GraphDecoder(model, Tapes()), batch, options, lengths, drafts)
    assert [best.tokens for (best,) in found] == expected
    assert max(best.kept for (best,) in found) > 5


def test_where_capture_fails_decoding_goes_on_without(
    doc_transformer: TranslationModel, corpus: TokenizedCorpus, caplog: pytest.LogCaptureFixture
) -> None:
    """Scores are the same, and the log has one line for each kind of capture."""

    def fail(step: Replay) -> Replay:
        raise RuntimeError("operation not permitted when stream is capturing\nand more")

    batches = [corpus.batch(rows, doc_transformer.architecture) for rows in (range(10), range(10, 14))]
    decoder, expected = GraphDecoder(doc_transformer, fail), scores(ModelDecoder(doc_transformer), *batches)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            doc_transformer.eval()  # forgets states of contexts
            for one, other in zip(scores(decoder, *batches), expected, strict=True):
                assert torch.equal(one, other)
    assert [record.getMessage() for record in caplog.records] == [
        f"{what} without captured graphs: operation not permitted when stream is capturing"
        for what in ("decoding goes on", "sentences are encoded")
    ]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_steps_without_a_look_are_one_capture(
    doc_transformer: TranslationModel, corpus: TokenizedCorpus, beam_size: int
) -> None:
    """Between two looks at results, a search only replays its capture, and copies what that has found."""
    tapes = Tapes()
    running = new_search(GraphDecoder(doc_transformer, tapes), SearchOptions(beam_size, min_length=0))
    running.add(corpus.batch(range(3), doc_transformer.architecture), [Wanted(key, 40) for key in range(3)])
    go_on(running)
    with Launches(tapes) as launches:
        go_on(running)
    assert (tapes.captures, tapes.replays) == (1, 8)
    assert launches.kernels == 4 * ["aten::clone"] * (2 if beam_size == 1 else 1)  # words and scores, or both in one


def _said(kind: type[Exception], text: str) -> NoReturn:
    """Raise an error without keeping a reference to it."""
    raise kind(text)


def _hidden(kind: type[Exception], text: str) -> NoReturn:
    """The same in a capture, which ends with an error of its own that hides it."""
    try:
        raise kind(text)
    finally:
        raise RuntimeError("capture_end was called before capture_begin")


WAYS_TO_FAIL = pytest.mark.parametrize("fail", [_said, _hidden], ids=["said", "hidden by the end of the capture"])
WANTS_OF_MEMORY = pytest.mark.parametrize(
    "error",
    [
        (torch.OutOfMemoryError, "CUDA out of memory. Tried to allocate 2.00 GiB"),
        (torch.AcceleratorError, "CUDA error: out of memory\nCUDA kernel errors might be reported later"),
        (RuntimeError, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
    ids=["its own kind", "of CUDA", "of cuBLAS"],
)


@WAYS_TO_FAIL
@WANTS_OF_MEMORY
def test_want_of_memory_does_not_end_captures(
    doc_transformer: TranslationModel,
    corpus: TokenizedCorpus,
    caplog: pytest.LogCaptureFixture,
    fail: Callable[[type[Exception], str], NoReturn],
    error: tuple[type[Exception], str],
) -> None:
    """It is raised as such, so that a smaller batch can be tried, and later steps are captured again."""
    tapes, full = Tapes(), [True]

    def capture(step: Replay) -> Replay:
        return tapes(step) if not full else fail(*error)

    decoder = GraphDecoder(doc_transformer, capture)
    batch = corpus.batch(range(5), doc_transformer.architecture)
    with pytest.raises(torch.OutOfMemoryError, match=r"out of memory|ALLOC_FAILED"):
        search(decoder, batch, SearchOptions(1), [6] * 5)
    full.clear()
    search(decoder, batch, SearchOptions(1), [6] * 5)
    assert tapes.captures == 2  # of a step, and of what precedes the first one
    assert not caplog.records
    assert decoder._frames._idle
    decoder.free()
    assert not decoder._frames._idle


@WAYS_TO_FAIL
@WANTS_OF_MEMORY
@pytest.mark.parametrize("before", range(3), ids=["of words", "of contexts", "of sentences"])
def test_what_there_is_no_memory_for_leaves_nothing(
    doc_transformer: TranslationModel,
    corpus: TokenizedCorpus,
    fail: Callable[[type[Exception], str], NoReturn],
    error: tuple[type[Exception], str],
    before: int,
) -> None:
    """The memory of a failed capture is freed at once, even without garbage collection: a smaller one needs it."""
    tapes, begun = Tapes(), list[Callable[[], object]]()

    def capture(step: Replay) -> Replay:
        if tapes.captures == before:
            begun.append(weakref.ref(step.__self__))  # type: ignore[attr-defined]
            fail(*error)
        return tapes(step)

    decoder = GraphDecoder(doc_transformer, capture)
    batch = corpus.batch(range(5), doc_transformer.architecture)
    gc.disable()
    try:
        with suppress(torch.OutOfMemoryError):
            for _ in range(2):
                doc_transformer.eval()  # forgets states of contexts
                search(decoder, batch, SearchOptions(1), [6] * 5)
        assert [room() for room in begun] == [None]
    finally:
        gc.enable()


def test_memory_for_frames_is_bounded(doc_transformer: TranslationModel, corpus: TokenizedCorpus) -> None:
    """Idle frames are dropped, oldest first, if they have too many bytes; the last one always stays."""
    state = ModelDecoder(doc_transformer).start(corpus.batch(range(3), doc_transformer.architecture))
    shape = Shape.of(state, 3)
    with torch.inference_mode():
        one, other = (Frame(shape, ModelDecoder(doc_transformer).step, Tapes(), torch.device("cpu")) for _ in range(2))
    assert one.nbytes > 0
    for limit, kept in ((0, [other]), (FRAME_BYTES, [other, one])):
        frames = Frames(limit)
        frames.give(one)
        frames.give(other)
        assert [frames.take(shape) for _ in kept] == kept
        assert frames.take(shape) is None


def test_a_decoder_goes_with_its_frames(doc_transformer: TranslationModel, corpus: TokenizedCorpus) -> None:
    """Once a decoder is no longer used, nothing that it has captured is left, even without garbage collection."""
    decoder = GraphDecoder(doc_transformer, Tapes())
    batch = corpus.batch(range(5), doc_transformer.architecture)
    for _ in range(2):
        search(decoder, batch, SearchOptions(1), [6] * 5)
    assert decoder._reading._kept
    kept = [weakref.ref(each) for each in (decoder._frames, *decoder._reading._kept.values())]
    gc.disable()
    try:
        del decoder
        assert not [each for each in kept if each() is not None]
    finally:
        gc.enable()
