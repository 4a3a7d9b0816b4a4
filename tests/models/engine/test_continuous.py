"""Sentences join and leave while others are decoded."""

import gc
import random
import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from models.data.batches import Batch, Example
from models.data.documents import Sentence
from models.engine import token_budget
from models.engine.flow import AtOnce
from models.engine.requests import Options, Translation, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.kernels.machine import supports_int8
from models.network.decoding import ModelDecoder
from models.network.inference.graph_decoder import GraphDecoder
from models.network.inference.graphs import Replay
from models.network.inference.preparation import prepare
from models.network.model import TranslationModel
from models.network.state import State
from models.search.hypotheses import Hypothesis, SearchOptions

LONG = "、".join(["からりきくろ"] * 9) + "。"


@pytest.fixture(autouse=True)
def _small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few short sentences fill a batch, so that others must wait for room."""
    monkeypatch.setattr("models.engine.batching.BATCH_TOKENS", 60)


def requests(number: int, seed: int) -> list[TokenizedRequest]:
    """Sentences of all lengths, most of them short, some with context."""
    drawn = random.Random(seed)

    def tokens(most: int) -> list[int]:
        return [drawn.randrange(4, 30) for _ in range(drawn.randint(1, most))]

    return [
        TokenizedRequest(
            Example(tokens(drawn.choice([4, 4, 25])), [tokens(8) for _ in range(drawn.randint(0, 2))]),
            drawn.choice([3, 8, 20]),
        )
        for _ in range(number)
    ]


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_coming_and_going_changes_nothing(model: TranslationModel, beam_size: int, seed: int) -> None:
    """Whenever sentences come, and whichever are dropped, each of the others is translated as it is alone."""
    engine, options, drawn = TorchEngine(model), SearchOptions(beam_size), random.Random(seed)
    asked = dict(enumerate(requests(40, seed)))
    flow, left = engine.flow(options), list(asked)
    dropped: set[int] = set()
    found: dict[int, list[Hypothesis]] = {}
    while left or flow.running:
        if left and (drawn.random() < 0.3 or not flow.running):
            coming = [left.pop() for _ in range(min(len(left), drawn.randint(1, 6)))]
            flow.add({key: asked[key] for key in coming})
        if drawn.random() < 0.1 and (open_ones := sorted(asked.keys() - left - found.keys() - dropped)):
            dropped.add(drawn.choice(open_ones))
            flow.drop([max(dropped), *dropped, 1000])
        if flow.running:
            found |= flow.step()
    assert dropped
    assert found.keys() == asked.keys() - dropped
    for key, (best,) in found.items():
        ((alone,),) = engine.translate([asked[key]], options)
        assert best.tokens == alone.tokens
        assert best.score == pytest.approx(alone.score, abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_long_sentence_holds_nobody_up(model: TranslationModel, beam_size: int) -> None:
    """While a long one is translated, short ones come, finish, and make room for others."""
    options = SearchOptions(beam_size, min_length=50)  # so each reaches its maximum length
    flow = TorchEngine(model).flow(options)
    flow.add({0: TokenizedRequest(Example([5] * 9), 40)})
    flow.add({key: TokenizedRequest(Example([key] * 9), 4) for key in range(5, 25)})
    done = []
    while flow.running:
        done += [key for key, _ in flow.step()]
    assert done[-1] == 0
    assert sorted(done[:-1]) == list(range(5, 25))


def test_no_step_has_more_than_the_budget(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decoded together, padded to the longest sentence, never exceeds the budget of a batch."""
    engine, sizes = TorchEngine(model), []
    step = engine._decoder.step

    def seen(tokens: Tensor, state: State) -> Tensor:
        sizes.append((len(tokens), state.fixed["source.mask"].size(-1)))
        return step(tokens, state)

    monkeypatch.setattr(engine._decoder, "step", seen)
    assert len(engine.translate(requests(60, 7), SearchOptions(1))) == 60
    assert max(rows for rows, _ in sizes) > 5
    assert all(rows == 1 or rows * width <= 60 for rows, width in sizes)


