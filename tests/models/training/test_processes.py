"""A run gives the same weights however often its process is killed, and however many processes train it."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
import torch
from safetensors.torch import load_file

from models.config import load_config
from models.errors import CheckpointError, ConfigError
from models.training.checkpoints import list_checkpoints, load_checkpoint
from models.training.distributed import join_world
from models.training.run import make_tokenizer
from tests.support.command_line import run
from tests.support.training import assert_same_weights, train, weights

MakeRun = Callable[..., Path]
BLOCKS: dict[str, dict[str, object]] = {
    "architecture": {"kind": "global_local", "block_sentences": 3, "warm_start": True},
    "training": {"step": "joint"},
}
"""In a document of four sentences, the last is alone in its block, and reads no memory."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
KILLED = """
import os, runpy, signal, sys, threading, time
from pathlib import Path
from models.training.checkpoints import list_checkpoints

run, output, count = sys.argv[1:]

def die():
    while all(int(folder.name.rpartition("-")[2]) < int(count) for folder in list_checkpoints(Path(output))):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

def die_at_the_end(event, arguments):
    if event == "os.rename" and Path(arguments[1]).name == "final":
        os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=die, daemon=True).start()
sys.addaudithook(die_at_the_end)
sys.argv = ["models", "train", run, "--resume"]
runpy.run_module("models", run_name="__main__", alter_sys=True)
"""
"""Training that kills its own process, at any point of its work, once it has a checkpoint of so many updates.

On a busy machine the thread may be too late for that, so it ends in any case before its final checkpoint is there.
"""


def finished(command: list[str]) -> str:
    """The output of a command that has to succeed; if it fails, the test shows it."""
    done = subprocess.run(command, env=ENVIRONMENT, stdout=PIPE, stderr=STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def trained(*arguments: str | Path) -> str:
    """What `train` prints in this process."""
    done = run("train", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def kill_after_checkpoints(file: Path, output: Path, count: int) -> None:
    """Train in another process, which is killed once it has a checkpoint of at least `count` updates."""
    command = [sys.executable, "-c", KILLED, str(file), str(output), str(count)]
    process = subprocess.run(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL, check=False)
    assert process.returncode == -signal.SIGKILL, "the run ended before it could be killed"


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("optimizer", [pytest.param("adam", marks=pytest.mark.slow), "muon"])
def test_killed_run_resumes_to_the_same_weights(make_run: MakeRun, optimizer: str) -> None:
    """A run that is killed twice, at any moment, ends with the same weights as one that was not, to the bit."""
    settings = {"updates": 60, "dropout": 0.2, "accumulation": 2, "keep": 3, "optimizer": optimizer}
    whole, broken = make_run("whole", training=settings), make_run("broken", training=settings)
    make_tokenizer(load_config(whole))
    final = train(load_config(whole))
    config = load_config(broken)
    kill_after_checkpoints(broken, config.output, 7)
    kill_after_checkpoints(broken, config.output, 23)
    trained(broken, "--resume")
    assert_same_weights(config.output / "final", final)
    optimizers = [
        load_file(list_checkpoints(folder)[-1] / "optimizer.safetensors") for folder in (config.output, final.parent)
    ]
    assert all(torch.equal(tensor, optimizers[1][name]) for name, tensor in optimizers[0].items())


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("optimizer", "sections"),
    [
        pytest.param("muon", {}, id="muon"),
        pytest.param("adam", BLOCKS, id="adam, and a batch without a memory", marks=pytest.mark.slow),
    ],
)
def test_two_processes_train_like_one_with_twice_the_batch(
    make_run: MakeRun, optimizer: str, sections: dict[str, dict[str, object]]
) -> None:
    """Two torchrun processes give the same losses and weights as one process that accumulates two batches."""
    schedule = {"kind": "linear", "peak": 1e-3, "warmup": 1}
    settings = {"updates": 6, "dropout": 0.0, "validate_every": 1, "optimizer": optimizer, "schedule": schedule}
    settings |= sections.get("training", {})
    architecture = {name: values for name, values in sections.items() if name != "training"}
    alone = make_run("alone", training=settings | {"accumulation": 2}, **architecture)
    pair = make_run("pair", training=settings, **architecture)
    make_tokenizer(load_config(alone))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    printed = [trained(alone), finished([*torchrun, "-m", "models", "train", str(pair)])]
    assert printed[1].count("final checkpoint: ") == 1
    losses = [[float(x) for x in re.findall(r"loss (\d+\.\d+)", text)] for text in printed]
    assert len(losses[0]) == 6
    assert losses[1] == pytest.approx(losses[0], abs=2e-3)
    one, two = (weights(load_config(file).output / "final") for file in (alone, pair))
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("gone", [pytest.param("a full disk", marks=pytest.mark.slow), "a pipe that nobody reads"])
def test_a_run_goes_on_though_nothing_can_be_printed(make_run: MakeRun, gone: str) -> None:
    """Without its progress bar and figures, it still succeeds, and writes its final checkpoint."""
    file = make_run("run", training={"updates": 3, "validate_every": 1})
    make_tokenizer(load_config(file))
    reader, nowhere = (None, os.open("/dev/full", os.O_WRONLY)) if gone == "a full disk" else os.pipe()
    if reader is not None:
        os.close(reader)
    command = [sys.executable, "-m", "models", "train", str(file)]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=nowhere, stderr=nowhere, check=False)
    os.close(nowhere)
    assert done.returncode == 0
    assert load_checkpoint(load_config(file).output / "final").progress.update == 3


