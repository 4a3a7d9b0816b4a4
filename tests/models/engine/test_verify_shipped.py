"""Five hundred sentences in context with the shipped model, with drafts of every quality."""

import random
from dataclasses import replace
from itertools import permutations

import pytest

from models.data.documents import Sentence
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from tests.support.servers import ROOT

SENTENCES = (ROOT / "service" / "samples" / "ja.txt").read_text(encoding="utf-8").split()
COUNT = 500


def spoilt(text: str, other: str, chooser: random.Random) -> str | None:
    """A draft: the translation itself, with a word changed, its beginning, that of another sentence, or none."""
    words = text.split()
    at = chooser.randrange(len(words))
    changed = " ".join([*words[:at], "Kyoto", *words[at + 1 :]])
    return chooser.choice([text, changed, " ".join(words[:at]), other, "of of " * at, None])


@pytest.mark.slow
def test_five_hundred_sentences_are_the_same_whatever_their_drafts() -> None:
    """In float32, with sentences of the sample after two others, texts and scores are the same as without drafts."""
    runtime = Runtime.load(ROOT / "models" / "pretrained" / "ja-en", compute_type="float32")
    chooser = random.Random(1)
    triples = chooser.sample(list(permutations(SENTENCES, 3)), COUNT)
    requests = [TranslationRequest(source, (Sentence(one), Sentence(two))) for one, two, source in triples]
    expected = runtime.translate(requests, Options("direct", beam_size=1))
    drafts = [
        spoilt(one.text, other.text, chooser) for one, other in zip(expected, expected[1:] + expected[:1], strict=True)
    ]
    given = [replace(request, draft=draft) for request, draft in zip(requests, drafts, strict=True)]
    found = runtime.translate(given, Options("verify"))
    assert [one.text for one in found] == [one.text for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)
    tokens = sum(one.tokens for one in found)
    assert 0.2 * tokens < sum(one.kept for one in found) < 0.8 * tokens
