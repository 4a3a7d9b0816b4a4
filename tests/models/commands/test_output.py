"""What commands show is what they have found, letter for letter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models.commands.output import print_table


def test_a_table_shows_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets and colons are text of a corpus, a label or a name, and no markup, which would be lost or an error."""
    texts = ("[/quote] Hallo", "[laughs] no", ":smile: yes", "[bold]a[/bold]")
    print_table(("name", "text"), [(":tada:", text) for text in texts])
    shown = capsys.readouterr().out
    assert all(text in shown for text in texts)
    assert shown.count(":tada:") == len(texts)


def test_figures_are_written_though_nobody_reads_the_table(tmp_path: Path) -> None:
    """As `evaluate ... | head` ends it: hours of translations come after the table."""
    file = tmp_path / "figures"
    code = "import pathlib, sys; from models.commands.output import report; report({}, pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(file)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.exists()
