"""The command `plot`: files, or exit status 2 and one clear line."""

import json
from pathlib import Path

import pytest

from models.__main__ import main
from models.config import ConcatenationConfig
from tests.support.bundles import documents, make_bundle, make_checkpoint


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two documents."""
    file = tmp_path / "source"
    file.write_text("\n".join("".join(f"{s.source}\n" for s in d.sentences) for d in documents(2)), encoding="utf-8")
    return file


@pytest.fixture
def plot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Plot":
    """`python -m models plot` in this process."""
    return Plot(monkeypatch, capsys)


class Plot:
    """Runs the command."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit status, output and errors."""
        self.monkeypatch.setattr("sys.argv", ["models", "plot", *map(str, arguments)])
        try:
            status: int | str | None = main()
        except SystemExit as end:
            status = end.code
        assert status is None or isinstance(status, int)
        return status or 0, *self.capsys.readouterr()


def test_model_is_drawn_on_a_document(plot: Plot, source: Path, tmp_path: Path) -> None:
    """A checkpoint and a document give attention and gates; the figures go where --json says."""
    model, out = make_checkpoint(tmp_path / "model"), tmp_path / "out"
    status, output, errors = plot(model, "--in", source, "--document", "2", "--out", out, "--json", tmp_path / "json")
    assert (status, errors) == (0, "")
    assert output.split() == [str(out / f"{name}.{kind}") for name in ("attention", "gates") for kind in ("png", "svg")]
    figures = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert [each["part"] for each in figures["attention"]] == ["encoder", "decoder"]
    assert len(figures["attention"][0]["shares"]) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing",), "missing"),
        (("model", "--picture", "attention"), "give a file with --in"),
        (("model", "--picture", "layer-weights"), "no learned weights"),
        (("model", "--in", "source", "--document", "3"), "has only 2 documents"),
        (("model", "--picture", "portrait"), "portrait"),
        (("model", "--reference", "source"), "--reference and --document need --in"),
        (("model", "--document", "2"), "--reference and --document need --in"),
        (("source", "--picture", "context-sizes"), "is not a file that evaluate or contrast wrote"),
    ],
)
def test_wrong_input_is_status_2(
    plot: Plot, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    """What cannot be drawn is said in one line."""
    make_checkpoint(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    status, output, errors = plot(*arguments, "--out", "out")
    assert (status, output) == (2, "")
    assert message in errors
    assert not Path("out").exists()


def test_plain_transformer_has_nothing_to_look_into(plot: Plot, source: Path, tmp_path: Path) -> None:
    """For a bundle that is a single CTranslate2 model, the error says so."""
    bundle = make_bundle(tmp_path / "bundle", ConcatenationConfig(), quantization="float32", max_length=96)
    status, _, errors = plot(bundle, "--in", source, "--out", tmp_path / "out", "--picture", "gates")
    assert status == 2
    assert "(concatenation) is a plain Transformer in CTranslate2" in errors
