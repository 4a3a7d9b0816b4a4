"""The picture of `bench` is where it was asked for."""

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
)


@pytest.mark.parametrize(("asked", "name"), [("speeds", "speeds"), ("speeds.png", "speeds"), ("0.2", "0.2")])
def test_only_the_ending_of_a_picture_is_exchanged(asked: str, name: str, tmp_path: Path) -> None:
    """Two releases' pictures do not become one file."""
    _draw([ROW], tmp_path / asked)
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.png", f"{name}.svg"}


def test_every_way_has_its_line() -> None:
    """A way without a name would be left out of the picture."""
    assert set(NAMES) == set(get_args(Way))
