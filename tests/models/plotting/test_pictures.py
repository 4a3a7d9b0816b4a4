"""Pictures as files: what is drawn from what, as PNG and SVG."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from models.config import DocTransformerConfig, LayerWeightingConfig
from models.data.documents import Document
from models.engine.runtime import Runtime
from models.errors import PictureError
from models.plotting.kinds import Picture
from models.plotting.pictures import Material, draw, sort_paths
from models.training.curves import Curves

OpenModel = Callable[..., Runtime]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with two points."""
    curves = Curves(tmp_path / "run" / "curves")
    with curves.progress(2, 0):
        for update, value in ((1, 4.0), (2, 3.0)):
            curves.add({"loss": value}, "train", update)
            curves.add({"loss": value, "bleu": value, "contrastive": 0.5}, "dev", update)
    return tmp_path / "run"


@pytest.fixture
def scores(tmp_path: Path) -> list[Path]:
    """JSON files of two systems: one with two kinds of context, and one that reads none."""
    files = []
    for number, (model, kind, size) in enumerate((("a", "empty", 0), ("a", "real", 2), ("b", "real", 0))):
        files.append(tmp_path / f"{number}.json")
        figures = {"model": model, "context": kind, "context_sentences": size, "bleu": 20.0 + number, "macro": 0.5}
        files[-1].write_text(json.dumps(figures), encoding="utf-8")
    return files


def check_files(files: list[Path]) -> None:
    """Check that every file is an image of its kind, and not empty."""
    for file in files:
        if file.suffix == ".png":
            with Image.open(file) as image:
                image.verify()
                assert min(image.size) > 300
        else:
            root = ET.parse(file).getroot()
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert root.find(".//{http://www.w3.org/2000/svg}path") is not None


def test_everything_is_drawn_of_its_material(
    open_model: OpenModel, document: Document, run: Path, scores: list[Path], tmp_path: Path
) -> None:
    """A model, a run and figures give all pictures, as PNG and SVG, with the data behind them."""
    material = Material(open_model(LayerWeightingConfig(target_weighting=True)), document, [run], scores)
    drawn = draw(material, tmp_path / "out")
    assert list(drawn.figures) == list(Picture)
    assert sorted(file.name for file in drawn.files) == sorted(
        f"{p}.{kind}" for p in Picture for kind in ("png", "svg")
    )
    assert {file.name for file in (tmp_path / "out").iterdir()} == {file.name for file in drawn.files}
    check_files(drawn.files)
    json.dumps(drawn.figures)


def test_same_data_give_the_same_bytes(open_model: OpenModel, document: Document, tmp_path: Path) -> None:
    """Pictures contain no dates and no random names."""
    material = Material(open_model(DocTransformerConfig()), document)
    first, second = (draw(material, tmp_path / name).files for name in ("first", "second"))
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_only_what_there_is(open_model: OpenModel, document: Document, tmp_path: Path) -> None:
    """If no pictures are named, those that a model cannot have are left out."""
    material = Material(open_model(DocTransformerConfig(gating=False)), document)
    assert [file.name for file in draw(material, tmp_path / "out").files] == ["attention.png", "attention.svg"]


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (Picture.CURVES, "need the folder of a run"),
        (Picture.CONTEXT_SIZES, "needs JSON files"),
        (Picture.CONTEXT_KINDS, "needs JSON files"),
        (Picture.ATTENTION, "give a file with --in"),
        (Picture.GATES, "give a file with --in"),
        (Picture.LAYER_WEIGHTS, "no learned weights"),
    ],
)
def test_what_is_asked_for_must_be_there(open_model: OpenModel, tmp_path: Path, picture: Picture, message: str) -> None:
    """If a named picture cannot be drawn, the error says what it needs."""
    with pytest.raises(PictureError, match=message):
        draw(Material(open_model(DocTransformerConfig())), tmp_path, [picture])


def test_nothing_to_draw(tmp_path: Path) -> None:
    """Without any material, the error says what each picture needs."""
    with pytest.raises(PictureError, match=r"nothing to draw: .*attention needs a bundle or a checkpoint"):
        draw(Material(), tmp_path)


def test_paths_are_told_apart(open_model: OpenModel, run: Path, scores: list[Path], tmp_path: Path) -> None:
    """Files are figures, a folder with curves is a run, any other folder a model, of which only one is drawn."""
    runtime = open_model(DocTransformerConfig())
    found = sort_paths([run, *scores, tmp_path / "model"], lambda _: runtime, None)
    assert found == Material(runtime, None, [run], scores)
    with pytest.raises(PictureError, match="only one can be drawn at a time"):
        sort_paths([tmp_path / "model", tmp_path / "other"], lambda _: runtime, None)
