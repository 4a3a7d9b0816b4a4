"""`bench` writes its figures and its picture to where it is asked to."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from models.benchmark.interleaved import Row
from models.benchmark.lane import Way
from models.commands.benchmarks import _draw
from models.plotting.speeds import NAMES

ROW = Row(
    architecture="doc_transformer",
    strategy="direct",
    device="cpu",
    compute_type="float32",
    lanes=1,
    beam=1,
    batch=8,
    tokens_per_second=100.0,
    slowest=90.0,
    fastest=110.0,
    milliseconds=5.0,
    ratio=1.0,
    plain_ratio=None,
    rounds=5,
)


@pytest.mark.parametrize(("asked", "name"), [("speeds", "speeds"), ("speeds.png", "speeds"), ("0.2", "0.2")])
def test_only_the_ending_of_a_picture_is_exchanged(asked: str, name: str, tmp_path: Path) -> None:
    """Only an ending such as .png is exchanged: pictures named after releases, such as 0.2, do not become one file."""
    _draw([ROW], tmp_path / asked)
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.png", f"{name}.svg"}


def test_every_way_has_its_line() -> None:
    """A way without a name would be left out of the picture."""
    assert set(NAMES) == set(get_args(Way))


def test_figures_are_written_though_nobody_reads_the_tables(tmp_path: Path) -> None:
    """`| head` closes the output early; here there are two tables, one for each architecture, with lines above them."""
    program = (
        "import sys; from dataclasses import replace; from models.__main__ import main\n"
        "from models.commands import benchmarks; from tests.models.commands.test_benchmarks import ROW\n"
        "benchmarks._measure_fixed = lambda kind, _: [replace(ROW, architecture=kind)]\n"
        "sys.exit(main())\n"
    )
    kinds = ("--fixed", "doc_transformer", "--fixed", "concatenation")
    command = [sys.executable, "-c", program, "bench", *kinds, "--json", str(tmp_path / "figures")]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, check=False, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads((tmp_path / "figures").read_text())["rows"]) == 2