@pytest.fixture
def room() -> int:
    """The token budget of an engine: room for many sentences."""
    return 2000


@pytest.fixture
def joins(model: TranslationModel, room: int, monkeypatch: pytest.MonkeyPatch) -> tuple[TorchEngine, list[int]]:
    """An engine with that budget, and a list of how many sentences started together each time."""
    monkeypatch.setattr("models.engine.batching.BATCH_TOKENS", room)
    engine, sizes = TorchEngine(model), []
    start = engine._decoder.start

    def seen(batch: Batch) -> State:
        sizes.append(len(batch.source))
        return start(batch)

    monkeypatch.setattr(engine._decoder, "start", seen)
    return engine, sizes


def test_what_comes_one_by_one_joins_a_large_batch_together(joins: tuple[TorchEngine, list[int]]) -> None:
    """Each join delays all running sentences, so joins are few; but none waits for longer than that is worth."""
    engine, sizes = joins
    flow = engine.flow(SearchOptions(1, min_length=50))
    flow.add({key: TokenizedRequest(Example([5] * 4), 40) for key in range(20)})
    flow.step()
    for key in range(20, 38):
        flow.add({key: TokenizedRequest(Example([6] * 4), 40)})
        flow.step()
    assert sizes[0] == 20
    assert 2 <= len(sizes[1:]) <= 4
    assert sum(sizes[1:]) > 18 - max(sizes[1:])


def test_what_comes_to_a_small_batch_joins_at_once(joins: tuple[TorchEngine, list[int]]) -> None:
    """With a single running sentence, the delay to it is not worth waiting to avoid."""
    engine, sizes = joins
    flow = engine.flow(SearchOptions(1, min_length=50))
    flow.add({0: TokenizedRequest(Example([5] * 4), 40)})
    flow.step()
    flow.add({1: TokenizedRequest(Example([6] * 4), 40)})
    flow.step()
    assert sizes == [1, 1]


@pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")
def test_words_in_one_call_are_as_long_to_wait_for_as_one_by_one(
    model: TranslationModel, joins: tuple[TorchEngine, list[int]]
) -> None:
    """A sentence that comes while eight others get eight words in a call joins after one, not after eight calls."""
    prepare(model, int8=True)
    engine, sizes = joins
    flow = engine.flow(SearchOptions(1, min_length=50))
    flow.add({key: TokenizedRequest(Example([5] * 4), 50) for key in range(8)})
    flow.step()
    flow.add({8: TokenizedRequest(Example([6] * 4), 50)})
    flow.step()
    assert sizes == [8, 1]


@pytest.mark.parametrize("room", [60])
def test_one_that_is_too_long_to_join_does_not_begin_in_place_of_one_that_left(
    joins: tuple[TorchEngine, list[int]],
) -> None:
    """If it does not fit, the time that others have waited does not make it start."""
    engine, sizes = joins
    flow = engine.flow(SearchOptions(1, min_length=50))
    flow.add({key: TokenizedRequest(Example([5] * 9), 40) for key in range(4)})
    flow.step()
    flow.add({4: TokenizedRequest(Example([6] * 9), 4), 5: TokenizedRequest(Example([6] * 3), 4)})
    flow.step()
    flow.drop([0, 1, 4, 5])
    flow.add({6: TokenizedRequest(Example([6] * 40), 4)})
    flow.step()
    assert sizes == [4]
    while flow.running:
        flow.step()
    assert sizes == [4, 1]


