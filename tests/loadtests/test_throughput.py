import pytest

from loadtests.errors import LoadTestError
from loadtests.throughput import single_sentences

SEVERAL = ["雨が降る。風が吹く。", "「はい。」と言う。寝る。"]


def test_lines_of_several_sentences_are_not_measured() -> None:
    """The service translates such a line sentence by sentence, the runtime as it is: that would compare two things."""
    assert single_sentences([SEVERAL[0], "雨が降る。", "「はい。」と言う。"], "ja") == [
        "雨が降る。",
        "「はい。」と言う。",
    ]
    with pytest.raises(LoadTestError, match="each line is several sentences"):
        single_sentences(SEVERAL, "ja")
