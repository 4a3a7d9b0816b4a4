"""The self-test that a bundle must pass before it is served."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from models.bundle.manifest import Manifest
from models.data.tokenizer import Tokenizer
from models.engine.requests import Options, Translation, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.self_test import probes, self_test
from models.errors import SelfTestError
from tests.support.bundles import make_bundle, put_nan

PRETRAINED = Path(__file__).parents[3] / "models" / "pretrained"
SHIPPED = PRETRAINED / "ja-en"

Answers = list[Translation]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """A tiny bundle with nothing wrong."""
    return Runtime.load(make_bundle(tmp_path_factory.mktemp("tiny") / "bundle"))


class Spoilt:
    """A runtime whose answers are spoilt: `spoil` gets the requests, the options and the sound answers."""

    def __init__(
        self, sound: Runtime, spoil: Callable[[Sequence[TranslationRequest], Options, Answers], Answers]
    ) -> None:
        self.manifest: Manifest = sound.manifest
        self.tokenizer: Tokenizer = sound.tokenizer
        self._sound = sound
        self._spoil = spoil

    def translate(self, requests: Sequence[TranslationRequest], options: Options) -> Answers:
        """The spoilt answers."""
        return self._spoil(requests, options, self._sound.translate(requests, options))


@pytest.mark.parametrize("bundle", sorted(PRETRAINED.iterdir()), ids=lambda bundle: bundle.name)
def test_shipped_bundle_passes(bundle: Path) -> None:
    """Both shipped models can be served."""
    self_test(Runtime.load(bundle))


def test_sound_bundle_passes(tiny: Runtime) -> None:
    """Random weights translate equally badly alone and together, which is all that the test asks for."""
    self_test(tiny)


def test_probes_are_the_same_every_time_and_differ_in_length(tiny: Runtime) -> None:
    """They are made from the vocabulary, so every language has some; some are padded in a batch, some have context."""
    asked = probes(tiny.tokenizer)
    assert asked == probes(tiny.tokenizer)
    assert len({len(tiny.tokenizer.encode_source(request.source)) for request in asked}) == len(asked)
    assert [len(request.preceding) for request in asked] == [0, 1, 2]


def test_weight_that_is_no_number_is_noticed(tmp_path: Path) -> None:
    """A bundle that was exported with a NaN has correct checksums and loads, but fails the test."""
    folder = tmp_path / "bundle"
    shutil.copytree(SHIPPED, folder)
    put_nan(folder, "architecture.decoder.1.attention.output.bias")
    with pytest.raises(SelfTestError, match="strategy direct has a score that is not a number"):
        self_test(Runtime.load(folder))


def test_empty_translation_is_noticed(tiny: Runtime) -> None:
    """A sentence with text must have a translation."""
    spoilt = Spoilt(tiny, lambda requests, options, sound: [replace(one, text=" ") for one in sound])
    with pytest.raises(SelfTestError, match="is empty"):
        self_test(spoilt)


@pytest.mark.parametrize("strategy", ["direct", "sentence"])
def test_dependence_on_the_batch_is_noticed(tiny: Runtime, strategy: str) -> None:
    """With either strategy, a sentence must have the same translation whatever is translated beside it."""

    def spoil(requests: Sequence[TranslationRequest], options: Options, sound: Answers) -> Answers:
        if options.strategy != strategy or len(requests) == 1:
            return sound
        return [replace(one, text=one.text + "!", score=one.score - 0.1) for one in sound]

    with pytest.raises(SelfTestError, match=f"the translation by strategy {strategy} depends on"):
        self_test(Spoilt(tiny, spoil))


def test_tie_that_rounding_decides_is_none(tiny: Runtime) -> None:
    """Two translations with equal scores may replace each other."""

    def spoil(requests: Sequence[TranslationRequest], options: Options, sound: Answers) -> Answers:
        return sound if len(requests) == 1 else [replace(one, text=one.text + "!") for one in sound]

    self_test(Spoilt(tiny, spoil))


def test_context_that_is_not_read_is_noticed(tiny: Runtime) -> None:
    """A bundle that claims to read preceding sentences has to do so."""
    spoilt = Spoilt(tiny, lambda requests, options, sound: [replace(one, context_size=0) for one in sound])
    with pytest.raises(SelfTestError, match="with 1 preceding sentences it used 0"):
        self_test(spoilt)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            RuntimeError("Library libcublas.so.12 is not found\n#0 a trace"),
            "RuntimeError: Library libcublas.so.12 is not found",
        ),
        (ZeroDivisionError(), "ZeroDivisionError"),
    ],
)
def test_exception_is_told_by_its_kind_and_first_line(tiny: Runtime, error: Exception, told: str) -> None:
    """One sentence names whatever an engine raises, such as over damaged weights or a missing library."""

    def spoil(requests: Sequence[TranslationRequest], options: Options, sound: Answers) -> Answers:
        raise error

    with pytest.raises(SelfTestError) as found:
        self_test(Spoilt(tiny, spoil))
    assert str(found.value) == f"translating by strategy direct raised {told}"
