"""A model gets another tokenizer, and keeps what it has learnt about pieces."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from models.__main__ import app
from models.config import load_config
from models.data.tokenizer import SPECIAL_PIECES, Tokenizer
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import CheckpointError
from models.training.checkpoints import load_checkpoint, load_model
from models.training.retokenizing import retokenize_run
from models.training.run import make_tokenizer
from tests.models.conftest import BACKBONE
from tests.support.training import train

MakeRun = Callable[..., Path]
LAYOUTS = [
    ({"embeddings": "output"}, {"joint": False}),
    ({"embeddings": "shared"}, {"joint": True, "kind": "bpe"}),
    ({"embeddings": "separate", "output_bias": True}, {"joint": False}),
]


@pytest.fixture(params=LAYOUTS, ids=["output", "shared", "separate"])
def trained(make_run: MakeRun, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The final checkpoint of a run with few pieces; `tmp_path / more` has more of them."""
    backbone, kind = request.param

    def config(name: str, vocabulary: int, **sections: Any) -> Any:
        pieces = {"path": str(tmp_path / f"{name}-pieces"), "vocabulary": vocabulary, "byte_fallback": False, **kind}
        made = load_config(make_run(name, tokenizer=pieces, backbone=BACKBONE | backbone, **sections))
        make_tokenizer(made)
        return made

    config("more", 40)
    return train(config("few", 32, training={"updates": 4, "schedule": {"peak": 0.01, "warmup": 1}}))


def divisions(piece: str, known: dict[str, int]) -> Iterator[list[int]]:
    """All ways to divide a piece into others."""
    if not piece:
        yield []
    for end in range(1, len(piece) + 1):
        if piece[:end] in known:
            yield from ([known[piece[:end]], *rest] for rest in divisions(piece[end:], known))


def check_rows(old: torch.Tensor, new: torch.Tensor, had: Sequence[str], has: Sequence[str]) -> None:
    """Require that each piece kept its row, or has the mean of pieces that it consists of."""
    known = {piece: i for i, piece in enumerate(had)}
    added = 0
    for piece, row in zip(has, new, strict=True):
        if piece in known:
            assert torch.equal(row, old[known[piece]])
        else:
            added += 1
            assert any(torch.allclose(row, old[ids].mean(0)) for ids in divisions(piece, known))
    assert added >= 3


def test_pieces_keep_their_rows_and_new_ones_are_the_mean_of_their_parts(trained: Path, tmp_path: Path) -> None:
    """Embeddings of both sides, the output layer and its bias; everything else is as it was."""
    out = tmp_path / "retokenized"
    done = CliRunner().invoke(
        app, ["retokenize", str(trained), "--tokenizer", str(tmp_path / "more-pieces"), "--out", str(out)]
    )
    assert (done.exit_code, done.output) == (0, f"checkpoint with the tokenizer of {tmp_path}/more-pieces: {out}\n")
    before, after = load_checkpoint(trained), load_checkpoint(out)
    old, new = load_model(before).backbone, load_model(after).backbone
    sources = before.tokenizer.source_pieces, after.tokenizer.source_pieces
    targets = before.tokenizer.target_pieces, after.tokenizer.target_pieces
    check_rows(old.source_embedding.weight, new.source_embedding.weight, *sources)
    check_rows(old.target_embedding.weight, new.target_embedding.weight, *targets)
    check_rows(old.output.weight, new.output.weight, *targets)
    assert (old.output.bias is None) == (new.output.bias is None)
    if old.output.bias is not None:
        check_rows(old.output.bias[:, None], new.output.bias[:, None], *targets)
    kept, now = ({n: t for n, t in m.state_dict().items() if not _of_vocabulary(n)} for m in (old, new))
    assert all(torch.equal(kept[name], now[name]) for name in kept)
    assert new.source_embedding.weight[: len(SPECIAL_PIECES)].equal(old.source_embedding.weight[: len(SPECIAL_PIECES)])


def _of_vocabulary(name: str) -> bool:
    return name.startswith(("source_embedding", "target_embedding", "output."))


def test_the_same_tokenizer_changes_nothing(checkpoint: Path, tmp_path: Path) -> None:
    """A model with context translates as before."""
    retokenize_run(checkpoint, checkpoint, tmp_path / "same")
    texts = [TranslationRequest("ka sa ta"), TranslationRequest("na ma")]
    before, after = (Runtime.open(folder).translate(texts, Options()) for folder in (checkpoint, tmp_path / "same"))
    assert [each.text for each in after] == [each.text for each in before]


def test_training_goes_on_with_the_new_pieces(trained: Path, tmp_path: Path, make_run: MakeRun) -> None:
    """The checkpoint says how its tokenizer was made, so that a run with that tokenizer may start from it."""
    out = tmp_path / "retokenized"
    retokenize_run(trained, tmp_path / "more-pieces", out)
    made = load_checkpoint(out).config
    assert made.tokenizer.vocabulary == len(Tokenizer.load(out).target_pieces)
    goes_on = make_run(
        "on",
        training={"updates": 2, "init": str(out)},
        tokenizer=made.tokenizer.model_dump(mode="json"),
        backbone=made.backbone.model_dump(mode="json"),
    )
    assert load_checkpoint(train(load_config(goes_on))).vocabularies == load_checkpoint(out).vocabularies


def test_what_cannot_be_retokenized_is_refused(trained: Path, tmp_path: Path, make_run: MakeRun) -> None:
    """One vocabulary cannot take the place of two, nor two of one; and nothing is written over."""
    joint = load_checkpoint(trained).tokenizer.joint
    pieces = {"path": str(tmp_path / "other"), "vocabulary": 40, "byte_fallback": False, "joint": not joint}
    make_tokenizer(load_config(make_run("other", tokenizer=pieces, backbone=BACKBONE | {"embeddings": "separate"})))
    with pytest.raises(CheckpointError, match="one vocabulary" if not joint else "two vocabularies"):
        retokenize_run(trained, tmp_path / "other", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(CheckpointError, match="already exists"):
        retokenize_run(trained, tmp_path / "more-pieces", trained)
