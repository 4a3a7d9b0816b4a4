"""Checkpoints in which the context counts more."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from models.__main__ import app
from models.data.documents import Sentence
from models.engine.requests import TranslationRequest
from models.engine.runtime import Runtime
from models.errors import CheckpointError
from models.training.amplifying import amplify_run
from models.training.checkpoints import load_checkpoint
from tests.support.bundles import documents

SENTENCES = documents()[0].sentences


def scores(folder: Path, preceding: tuple[Sentence, ...]) -> float:
    """The score of a translation after some context."""
    (said,) = SENTENCES[-1:]
    return Runtime.open(folder).score([TranslationRequest(said.source, preceding)], [said.target or ""])[0]


def test_only_what_a_context_changes_counts_more(checkpoint: Path, tmp_path: Path) -> None:
    """The configuration stays the same, and so does the score of a translation without context."""
    out = tmp_path / "amplified"
    done = CliRunner().invoke(app, ["amplify", str(checkpoint), "--by", "3", "--out", str(out)])
    assert (done.exit_code, done.output) == (0, f"checkpoint in which the context counts 3 times: {out}\n")
    assert load_checkpoint(out).config == load_checkpoint(checkpoint).config
    assert scores(out, ()) == pytest.approx(scores(checkpoint, ()), abs=1e-4)
    assert abs(scores(out, SENTENCES[:2]) - scores(checkpoint, SENTENCES[:2])) > 1e-2


def test_what_cannot_be_amplified_is_refused(run: Path, checkpoint: Path, tmp_path: Path) -> None:
    """A model that reads no context, an output that exists, and a factor that is no number are refused."""
    options = ["--by", "nan", "--out", str(tmp_path / "amplified")]
    assert CliRunner().invoke(app, ["amplify", str(checkpoint), *options]).exit_code == 2
    assert not (tmp_path / "amplified").exists()
    with pytest.raises(CheckpointError, match="only a doc_transformer that reads a context can be amplified"):
        amplify_run(run / "final", tmp_path / "amplified", 2.0)
    with pytest.raises(CheckpointError, match="already exists"):
        amplify_run(checkpoint, run, 2.0)
