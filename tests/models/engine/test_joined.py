"""A bundle of a model whose context is part of its source, so that all of it runs in CTranslate2."""

from pathlib import Path

import pytest

from models.config import ConcatenationConfig, ContextWindow
from models.data.documents import Sentence, windows
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from tests.support.bundles import documents, make_bundle

REQUESTS = [
    TranslationRequest(window.current.source, window.preceding)
    for document in documents()
    for window in windows(document, ContextWindow(size=2))
]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """The loaded float32 bundle of a model that reads two preceding sentences; its sentence model is another model."""
    folder, architecture = tmp_path_factory.mktemp("joined") / "bundle", ConcatenationConfig(context_sentences=2)
    return Runtime.load(make_bundle(folder, architecture, quantization="float32", own_backbone=False, max_length=96))


def test_context_is_read_and_the_sentence_model_is_beside_it(runtime: Runtime) -> None:
    """Scores with context differ; those without are the sentence model's."""
    with_context, without = (
        [one.score for one in runtime.translate(REQUESTS, Options(strategy))] for strategy in ("direct", "sentence")
    )
    bare = [TranslationRequest(request.source) for request in REQUESTS]
    assert with_context != without
    assert without == [one.score for one in runtime.translate(bare, Options("sentence"))]


def test_nothing_but_the_two_models_is_shipped(runtime: Runtime) -> None:
    """There are no weights that nothing would read."""
    folders = {name.split("/")[0] for name in runtime.manifest.files if "/" in name}
    assert folders == {"backbone", "joined"}
    assert not any(name.endswith(".safetensors") for name in runtime.manifest.files)


def test_one_model_may_translate_in_both_ways(runtime: Runtime, tmp_path: Path) -> None:
    """If its own backbone is the sentence model, too, context is read as it is with a separate sentence model."""
    architecture = runtime.manifest.architecture
    bundle = make_bundle(tmp_path / "bundle", architecture, quantization="float32", max_length=96)
    both = Runtime.load(bundle)
    assert both.translate(REQUESTS, Options()) == runtime.translate(REQUESTS, Options())
    alone, other = (each.translate(REQUESTS, Options("sentence")) for each in (both, runtime))
    assert alone != other
    first = [request for request in REQUESTS if not request.preceding]
    assert both.translate(first, Options()) == both.translate(first, Options("sentence"))


def test_context_of_a_divided_sentence_leaves_room_for_its_longest_part(runtime: Runtime) -> None:
    """All parts are read with the same context, and none exceeds the position table."""
    long, short, before = (_of_tokens(runtime, tokens) for tokens in (75, 20, 9))
    request = TranslationRequest(f"{long}、{short}。", (Sentence(before), Sentence(before)))
    (found,) = runtime.translate([request], Options(beam_size=1))
    assert found.context_size == 1


def _of_tokens(runtime: Runtime, tokens: int) -> str:
    """A text of so many tokens, or a few more."""
    text = ""
    while len(runtime.tokenizer.encode_source(text)) < tokens:
        text += "かり"
    return text
