"""What `translate --ray` refuses before it looks for a cluster."""

import os
import sys
from pathlib import Path
from unittest import mock

import pytest
from typer.testing import CliRunner

from models.__main__ import app
from models.errors import BundleError, ConfigError
from tests.support.bundles import make_bundle, make_checkpoint

FILES = ("--in", "corpus", "--out", "translation")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ray", "auto"), "--ray needs files"),
        (("--ray", "auto", *FILES, "--context", "shuffled"), "--context shuffled needs all documents at once"),
        (("--ray", "auto", *FILES, "--device", "cuda:1"), "--device is cpu or cuda"),
        (("--ray", "ray://head:10001", *FILES), "ray job submit"),
        (("--workers", "2"), "--workers and --part need --ray"),
        (("--part", "100"), "--workers and --part need --ray"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], message: str) -> None:
    """An option that a cluster cannot follow, or that only a cluster can, is bad usage."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["translate", "bundle", *options])
    assert result.exit_code == 2
    assert message in result.output


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Options for an existing corpus and its translation."""
    (tmp_path / "corpus").write_text("から。\n", encoding="utf-8")
    return ["--in", str(tmp_path / "corpus"), "--out", str(tmp_path / "new" / "translation")]


def test_files_are_looked_at_before_hours_of_work(files: list[str], tmp_path: Path) -> None:
    """A missing corpus, an output that is a folder, and pipes, with which no job could be resumed, are refused."""
    os.mkfifo(tmp_path / "pipe")
    for option, name, message in (
        ("--in", "nothing", "no such file"),
        ("--in", "pipe", "cannot be a pipe"),
        ("--out", ".", "is a folder"),
        ("--out", "pipe", "cannot be a pipe"),
    ):
        told = [*files, option, str(tmp_path / name)]
        result = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["translate", "bundle", "--ray", "auto", *told])
        assert result.exit_code == 2, name
        assert message in result.output, name


def test_cluster_translates_with_bundles(files: list[str], tmp_path: Path) -> None:
    """Anything else is refused before a job starts: nodes could not tell whether they have the same model."""
    result = CliRunner().invoke(app, ["translate", str(tmp_path), "--ray", "auto", *files])
    assert isinstance(result.exception, BundleError)
    assert "is not a bundle" in str(result.exception)


def test_a_checkpoint_is_to_be_exported_first(files: list[str], tmp_path: Path) -> None:
    """`translate` takes a checkpoint, but not with a cluster."""
    checkpoint = make_checkpoint(tmp_path / "two")
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["translate", str(checkpoint), "--ray", "auto", *files])
    assert result.exit_code == 2
    assert "is a checkpoint: export it first" in result.output


def test_ray_is_optional(files: list[str], tmp_path: Path) -> None:
    """Without Ray, `--ray` says what to install."""
    bundle = make_bundle(tmp_path / "bundle")
    with mock.patch.dict(sys.modules, {"models.bulk.cluster": None}):
        result = CliRunner().invoke(app, ["translate", str(bundle), "--ray", "auto", *files])
    assert isinstance(result.exception, ConfigError)
    assert "pip install 'antecedent[ray]'" in str(result.exception)
