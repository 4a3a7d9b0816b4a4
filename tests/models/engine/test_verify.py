"""Whatever the drafts are, `verify` gives what `direct` gives with greedy search, in fewer steps."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.config import ConcatenationConfig, ContextWindow, GlobalLocalConfig
from models.data.batches import Example
from models.data.documents import Sentence, windows
from models.engine.memories import Memories
from models.engine.requests import Options, Translation, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.network.model import TranslationModel
from models.search.hypotheses import Hypothesis, SearchOptions
from models.training.checkpoints import load_checkpoint, load_model
from tests.support.bundles import documents, make_bundle, make_checkpoint

GREEDY, VERIFY = Options("direct", beam_size=1), Options("verify")
REQUESTS = [
    TranslationRequest(window.current.source, tuple(Sentence(s.source) for s in window.preceding))
    for document in documents(6)
    for window in windows(document, ContextWindow(size=2))
]


def of_every_quality(texts: list[str], chooser: random.Random) -> list[str | None]:
    """Drafts of all kinds: perfect, cut short, with one word changed, of other words, or none."""

    def spoilt(text: str) -> str | None:
        words = text.split()
        at = chooser.randrange(len(words))
        return chooser.choice(
            [
                text,
                text,
                " ".join(words[:at]),
                " ".join([*words[:at], "rako", *words[at + 1 :]]),
                "kiro " * at,
                "",
                None,
            ]
        )

    return [spoilt(text) for text in texts]


def drafted(requests: list[TranslationRequest], drafts: list[str | None]) -> list[TranslationRequest]:
    """The requests with drafts."""
    return [replace(request, draft=draft) for request, draft in zip(requests, drafts, strict=True)]


def assert_same(found: list[Translation], expected: list[Translation]) -> None:
    """Check that translations are equal, except for how many tokens were drafted."""
    assert [(one.text, one.tokens, one.context_size) for one in found] == [
        (one.text, one.tokens, one.context_size) for one in expected
    ]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_drafts_change_no_translation(runtime: Runtime, seed: int) -> None:
    """With perfect and nonsensical drafts in one call, texts and scores are those of greedy search in context."""
    expected = runtime.translate(REQUESTS, GREEDY)
    drafts = of_every_quality([one.text for one in expected], random.Random(seed))
    found = runtime.translate(drafted(REQUESTS, drafts), VERIFY)
    assert_same(found, expected)
    assert all(one.kept == 0 for one, draft in zip(found, drafts, strict=True) if not draft)
    assert 0 < sum(one.kept for one in found) < sum(one.tokens for one in found)


def test_a_translation_as_its_own_draft_is_kept(runtime: Runtime) -> None:
    """If the draft has the very tokens that search would generate, all of them are kept."""
    parts = [part for one in runtime.prepare(REQUESTS, VERIFY) for part in one.parts]
    engine, options = runtime.engine("verify"), SearchOptions(1)
    expected = [found for (found,) in engine.translate(parts, options)]
    perfect = [replace(part, draft=found.tokens) for part, found in zip(parts, expected, strict=True)]
    found = [best for (best,) in engine.translate(perfect, options)]
    assert [one.tokens for one in found] == [one.tokens for one in expected]
    assert {len(one.tokens) - one.kept for one in found} == {0}, "finished or not"


def test_other_strategies_do_not_read_drafts(runtime: Runtime) -> None:
    """Drafts make no difference to `direct` and `sentence`."""
    for options in (GREEDY, Options("sentence", beam_size=1)):
        expected = runtime.translate(REQUESTS, options)
        assert runtime.translate(drafted(REQUESTS, [one.text for one in expected]), options) == expected


def test_a_sentence_that_is_divided_is_translated_without_its_draft(runtime: Runtime) -> None:
    """Its parts have no drafts; blank sentences need none."""
    requests = [TranslationRequest("、".join(["からりきくろ"] * 9) + "。"), TranslationRequest(" ")]
    found = runtime.translate(drafted(requests, ["rako rako", "rako"]), VERIFY)
    assert_same(found, runtime.translate(requests, GREEDY))
    assert [one.kept for one in found] == [0, 0]


def test_where_ctranslate2_reads_the_context_drafts_change_nothing(tmp_path: Path) -> None:
    """A model whose context is part of its source accepts drafts, but ignores them."""
    runtime = Runtime.load(
        make_bundle(tmp_path / "joined", ConcatenationConfig(), quantization="float32", max_length=96)
    )
    expected = runtime.translate(REQUESTS[:5], GREEDY)
    found = runtime.translate(drafted(REQUESTS[:5], [one.text for one in expected]), VERIFY)
    assert_same(found, expected)


class Recurrent:
    """A model that reads the preceding translation, with documents that are translated turn by turn."""

    def __init__(self, model: TranslationModel, seed: int) -> None:
        chooser = random.Random(seed)
        self._model = model
        self._sources = [
            [[chooser.randint(4, 40) for _ in range(chooser.randint(1, 6))] for _ in range(4)] for _ in range(6)
        ]

    def translate(self, engine: TorchEngine, drafts: list[list[list[int]]] | None) -> list[list[Hypothesis]]:
        """Translate the first sentences of all documents together, then the second ones; `drafts[turn][document]`."""
        turns: list[list[Hypothesis]] = []
        for turn in range(4):
            requests = [
                TokenizedRequest(
                    self._model.architecture.select(
                        Example(
                            sources[turn],
                            preceding=sources[:turn],
                            following=sources[turn + 1 :],
                            translations=[done[number].tokens for done in turns],
                        )
                    ),
                    16,
                    drafts[turn][number] if drafts else (),
                )
                for number, sources in enumerate(self._sources)
            ]
            turns.append([best for (best, *_) in engine.translate(requests, SearchOptions(1, min_length=3))])
        return turns


@pytest.mark.parametrize("kept", [True, False], ids=["memories kept", "memories read again"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "config",
    [GlobalLocalConfig(block_sentences=4), GlobalLocalConfig(global_layer=False)],
    ids=["blocks", "history"],
)
def test_drafts_leave_to_the_next_sentence_what_search_leaves(
    tmp_path: Path, config: GlobalLocalConfig, seed: int, kept: bool
) -> None:
    """A model that continues from memories gives the same documents if drafts have left them."""
    torch.set_num_threads(1)
    model = load_model(load_checkpoint(make_checkpoint(tmp_path / "checkpoint", config, max_length=64)))
    documents = Recurrent(model, seed)
    expected = documents.translate(TorchEngine(model), None)
    chooser = random.Random(seed)
    drafts = [
        [found.tokens[: chooser.randint(0, 6)] + [9] * chooser.randint(0, 2) for found in turn] for turn in expected
    ]
    found = documents.translate(TorchEngine(model, None if kept else Memories(model, limit=0)), drafts)
    assert [[one.tokens for one in turn] for turn in found] == [[one.tokens for one in turn] for turn in expected]
    for mine, yours in zip(found, expected, strict=True):
        assert [one.score for one in mine] == pytest.approx([one.score for one in yours], abs=1e-5)
    kept = [one.kept / len(one.tokens) for turn in found for one in turn]
    assert {0, 1} < set(kept)
