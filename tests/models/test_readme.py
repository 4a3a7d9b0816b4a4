"""The README's instructions for training your own language pair can be followed."""

import re
import shutil
from pathlib import Path

import pytest

from models.__main__ import app
from models.config import load_config
from tests.support.servers import ROOT

SECTION = re.search(r"## Training your own pair\n.*?```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
COMMANDS = SECTION[1].splitlines() if SECTION else []


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The copy of the run files that the first command makes."""
    first, *_ = COMMANDS
    assert first == "cp -r models/configs/own my"
    return Path(shutil.copytree(ROOT / "models" / "configs" / "own", tmp_path / "my"))


def test_each_run_begins_with_the_one_before(runs: Path) -> None:
    """Each run loads from the copy and starts from the result of the run before; the last result is exported."""
    files = [match[1] for line in COMMANDS if (match := re.search(r"models train my/(\w+\.yaml)", line))]
    steps = [load_config(runs / file) for file in files]
    assert [step.training.init for step in steps] == [None, *(step.output / "final" for step in steps[:-1])]
    assert {re.search(r"runs/\S+", line)[0] for line in COMMANDS if "runs/" in line} == {  # type: ignore[index]
        str(steps[-1].output / "final")
    }


def test_each_command_is_there() -> None:
    """Every command in the instructions is a command of `python -m models`."""
    named = {match[1] for line in COMMANDS if (match := re.search(r"-m models (\w+)", line))}
    assert named == {"tokenizer", "train", "evaluate", "export"}
    assert named <= {command.callback.__name__ for command in app.registered_commands if command.callback}
