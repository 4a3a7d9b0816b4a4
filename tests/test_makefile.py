"""What `make` says when it cannot do what it is asked to."""

import subprocess
from pathlib import Path

from tests.support.servers import ROOT


def test_nothing_is_compared_before_it_is_trained() -> None:
    """If a step has been skipped, `make` says which command is missing."""
    command = [
        "make",
        "--old-file",
        ".venv/.stamp",
        "compare-systems",
        "SET=none",
    ]  # uses the existing environment
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no trained run in runs/none: make train-systems SET=none" in done.stderr


def test_what_contexts_are_worth_is_drawn(tmp_path: Path) -> None:
    """`compare-systems` draws the kinds of context, from the files that `compare` has written."""
    written = [tmp_path / "reports" / "few" / "test" / f"one.{kind}.scores.json" for kind in ("real", "empty")]
    python, said = tmp_path / "python", tmp_path / "said"
    python.write_text(f'#!/bin/sh\necho "$@" >> {said}\n[ "$3" != compare ] || touch {" ".join(map(str, written))}\n')
    python.chmod(0o755)
    written[0].parent.mkdir(parents=True)
    (tmp_path / "runs" / "few" / "one" / "final").mkdir(parents=True)
    command = ["make", "--file", str(ROOT / "Makefile"), "--old-file", ".venv/.stamp", "compare-systems"]
    subprocess.run([*command, "SET=few", f"PY={python}"], cwd=tmp_path, capture_output=True, check=True)
    assert "-m models plot reports/few/test/one.empty.scores.json" in said.read_text()
