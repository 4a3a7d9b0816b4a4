"""Commands show what they have found letter for letter, and write it even if nobody reads what is shown."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from models.commands.output import print_table, report, write_lines


def test_a_table_shows_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets and colons in texts, labels and names are no markup, which would be lost or an error."""
    texts = ("[/quote] Hallo", "[laughs] no", ":smile: yes", "[bold]a[/bold]")
    print_table(("name", "text"), [(":tada:", text) for text in texts])
    shown = capsys.readouterr().out
    assert all(text in shown for text in texts)
    assert shown.count(":tada:") == len(texts)


def test_figures_are_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    """Four digits tell two scores apart; a speed, which may have more before the point, is written out."""
    report({"bleu": 23.4757, "chrf": 9.99996, "speed": 14726.6, "slower": 9999.7, "found": {"p": 0.00123456}}, None)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [
        ["bleu", "23.48"],
        ["chrf", "10"],
        ["speed", "14727"],
        ["slower", "10000"],
        ["found", "p", "0.001235"],
    ]


def test_figures_are_written_though_nobody_reads_the_table(tmp_path: Path) -> None:
    """`evaluate ... | head` closes the output early, but translations that took hours are written after the table."""
    file = tmp_path / "figures"
    code = "import pathlib, sys; from models.commands.output import report; report({}, pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(file)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.exists()


@pytest.mark.parametrize("broken", ["figures", "translations"])
def test_a_file_that_cannot_be_written_does_not_keep_the_other_from_it(tmp_path: Path, broken: str) -> None:
    """It is still an error; but each file holds the work of hours, and the two may be on different disks."""
    files = {name: tmp_path / ("missing" if name == broken else ".") / name for name in ("figures", "translations")}
    with pytest.raises(FileNotFoundError, match=broken):
        report({"bleu": 20.0}, files["figures"], partial(write_lines, ["one"], files["translations"]))
    assert [path.name for path in tmp_path.iterdir()] == [name for name in files if name != broken]
