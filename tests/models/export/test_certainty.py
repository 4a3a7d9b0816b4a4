"""Below which score translations are less sure than usual."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from models.bundle.card import CARD
from models.bundle.manifest import Manifest
from models.data.documents import Document
from models.engine.requests import Options, Translation, TranslationRequest
from models.engine.runtime import Runtime
from models.export import certainty
from models.export.certainty import FEWEST, score_of_least_sure_tenth
from models.export.export import export_bundle
from tests.support.bundles import documents


def test_a_tenth_of_the_translations_score_less(runtime: Runtime) -> None:
    """The scores are those that translations come with, by default."""
    alone = [Document((sentence,)) for document in documents(20) for sentence in document.sentences]
    requests = [TranslationRequest(document.sentences[0].source) for document in alone]
    scores = [translation.score for translation in runtime.translate(requests, Options())]
    limit = score_of_least_sure_tenth(runtime, alone)
    assert limit is not None
    assert sum(score < limit for score in scores) == pytest.approx(len(scores) / 10, abs=1)
    assert score_of_least_sure_tenth(runtime, alone[: FEWEST - 1]) is None


def test_export_writes_it_down(checkpoint: Path, tmp_path: Path) -> None:
    """In the manifest and on the card, if there are enough sentences to know."""
    made = export_bundle(checkpoint, tmp_path / "known", documents=documents(20))
    assert made == Manifest.load(tmp_path / "known")
    assert made.unsure_below is not None
    assert (
        f"A translation with a score below {made.unsure_below:.2f} is less sure"
        in (tmp_path / "known" / CARD).read_text()
    )
    assert export_bundle(checkpoint, tmp_path / "unknown", documents=documents(2)).unsure_below is None
    assert "less sure" not in (tmp_path / "unknown" / CARD).read_text()


def test_no_more_than_enough_is_translated(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if all sentences are in one document, as in a corpus that does not tell where its documents end."""
    asked, translate = list[int](), Runtime.translate

    def counted(self: Runtime, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        asked.append(len(requests))
        return translate(self, requests, options)

    monkeypatch.setattr(Runtime, "translate", counted)
    monkeypatch.setattr(certainty, "ENOUGH", 60)
    whole = Document(tuple(sentence for document in documents(20) for sentence in document.sentences))
    assert score_of_least_sure_tenth(runtime, [whole, whole]) is not None
    assert sum(asked) == 60
