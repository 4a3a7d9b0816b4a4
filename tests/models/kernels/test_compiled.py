"""Compiled code is kept on disk for the next process, and problems with the disk are no obstacle.

Layer norm is used because it compiles fastest, and needs no torch.
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
"""Prints the layer norm of 0 and 1, in a process that can write files of at most so many bytes."""
ATTENTION = """
import hashlib, torch
from models.kernels.attention import attend
torch.manual_seed(1)
x = (torch.randn(2, 3, length, 40) for length in range(1, 60))
print(hashlib.sha256(b"".join(attend(each, each, each, None, False).numpy().tobytes() for each in x)).hexdigest())
"""
"""Prints a fingerprint of what attention gives for sentences of many lengths."""
NORMED = "0.0 2.0"


def said(code: str, kept: Path, sources: Path | None = None) -> str:
    """The output of a process that keeps compiled code in a folder, and may use other sources than these."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(kept)} | ({"PYTHONPATH": str(sources)} if sources else {})
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, env=environment, cwd=sources, text=True).strip()


def normed(kept: Path, sources: Path | None = None, most: int = -1) -> str:
    """What `NORM` prints."""
    return said(NORM.format(most=most), kept, sources)


def files(folder: Path) -> dict[Path, int]:
    """The files in a folder, with their times."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def compiled_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that a process has filled with compiled code."""
    folder = tmp_path_factory.mktemp("compiled")
    assert normed(folder) == NORMED
    return folder


@pytest.fixture
def kept(compiled_code: Path, tmp_path: Path) -> Path:
    """A copy of it, for a test to damage."""
    return shutil.copytree(compiled_code, tmp_path / "code")


def test_it_is_kept_for_the_next_process(kept: Path) -> None:
    """The next process writes nothing."""
    before = files(kept)
    assert {path.suffix for path in before} == {".nbi", ".nbc"}
    assert normed(kept) == NORMED
    assert files(kept) == before


def test_what_was_compiled_and_what_was_kept_give_the_same(tmp_path: Path) -> None:
    """They agree to the bit: replicas that compile must give the same as those that find compiled code."""
    assert said(ATTENTION, tmp_path) == said(ATTENTION, tmp_path)


def test_it_is_compiled_anew_when_what_it_calls_has_changed(tmp_path: Path) -> None:
    """What was kept is used only while all sources are the same.

    This holds even if, after an upgrade, the disk becomes full between writing the index and the code.
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
    """Code that cannot be kept is still used."""
    assert normed(tmp_path, most=64) == NORMED
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
def test_what_a_loss_of_power_has_cut_is_compiled_anew(kept: Path, kind: str) -> None:
    """No process fails over it, and a later process finds everything again."""
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
    """Another user may have kept it, for example; here a folder is in its place."""
    for index in list(kept.rglob("*.nbi")):
        index.unlink()
        index.mkdir()
    assert normed(kept) == NORMED
