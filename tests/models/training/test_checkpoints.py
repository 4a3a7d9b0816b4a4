"""Checkpoints are complete or absent, and errors say what is wrong with them."""

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.config import load_config
from models.errors import CheckpointError
from models.training import checkpoints
from models.training.checkpoints import list_checkpoints, load_checkpoint
from tests.support.training import train


def test_a_flipped_bit_is_found(run: Path) -> None:
    """A checkpoint with one byte changed is refused with the name of the file."""
    folder = list_checkpoints(run)[-1]
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged"):
        load_checkpoint(folder)


def test_a_truncated_file_is_found(run: Path) -> None:
    """A checkpoint whose optimiser file was cut is refused."""
    file = list_checkpoints(run)[-1] / "optimizer.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(file.parent)


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    """A folder without a description, or with another program's, is no checkpoint."""
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        load_checkpoint(tmp_path)
    (tmp_path / "checkpoint.json").write_text('{"format": 99}', encoding="utf-8")
    with pytest.raises(CheckpointError, match="format 1"):
        load_checkpoint(tmp_path)
    for content in ("not json", "[" * 10**5):
        (tmp_path / "checkpoint.json").write_text(content, encoding="utf-8")
        with pytest.raises(CheckpointError, match="cannot be read"):
            load_checkpoint(tmp_path)


def test_a_missing_key_is_refused(run: Path) -> None:
    """A description that lacks a required key is refused in one sentence."""
    file = list_checkpoints(run)[-1] / "checkpoint.json"
    description = json.loads(file.read_text(encoding="utf-8"))
    del description["progress"]["update"]
    description["progress"]["elsewhere"] = 1
    file.write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(CheckpointError, match="is damaged, or was not written by this program"):
        load_checkpoint(file.parent)


@pytest.mark.parametrize(
    "odd",
    [
        {"files": []},
        {"files": {}},
        {"files": {"model.safetensors": None}},
        {"progress": []},
        {"progress": {"update": "four"}},
        {"config": None},
        {"config": {"name": "run"}},
    ],
    ids=str,
)
def test_a_value_of_another_kind_is_refused(run: Path, odd: dict[str, object]) -> None:
    """Another program may have written such a value: it is refused in one line, before anything is done with it."""
    file = list_checkpoints(run)[-1] / "checkpoint.json"
    description = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(description | odd), encoding="utf-8")
    with pytest.raises(CheckpointError, match="is damaged") as refused:
        load_checkpoint(file.parent)
    assert "\n" not in str(refused.value)


def test_a_full_disk_leaves_the_last_good_checkpoint(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a checkpoint cannot be written, there is an error, no half of it is left, and the earlier one stays."""
    folder = list_checkpoints(run)[-1]
    good = load_checkpoint(folder)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "save", full)
    with pytest.raises(CheckpointError, match="No space left"):
        checkpoints.save_checkpoint(folder, good.config, good.tokenizer, good.weights, good.progress)
    assert all(torch.equal(good.weights[name], tensor) for name, tensor in load_checkpoint(folder).weights.items())
    assert not list(folder.parent.glob(".*"))


def test_a_checkpoint_that_cannot_take_its_place_leaves_the_one_before(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier one, which has been moved aside by then, comes back, and nothing else is left."""
    folder = run / "final"
    good, rename = load_checkpoint(folder), Path.rename

    def stuck(self: Path, target: Path) -> Path:
        if self.suffix == ".partial":
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stuck)
    with pytest.raises(CheckpointError, match="Input/output error"):
        checkpoints.save_checkpoint(folder, good.config, good.tokenizer, good.weights, good.progress)
    assert load_checkpoint(folder).progress == good.progress
    assert not list(run.glob(".*"))


def test_a_copy_beside_the_checkpoints_is_none_of_the_run(run: Path) -> None:
    """The run neither resumes from it, nor stops because of it, nor deletes it."""
    last = list_checkpoints(run)[-1]
    copy = shutil.copytree(last, last.with_name(f"{last.name}.bak"))
    assert copy not in list_checkpoints(run)
    config = load_checkpoint(last).config
    longer = config.model_copy(update={"training": config.training.model_copy(update={"updates": 12, "keep": 1})})
    assert load_checkpoint(train(longer, resume=True)).progress.update == 12
    assert [folder.name for folder in sorted(copy.parent.iterdir())] == [copy.name, "update-00000012"]


def test_what_killed_processes_were_writing_goes(run: Path) -> None:
    """Only what is named after the run's checkpoints goes, and not what a running process is writing."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    checkpoint = list_checkpoints(run)[-1]
    gone = [run / f".final.{ended.pid}.former", checkpoint.with_name(f".{checkpoint.name}.{ended.pid}.partial")]
    stay = [run / f".final.{os.getppid()}.partial", run / f".notes.{ended.pid}.partial", run / ".final.old.former"]
    for folder in (*gone, *stay):
        folder.mkdir()
    gone += [run / f".final.{ended.pid}.partial", checkpoint.with_name(f".update-1.{ended.pid}.former")]
    for file in gone[2:]:
        file.write_text("no folder", encoding="utf-8")
    checkpoints.remove_leftovers(run)
    assert [path.name for path in (*gone, *stay) if path.exists()] == [path.name for path in stay]
    assert checkpoint in list_checkpoints(run)


def test_what_a_killed_process_was_deleting_goes(run: Path) -> None:
    """Without a description, it is no checkpoint, and nothing else would ever remove it."""
    first, *others = list_checkpoints(run)
    (first / "checkpoint.json").unlink()
    (first.parent / "update-notes").mkdir()
    checkpoints.remove_leftovers(run)
    assert sorted(first.parent.iterdir()) == [*others, first.parent / "update-notes"]


def test_weights_of_another_model_do_not_load(run: Path, make_run: Callable[..., Path]) -> None:
    """Weights of another width are refused, with the tensor's name and both shapes."""
    wider = {"width": 32, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "max_length": 64}
    checkpoint = load_checkpoint(run / "final")
    wide = replace(checkpoint, config=load_config(make_run("wide", backbone=wider)))
    with pytest.raises(CheckpointError, match=r"has the shape \[\d+, 16\], not \[\d+, 32\]"):
        checkpoints.load_model(wide)
