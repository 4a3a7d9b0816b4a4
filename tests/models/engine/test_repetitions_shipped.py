"""The shipped models, with sentences of which they say words several times in a row."""

import pytest

from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.text.repetitions import Repetitions
from tests.support.servers import ROOT


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ("ja", "en", "弁慶縞、亀甲、青海波、麻の葉、七宝、矢絣、鹿の子、市松、唐草などの文様がある。"),
        ("en", "ja", "The committee of the association of the members of the council of the federation met."),
    ],
)
def test_translations_do_not_repeat_themselves(source: str, target: str, text: str) -> None:
    """Alone, in a batch, and with alternatives; the best is the same."""
    runtime = Runtime.load(ROOT / "models" / "pretrained" / f"{source}-{target}")
    request = TranslationRequest(text)
    (alone,) = runtime.translate([request], Options())
    _, beside = runtime.translate([TranslationRequest(text[:-1]), request], Options())
    (best_of_four,) = runtime.translate([request], Options(n_best=4))
    assert alone == beside
    assert best_of_four.text == alone.text
    assert not Repetitions(source, target).in_translation(alone.text)
