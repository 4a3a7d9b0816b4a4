import pytest

from loadtests import throughput
from loadtests.commands.options import SHIPPED
from loadtests.errors import LoadTestError


def test_lines_of_several_sentences_are_not_measured() -> None:
    """The service translates such a line sentence by sentence, the runtime as it is: that would compare two things."""
    with pytest.raises(LoadTestError, match="each line is several sentences"):
        throughput.run(throughput.Plan(), SHIPPED, ["雨が降る。風が吹く。", "「はい。」と言う。寝る。"], lambda: None)