@pytest.mark.parametrize("strategy", ["direct", "sentence"])
def test_a_flow_of_texts_translates_as_the_runtime_does(runtime: Runtime, strategy: str) -> None:
    """This includes empty sentences and long ones that are divided; one that is dropped has no result."""
    options = Options(strategy)  # type: ignore[arg-type]
    context = (Sentence("かりきる。"),)
    texts = ["から。", "", LONG, "きく。", " ", LONG, "こらけれ。"]
    asked = {key: TranslationRequest(text, context) for key, text in enumerate(texts)}
    flow = runtime.flow(options)
    flow.add({key: asked[key] for key in range(4)})
    found = dict(flow.step())
    assert 1 in found
    flow.add({key: asked[key] for key in range(4, 7)})
    flow.drop([5])
    while flow.running:
        found |= flow.step()
    expected = runtime.translate(list(asked.values()), options)
    assert sorted(found) == [0, 1, 2, 3, 4, 6]
    for key, translation in found.items():
        assert replace(translation, score=0, alternatives=()) == replace(expected[key], score=0, alternatives=())
        assert translation.score == pytest.approx(expected[key].score, abs=1e-5)


def test_a_divided_text_can_be_dropped_whatever_has_been_found_of_it(runtime: Runtime) -> None:
    """It can be dropped after any number of steps, even when some of its parts are done."""
    options, steps = Options("direct"), 0
    whole = runtime.flow(options)
    whole.add({0: TranslationRequest(LONG)})
    while whole.running:
        whole.step()
        steps += 1
    assert steps > 2
    for before in range(steps):
        flow = runtime.flow(options)
        flow.add({0: TranslationRequest(LONG), 1: TranslationRequest(LONG)})
        for _ in range(before):
            assert not flow.step()
        flow.drop([0])
        found: dict[int, Translation] = {}
        while flow.running:
            found |= flow.step()
        assert found.keys() == {1}


def test_what_is_dropped_before_it_is_begun_is_not_done() -> None:
    """A flow that works without steps does all that has been added and not dropped."""
    flow: AtOnce[str, str] = AtOnce(lambda texts: [text.upper() for text in texts], most=2)
    flow.add({1: "a", 2: "b"})
    flow.add({3: "c"})
    flow.drop([2, 9])
    assert flow.running == 2
    assert flow.step() == [(1, "A"), (3, "C")]
    assert flow.running == 0


class _Scarce(ModelDecoder):
    """A decoder on a device with memory for `rows` hypotheses, which counts refusals."""

    def __init__(self, model: TranslationModel, rows: int, error: type[RuntimeError] = torch.OutOfMemoryError) -> None:
        super().__init__(model)
        self.rows = rows
        self.error = error
        self.refused = 0
        self.widths: list[int] = []

    def step(self, tokens: Tensor, state: State) -> Tensor:
        self.widths.append(len(tokens))
        if len(tokens) > self.rows:
            self.refused += 1
            raise self.error("CUDA error: out of memory")
        return super().step(tokens, state)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, torch.AcceleratorError, RuntimeError])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_what_there_is_no_memory_for_is_tried_in_smaller_batches(
    model: TranslationModel, beam_size: int, error: type[RuntimeError]
) -> None:
    """Every sentence still gets its translation, and few batches are tried in vain, whatever the error is."""
    options, asked = SearchOptions(beam_size), requests(40, 1)
    decoder = _Scarce(model, 3 * beam_size, error)
    found = TorchEngine(model, decoder=decoder).translate(asked, options)
    assert 0 < decoder.refused < 6
    for (best,), (expected,) in zip(found, TorchEngine(model).translate(asked, options), strict=True):
        assert best.tokens == expected.tokens
        assert best.score == pytest.approx(expected.score, abs=1e-4)