def test_processes_agree_when_to_stop_and_to_slow_down(make_run: MakeRun) -> None:
    """One process validates, but all of them stop because of it, and have the same learning rate until then."""
    still = {"schedule": {"kind": "plateau", "peak": 1e-12, "warmup": 1, "patience": 2}, "validate_every": 1}
    file = make_run("still", training=still | {"updates": 50, "patience": 5})
    make_tokenizer(load_config(file))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*torchrun, "-m", "models", "train", str(file)], env=ENVIRONMENT, check=True, timeout=120)
    progress = load_checkpoint(load_config(file).output / "final").progress
    assert (progress.stale, progress.plateaus) == (5, 2)


@pytest.mark.slow
def test_a_run_goes_on_with_as_many_batches_in_an_update(make_run: MakeRun) -> None:
    """As many processes, or fewer that do more each, may resume it; otherwise, positions and updates would differ."""
    file = make_run("run", training={"updates": 2})
    make_tokenizer(load_config(file))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    finished([*torchrun, "-m", "models", "train", str(file)])
    alone = load_config(make_run("run", training={"updates": 4}))
    with pytest.raises(CheckpointError, match=r"resume with 2, or change .* so that processes x accumulation stays 2"):
        train(alone, resume=True)
    more = load_config(make_run("run", training={"updates": 4, "accumulation": 2}))
    two, four = (
        load_checkpoint(list_checkpoints(alone.output)[-1]).progress,
        load_checkpoint(train(more, resume=True)).progress,
    )
    assert (two.processes, four.processes) == (2, 1)
    assert (two.position, four.position) == (4, 8)
    with pytest.raises(
        CheckpointError, match=r"made by 1 process with training\.accumulation 2, but .* 1 process with 1"
    ):
        train(alone, resume=True)


def test_an_older_checkpoint_goes_on_though_it_does_not_know_its_processes(make_run: MakeRun) -> None:
    """Older checkpoints do not record how many processes made them."""
    run = load_config(make_run("run", training={"updates": 2}))
    make_tokenizer(run)
    train(run)
    description = list_checkpoints(run.output)[-1] / "checkpoint.json"
    values = json.loads(description.read_text(encoding="utf-8"))
    assert values["progress"].pop("processes") == 1
    description.write_text(json.dumps(values), encoding="utf-8")
    longer = load_config(make_run("run", training={"updates": 3}))
    assert load_checkpoint(train(longer, resume=True)).progress.update == 3


@pytest.mark.slow
def test_processes_that_do_not_see_the_same_checkpoints_do_not_train(make_run: MakeRun) -> None:
    """A process with another folder would continue from other weights without anybody noticing."""
    begun = load_config(make_run("run0", training={"updates": 2, "accumulation": 2}))
    make_tokenizer(begun)
    train(begun)
    runs = [make_run(f"run{rank}", training={"updates": 1000}) for rank in range(2)]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    each = f"exec {sys.executable} -m models train {runs[0].parent}/run$RANK.yaml --resume"
    ended = subprocess.run(
        [*torchrun, "sh", "-c", each], env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode != 0
    assert "all processes need the same output folder" in ended.stderr
    assert not list_checkpoints(load_config(runs[1]).output)


@pytest.mark.parametrize(("size", "said"), [("1", "done\nlast\n"), ("2", "done\n")])
def test_processes_of_several_end_without_their_last_moments(size: str, said: str) -> None:
    """Some used to abort at exit, after all was done, so they skip it; what they have printed is still written."""
    script = "import atexit; from models.training.distributed import end_process; atexit.register(print, 'last')"
    command = [sys.executable, "-c", f"{script}; print('done'); end_process()"]
    done = subprocess.run(command, env=ENVIRONMENT | {"WORLD_SIZE": size}, capture_output=True, text=True, check=True)
    assert done.stdout == said


def test_a_process_for_which_there_is_no_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer GPUs than processes, the error comes before it joins the others, and says how many there may be."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for name, value in {"WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="--nproc-per-node 1 or less"), join_world():
        pass
