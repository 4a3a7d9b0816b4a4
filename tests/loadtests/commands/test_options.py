from pathlib import Path

import pytest
import typer

from loadtests.commands.options import documents_of, end, sentences_of
from loadtests.errors import LoadTestError
from loadtests.report.report import Check, Report
from models.errors import DataError
from tests.support.servers import bundle


@pytest.fixture
def english(tmp_path: Path) -> Path:
    """A bundle that translates from English."""
    return bundle(tmp_path / "en-ja", source="en", target="ja")


def test_texts_at_hand_are_for_models_that_read_japanese(stand_in_bundle: Path) -> None:
    """For a bundle that reads Japanese, no file need be given."""
    assert len(documents_of(None, 3, 1, stand_in_bundle)) == 3
    assert "。" in sentences_of(None, stand_in_bundle)[0]


def test_other_languages_want_a_file(english: Path, tmp_path: Path) -> None:
    """Without a file, the error names the option for one; with a file, its text is used."""
    with pytest.raises(LoadTestError, match=r"translates from en.*--corpus"):
        documents_of(None, 3, 1, english)
    with pytest.raises(LoadTestError, match=r"translates from en.*--source"):
        sentences_of(None, english)
    text = tmp_path / "text.en"
    text.write_text("It rained.\n\nThen it stopped.\n")
    assert sorted(documents_of(text, 3, 1, english)) == [("It rained.",), ("Then it stopped.",)]
    assert sentences_of(text, english) == ["It rained.", "Then it stopped."]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"\n \n", "has no", id="empty"),
        pytest.param(b"a\n\xff\n", ":2: is not valid UTF-8", id="not UTF-8"),
    ],
)
def test_file_that_cannot_be_used_is_refused(
    tmp_path: Path, stand_in_bundle: Path, content: bytes, reason: str
) -> None:
    """The error names the file, and comes before anything is started."""
    text = tmp_path / "text"
    text.write_bytes(content)
    for read in (lambda: sentences_of(text, stand_in_bundle), lambda: documents_of(text, 3, 1, stand_in_bundle)):
        with pytest.raises(DataError, match=f"text.*{reason}"):
            read()


@pytest.mark.parametrize(("holds", "raised"), [(True, OSError), (False, typer.Exit)])
def test_verdict_counts_where_the_report_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], holds: bool, raised: type[Exception]
) -> None:
    """A failed check decides the exit status even then; the figures have been shown before."""
    with pytest.raises(raised):
        end(Report("smoke", {}, {"sentences": 9}, [Check("nothing is lost", holds, "0")]), tmp_path / "gone")
    shown = capsys.readouterr()
    assert "sentences" in shown.out
    assert ("No such file" in shown.err) is not holds