def test_memory_that_is_there_again_is_used_again(model: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow that never ends is not limited for ever by what there was room for once."""
    monkeypatch.setattr(token_budget, "RECOVERY", 40)
    decoder = _Scarce(model, 3)
    flow = TorchEngine(model, decoder=decoder).flow(SearchOptions(1))
    flow.add(dict(enumerate(requests(1, 1) * 60)))
    while flow.running > 30:
        flow.step()
    assert max(decoder.widths[-5:]) <= 3
    decoder.rows = 100
    decoder.widths.clear()
    while flow.running:
        flow.step()
    assert max(decoder.widths) > 3


def test_what_one_flow_has_found_out_the_next_one_knows(model: TranslationModel) -> None:
    """A limit is remembered between two bursts of requests, so that the second one never runs out of memory."""
    decoder = _Scarce(model, 3)
    engine = TorchEngine(model, decoder=decoder)
    for refused in (True, False):
        decoder.refused = 0
        engine.translate(requests(1, 1) * 30, SearchOptions(1))
        assert bool(decoder.refused) is refused


class _Hoarding(_Scarce):
    """A decoder that has no memory for anything until it frees what it keeps."""

    def free(self) -> None:
        self.rows = 100


def test_what_is_kept_for_later_is_given_back_first(model: TranslationModel) -> None:
    """A single sentence without enough memory is tried once more after the decoder has freed what it keeps."""
    asked = requests(1, 3)
    decoder = _Hoarding(model, 0)
    found = TorchEngine(model, decoder=decoder).translate(asked, SearchOptions(1))
    assert decoder.refused == 1
    assert [[one.tokens for one in each] for each in found] == [
        [one.tokens for one in each] for each in TorchEngine(model).translate(asked, SearchOptions(1))
    ]


def _refuse_to_capture(step: Replay) -> Replay:
    """Fail to capture for lack of memory, with another error while the capture ends."""
    try:
        raise torch.OutOfMemoryError("CUDA out of memory")
    finally:
        raise RuntimeError("capture_end was called before capture_begin")


@pytest.mark.parametrize(
    "scarce",
    [
        lambda model: GraphDecoder(model, _refuse_to_capture),
        lambda model: _Scarce(model, 0),
        lambda model: _Scarce(model, 0, torch.AcceleratorError),
    ],
    ids=["captures", "steps", "steps, in words alone"],
)
def test_a_search_without_memory_is_gone_before_the_next(
    model: TranslationModel, scarce: Callable[[TranslationModel], ModelDecoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the decoder frees its memory, nothing refers to the failed search, even without garbage collection."""
    decoder = scarce(model)
    flow = TorchEngine(model, decoder=decoder).flow(SearchOptions(4))
    flow.add(dict(enumerate(requests(4, 1))))
    search = weakref.ref(flow._flow._search)  # type: ignore[attr-defined]
    seen: list[object] = []
    monkeypatch.setattr(decoder, "free", lambda: seen.append(search()))
    gc.disable()
    try:
        assert flow.step() == []
        assert seen == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, torch.AcceleratorError])
def test_what_stays_when_others_leave_may_have_to_begin_again(
    model: TranslationModel, monkeypatch: pytest.MonkeyPatch, error: type[RuntimeError]
) -> None:
    """On a GPU, what stays is copied; if there is no memory for that, it starts again, and nothing is lost."""

    def refuse(_state: State, _sentences: Tensor) -> None:
        raise error("CUDA error: out of memory")

    asked = dict(enumerate(requests(4, 5)))
    expected = TorchEngine(model).translate(list(asked.values()), SearchOptions(1))
    flow = TorchEngine(model).flow(SearchOptions(1))
    flow.add(asked)
    flow.step()
    with monkeypatch.context() as patched:
        patched.setattr(State, "keep", refuse)
        flow.drop([1, 2, 3])
    assert flow.running == 1
    found: dict[int, list[Hypothesis]] = {}
    while flow.running:
        found |= flow.step()
    assert {key: best.tokens for key, (best, *_) in found.items()} == {0: expected[0][0].tokens}


def test_no_memory_for_a_single_sentence_is_an_error(model: TranslationModel) -> None:
    """It is not tried again for ever."""
    with pytest.raises(torch.OutOfMemoryError):
        TorchEngine(model, decoder=_Scarce(model, 0)).translate(requests(5, 1), SearchOptions(1))
