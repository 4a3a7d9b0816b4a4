from pathlib import Path

import pytest

from loadtests.errors import LoadTestError
from loadtests.profiles.throughput import Plan, _requests, run, single_sentences
from models.config import ContextWindow
from tests.support.servers import bundle

SEVERAL = ["雨が降る。風が吹く。", "「はい。」と言う。寝る。"]


def test_lines_of_several_sentences_or_of_none_are_not_measured() -> None:
    """Only the service splits the former and leaves the latter untranslated, so the two would not be comparable."""
    assert single_sentences([SEVERAL[0], "雨が降る。", "----", "1868", "「はい。」と言う。"], "ja") == [
        "雨が降る。",
        "「はい。」と言う。",
    ]
    with pytest.raises(LoadTestError, match="each line is several sentences"):
        single_sentences(SEVERAL, "ja")


def test_the_runtime_reads_what_the_service_does() -> None:
    """Each request has the sentences before it or, with a model that reads blocks, those of its block on both sides."""
    document = ["a", "b", "c"]

    def read(window: ContextWindow) -> list[tuple[str, str, str]]:
        found = _requests(document, window)
        around = ((one.preceding, one.following) for one in found)
        sides = ["".join(sentence.source for sentence in side) for pair in around for side in pair]
        return list(zip([one.source for one in found], sides[::2], sides[1::2], strict=True))

    assert read(ContextWindow(size=1)) == [("a", "", ""), ("b", "a", ""), ("c", "b", "")]
    assert read(ContextWindow(kind="block", size=1, following=1)) == [("a", "", "b"), ("b", "a", ""), ("c", "", "")]


def test_a_model_that_reads_its_translations_is_refused(tmp_path: Path) -> None:
    """The service has the translations of preceding sentences, the runtime alone does not: results would differ."""
    bundle(tmp_path / "reads", accent="", reads_target_context=True)
    with pytest.raises(LoadTestError, match="reads its translations"):
        run(Plan(), tmp_path / "reads", ["雨が降る。"], lambda: None)
