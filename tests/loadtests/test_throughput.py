import pytest

from loadtests.errors import LoadTestError
from loadtests.throughput import _requests, single_sentences
from models.config import ContextWindow

SEVERAL = ["雨が降る。風が吹く。", "「はい。」と言う。寝る。"]


def test_lines_of_several_sentences_are_not_measured() -> None:
    """The service translates such a line sentence by sentence, the runtime as it is: that would compare two things."""
    assert single_sentences([SEVERAL[0], "雨が降る。", "「はい。」と言う。"], "ja") == [
        "雨が降る。",
        "「はい。」と言う。",
    ]
    with pytest.raises(LoadTestError, match="each line is several sentences"):
        single_sentences(SEVERAL, "ja")


def test_the_runtime_reads_what_the_service_does() -> None:
    """The sentences before each one, or, where a model reads blocks, those of its block on both sides."""
    document = ["a", "b", "c"]

    def read(window: ContextWindow) -> list[tuple[str, str, str]]:
        found = _requests(document, window)
        around = ((one.preceding, one.following) for one in found)
        sides = ["".join(sentence.source for sentence in side) for pair in around for side in pair]
        return list(zip([one.source for one in found], sides[::2], sides[1::2], strict=True))

    assert read(ContextWindow(size=1)) == [("a", "", ""), ("b", "a", ""), ("c", "b", "")]
    assert read(ContextWindow(kind="block", size=1, following=1)) == [("a", "", "b"), ("b", "a", ""), ("c", "", "")]
