"""Sentences continue from the memory that the one before left, with the same result if kept or read again."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.config import GlobalLocalConfig
from models.data.batches import Example, Tokens
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence, Window, windows
from models.engine.memories import Memories
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.engine.windows import WindowTranslator
from models.evaluation.document_translation import translate_documents
from models.network.inference.graph_decoder import GraphDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import Hypothesis, SearchOptions
from models.training.checkpoints import load_checkpoint, load_model
from models.training.objective import token_losses
from tests.support.bundles import documents, make_checkpoint
from tests.support.tape import Tapes

EXACT = 1e-4
CONFIGS = {
    "blocks of four": GlobalLocalConfig(block_sentences=4),
    "causal": GlobalLocalConfig(causal=True),
    "history": GlobalLocalConfig(global_layer=False),
}
SOURCES = st.lists(st.lists(st.integers(4, 40), max_size=6), min_size=2, max_size=6)


@pytest.fixture(scope="module", params=list(CONFIGS.values()), ids=list(CONFIGS))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TranslationModel:
    """A recurrent model."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("recurrent") / "checkpoint"
    return load_model(load_checkpoint(make_checkpoint(folder, request.param, max_length=64)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """A runtime of a model that reads whole blocks."""
    folder = tmp_path_factory.mktemp("recurrent") / "checkpoint"
    return Runtime.open(make_checkpoint(folder, GlobalLocalConfig(causal="both"), max_length=64))


def cold(model: TranslationModel) -> TorchEngine:
    """An engine that keeps no memories."""
    return TorchEngine(model, Memories(model, limit=0))


def request(sources: list[list[int]], translations: list[Tokens], model: TranslationModel, *, growing: bool) -> Example:
    """The sentence that comes after these translations, as the architecture reads it."""
    place = len(translations)
    first, end = model.architecture.window.around(place)
    example = Example(
        sources[place],
        preceding=sources[first:place],
        following=sources[place + 1 : end],
        translations=translations[first:],
        growing=growing,
    )
    return model.architecture.select(example)


def in_turn(
    model: TranslationModel, sources: list[list[int]], beam_size: int, *, growing: bool
) -> Iterator[tuple[TokenizedRequest, Hypothesis]]:
    """Translate a document sentence by sentence, with one engine; an empty sentence stays empty."""
    engine, translations = TorchEngine(model), list[Tokens]()
    for source in sources:
        if not source:
            translations.append([])
            continue
        asked = TokenizedRequest(request(sources, translations, model, growing=growing), 20)
        ((found, *_),) = engine.translate([asked], SearchOptions(beam_size, min_length=3))
        translations.append(found.tokens)
        yield asked, found


@pytest.mark.parametrize("beam_size", [1, 4])
@settings(max_examples=8)
@given(sources=SOURCES, growing=st.booleans())
def test_kept_or_read_again_a_memory_is_the_same(
    model: TranslationModel, beam_size: int, sources: list[list[int]], growing: bool
) -> None:
    """An engine that has translated the document so far, and one that has not, give the same translations."""
    for asked, found in in_turn(model, sources, beam_size, growing=growing):
        ((other, *_),) = cold(model).translate([asked], SearchOptions(beam_size, min_length=3))
        assert other.tokens == found.tokens
        assert other.score == pytest.approx(found.score, abs=EXACT)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_search_leaves_what_the_finished_translation_leaves(model: TranslationModel, beam_size: int) -> None:
    """Although a beam is reordered at every step, the memory of a hypothesis is the one that its own words leave."""
    sources = [[5, 6, 7], [8, 9], [10, 11, 12, 13], [14]]
    asked = [each for each, _ in in_turn(model, sources, beam_size, growing=False)]
    left = 0
    for one, after in pairwise(asked):
        options = SearchOptions(beam_size, n_best=beam_size, min_length=5)
        (hypotheses,) = cold(model).translate([one], options)
        for found in hypotheses:
            translations = [*one.example.translations, found.tokens]
            (expected,) = Memories(model).recall([replace(after.example, translations=translations)])
            assert found.finished or not found.memory
            for name, tensor in found.memory.items():
                assert torch.allclose(tensor.float(), expected[name].float(), atol=EXACT), name
            left += bool(found.memory)
    assert left >= beam_size


def test_scores_are_those_of_training(whole: Runtime) -> None:
    """Sentences scored separately, in one call or several, have the losses that training has on whole blocks."""
    given = documents(2)
    model = _model_of(whole)
    corpus = TokenizedCorpus(given, whole.tokenizer, 64)
    with torch.no_grad():
        expected = -token_losses(model, corpus.batch(range(10), model.architecture)).sum(1)
    asked = [_request_of(window) for document in given for window in windows(document, whole.manifest.window)]
    targets = [sentence.target or "" for document in given for sentence in document.sentences]
    together = whole.score(asked, targets)
    assert together == pytest.approx(expected.tolist(), abs=1e-3)
    alone = [score for pair in zip(asked, targets, strict=True) for score in whole.score([pair[0]], [pair[1]])]
    assert alone == pytest.approx(together, abs=EXACT)


def test_a_document_in_turn_is_as_its_sentences_alone(whole: Runtime) -> None:
    """Documents translated together get, for each sentence, the translation that it gets alone after the same texts."""
    translator = WindowTranslator(whole, Options(beam_size=2))
    given = documents(3)
    found = translate_documents(translator, given, whole.manifest.window)
    texts = iter(found)
    for document in given:
        sentences = tuple(Sentence(each.source, next(texts).text) for each in document.sentences)
        for number, window in enumerate(windows(Document(sentences), whole.manifest.window)):
            (alone,) = WindowTranslator(_fresh(whole), Options(beam_size=2)).translate([window])
            assert alone.text == sentences[number].target


def test_a_correction_is_read_in_place_of_what_was_kept(whole: Runtime) -> None:
    """Another translation of the preceding sentence gives other scores, although the memory of its own is kept."""
    first, second = documents(1)[0].sentences[:2]
    (made,) = whole.translate([TranslationRequest(first.source, following=(second,))], Options(beam_size=1))
    scores = []
    for text in (made.text, first.target, None):
        asked = TranslationRequest(second.source, (Sentence(first.source, text),))
        assert whole.score([asked], ["kara"]) == pytest.approx(_fresh(whole).score([asked], ["kara"]))
        scores += whole.score([asked], ["kara"])
    assert len({round(score, 3) for score in scores}) == 3


def test_a_growing_document_is_read_as_it_grew(whole: Runtime) -> None:
    """A sentence leaves another memory if it was read before the next one existed than if it was read with that."""
    first, second, third = documents(1)[0].sentences[:3]
    asked = TranslationRequest(third.source, (first, second))
    grown = replace(asked, growing=True)
    assert whole.score([asked], ["kara"]) != pytest.approx(whole.score([grown], ["kara"]), abs=1e-3)


def test_sentences_after_an_empty_one_start_anew(whole: Runtime) -> None:
    """A sentence with an empty translation leaves no memory, whatever was before it."""
    first, second, third = documents(1)[0].sentences[:3]
    asked = [
        TranslationRequest(third.source, (Sentence(first.source, text), Sentence(second.source, "")))
        for text in ("", first.target, "kara")
    ]
    scores = whole.score(asked, ["kara"] * 3)
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-6)


def test_an_empty_sentence_keeps_its_place(whole: Runtime) -> None:
    """Its line stays empty, and the next sentence is read as the third of its block, not as the second."""
    first, _, third = documents(1)[0].sentences[:3]
    texts = Document((first, Sentence(""), third))
    found = translate_documents(WindowTranslator(whole), [texts], whole.manifest.window)
    assert [bool(each.text) for each in found] == [True, False, True]
    before = (first, Sentence("", ""))
    asked = [TranslationRequest(third.source, preceding) for preceding in (before, before[:1])]
    placed, moved = whole.score(asked, ["kara"] * 2)
    assert placed != pytest.approx(moved, abs=1e-3)


def test_a_sentence_in_parts_leaves_what_its_whole_translation_leaves(whole: Runtime) -> None:
    """The next sentence reads one that was divided as a whole again, whichever engine translated it."""
    long = TranslationRequest("、".join(["からりきくろ"] * 9) + "。", growing=True)
    assert len(whole.tokenizer.encode_source(long.source)) > whole.manifest.limits.split_tokens
    (made,) = whole.translate([long], Options())
    asked = TranslationRequest("かりきる。", (Sentence(long.source, made.text),), growing=True)
    warm, fresh = (runtime.translate([asked], Options())[0] for runtime in (whole, _fresh(whole)))
    assert warm.text == fresh.text
    assert warm.score == pytest.approx(fresh.score, abs=EXACT)


def test_frames_make_room_for_memories(whole: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """If idle frames of captured steps take up the device's memory, they are freed, and a sentence is read again."""
    model = _model_of(whole)
    asked = TokenizedRequest(Example([5], preceding=[[6, 7]], translations=[[9, 10]], growing=True), 4)
    expected = cold(model).log_probabilities([asked], [[11]])
    decoder = GraphDecoder(model, Tapes())
    engine = TorchEngine(model, decoder=decoder)
    engine.translate([TokenizedRequest(Example([5, 6]), 4)], SearchOptions(1))
    assert decoder._frames._idle
    leave = Memories._leave

    def scarce(self: Memories, *arguments: Any) -> Any:
        if decoder._frames._idle:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return leave(self, *arguments)

    monkeypatch.setattr(Memories, "_leave", scarce)
    assert engine.log_probabilities([asked], [[11]]) == [pytest.approx(expected[0], abs=EXACT)]


def test_no_more_is_kept_than_the_limit(whole: Runtime) -> None:
    """The least recently used memories are dropped first, and made again when needed."""
    model = _model_of(whole)
    example = Example([5], preceding=[[6, 7], [8]], translations=[[9, 10], [11]], growing=True)
    (expected,) = Memories(model).recall([example])
    size = sum(tensor.nbytes for tensor in expected.values())
    memories = Memories(model, limit=2 * size)
    for _ in range(3):
        (found,) = memories.recall([example])
        assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
        memories.keep(Example([12]), [13], {"real": torch.zeros(2 * size, dtype=torch.bool)})
        assert memories.kept.size <= 2 * size


def _fresh(runtime: Runtime) -> Runtime:
    """The runtime with an engine that keeps no memories."""
    model = _model_of(runtime)
    return Runtime(runtime.manifest, runtime.tokenizer, model.architecture, {"direct": cold(model)})


def _model_of(runtime: Runtime) -> TranslationModel:
    engine = runtime.engine("direct")
    assert isinstance(engine, TorchEngine)
    return engine.model


def _request_of(window: Window) -> TranslationRequest:
    return TranslationRequest(window.current.source, window.preceding, window.following)
