"""What is compiled is kept on disk for the next process, and whatever becomes of the disk is no obstacle.

Layer norm is what takes the least to compile, and needs no torch.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import models.kernels

NORM = """
import resource, numpy as np
from models.kernels.norms import norm
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
one, found = np.ones(2, np.float32), np.empty((1, 2), np.float32)
norm(np.array([[0, 1]], np.float32), one, one, np.float32(0), found)
print(*found[0])
"""
"""What it gives for 0 and 1, by a process that can write files of so many bytes."""
ATTENTION = """
import hashlib, torch
from models.kernels.attention import attend
torch.manual_seed(1)
x = (torch.randn(2, 3, length, 40) for length in range(1, 60))
print(hashlib.sha256(b"".join(attend(each, each, each, None, False).numpy().tobytes() for each in x)).hexdigest())
"""
"""A fingerprint of what it gives for sentences of many lengths."""
NORMED = "0.0 2.0"


def said(code: str, kept: Path, sources: Path | None = None) -> str:
    """What a process prints that keeps what it compiles in a folder; its sources may be others than those here."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(kept)} | ({"PYTHONPATH": str(sources)} if sources else {})
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, env=environment, cwd=sources, text=True).strip()


def normed(kept: Path, sources: Path | None = None, most: int = -1) -> str:
    """What `NORM` prints."""
    return said(NORM.format(most=most), kept, sources)


def files(folder: Path) -> dict[Path, int]:
    """What stands in it, with the times."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def compiled_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a process has filled."""
    folder = tmp_path_factory.mktemp("compiled")
    assert normed(folder) == NORMED
    return folder


@pytest.fixture
def kept(compiled_code: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return shutil.copytree(compiled_code, tmp_path / "code")


def test_it_is_kept_for_the_next_process(kept: Path) -> None:
    """Which writes nothing."""
    before = files(kept)
    assert {path.suffix for path in before} == {".nbi", ".nbc"}
    assert normed(kept) == NORMED
    assert files(kept) == before


def test_what_was_compiled_and_what_was_kept_give_the_same(tmp_path: Path) -> None:
    """To the bit: the process that compiles it is a replica like those that find it there."""
    assert said(ATTENTION, tmp_path) == said(ATTENTION, tmp_path)


def test_it_is_compiled_anew_when_what_it_calls_has_changed(tmp_path: Path) -> None:
    """What was kept is used while all sources are the same, and no longer.

    Not even where the disk becomes full, after an upgrade, between the index of what is kept and the code.
    """
    sources, kept = tmp_path / "sources", tmp_path / "kept"
    kernels, ignored = Path(models.kernels.__file__).parent, shutil.ignore_patterns("__pycache__")
    shutil.copytree(kernels, sources / "models" / "kernels", ignore=ignored)
    assert [normed(kept, sources) for _ in range(2)] == [NORMED, NORMED]
    called = sources / "models" / "kernels" / "reductions.py"
    total = "*array, 0.0, builder.fadd"
    text = called.read_text(encoding="utf-8")
    assert text.count(total) == 1
    called.write_text(text.replace(total, "*array, 4.0, builder.fadd"), encoding="utf-8")
    full, free = normed(kept, sources, most=4096), normed(kept, sources)
    assert full == free != NORMED


def test_a_disk_without_room_is_no_obstacle(tmp_path: Path) -> None:
    """What cannot be kept is used all the same."""
    assert normed(tmp_path, most=64) == NORMED
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
def test_what_a_loss_of_power_has_cut_is_compiled_anew(kept: Path, kind: str) -> None:
    """It ends nobody, and the process after the next finds all of it again."""
    whole = files(kept)
    for path in whole:
        if path.suffix == kind:
            path.write_bytes(path.read_bytes()[: 40 if kind == ".nbc" else 0])
    assert [normed(kept) for _ in range(2)] == [NORMED, NORMED]
    mended = files(kept)
    assert mended.keys() == whole.keys()
    assert normed(kept) == NORMED
    assert files(kept) == mended


def test_what_was_kept_and_cannot_be_read_is_no_obstacle(kept: Path) -> None:
    """As where another user has kept it; here a folder is in its place."""
    for index in list(kept.rglob("*.nbi")):
        index.unlink()
        index.mkdir()
    assert normed(kept) == NORMED
