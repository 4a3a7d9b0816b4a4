"""What each picture is drawn from: models, runs, or figures in JSON."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from models.data.documents import Document
from models.engine.runtime import Runtime
from models.errors import PictureError
from models.evaluation.results import read_results
from models.plotting.attention import sentence_attention
from models.plotting.context_kinds import outcomes_of
from models.plotting.context_sizes import series_of
from models.plotting.curves import is_run, read_curves
from models.plotting.drawing import draw_attention, draw_curves, draw_gates, draw_kinds, draw_layer_weights, draw_series
from models.plotting.gates import gate_values
from models.plotting.kinds import Picture
from models.plotting.layer_weights import layer_weights
from models.plotting.passage import name_of
from models.plotting.style import save, styled


@dataclass(frozen=True, slots=True)
class Material:
    """What pictures are drawn from."""

    runtime: Runtime | None = None
    document: Document | None = None
    """The document that the model reads while it is observed."""
    runs: Sequence[Path] = ()
    files: Sequence[Path] = ()
    """JSON files of `evaluate` and `contrast`."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The pictures that were drawn."""

    files: list[Path] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    """The data behind each picture, by its name."""


def sort_paths(paths: Sequence[Path], open_model: Callable[[Path], Runtime], document: Document | None) -> Material:
    """Sort paths into files of figures, folders of runs, and at most one bundle or checkpoint.

    Raises:
        PictureError: there are two models.
        BundleError: a folder is neither a run nor a model.
    """
    files = [path for path in paths if path.is_file()]
    runs = [path for path in paths if is_run(path)]
    models = [path for path in paths if path not in files and path not in runs]
    if len(models) > 1:
        raise PictureError(f"{models[0]} and {models[1]} are both models, but only one can be drawn at a time")
    return Material(open_model(models[0]) if models else None, document, runs, files)


def draw(material: Material, folder: Path, wanted: Sequence[Picture] = ()) -> Drawn:
    """Draw the wanted pictures, or all that the material allows, as PNG and SVG.

    Raises:
        PictureError: a wanted picture cannot be drawn from the material, or no picture can.
        DataError: the document cannot be read by the model.
        OSError: a file cannot be written.
    """
    drawn = Drawn()
    reasons = []
    with styled():
        for picture in wanted or Picture:
            try:
                figure, drawn.figures[picture] = _picture(picture, material)
            except PictureError as error:
                if wanted:
                    raise
                reasons.append(str(error))
                continue
            drawn.files.extend(save(figure, folder, picture))
    if not drawn.files:
        raise PictureError("there is nothing to draw: " + "; ".join(reasons))
    return drawn


def _picture(picture: Picture, material: Material) -> tuple[Figure, Any]:
    if picture is Picture.CURVES:
        if not material.runs:
            raise PictureError("curves need the folder of a run")
        curves = read_curves(material.runs)
        return draw_curves(curves), [asdict(curve) for curve in curves]
    if picture in (Picture.CONTEXT_SIZES, Picture.CONTEXT_KINDS):
        return _of_files(picture, material.files)
    if material.runtime is None:
        raise PictureError(f"{picture} needs a bundle or a checkpoint")
    return _of_model(picture, material.runtime, material.document)


def _of_files(picture: Picture, files: Sequence[Path]) -> tuple[Figure, Any]:
    if not files:
        raise PictureError(f"{picture} needs JSON files of evaluate or contrast")
    results = read_results(files)
    if picture is Picture.CONTEXT_KINDS:
        outcomes = outcomes_of(results)
        return draw_kinds(outcomes), [asdict(each) for each in outcomes]
    series = series_of(results)
    return draw_series(series), [asdict(each) for each in series]


def _of_model(picture: Picture, runtime: Runtime, document: Document | None) -> tuple[Figure, Any]:
    title = name_of(runtime)
    if picture is Picture.LAYER_WEIGHTS:
        weights = layer_weights(runtime)
        return draw_layer_weights(weights, title), weights
    if document is None:
        raise PictureError(f"{picture} needs a document: give a file with --in")
    title = f"{title}\n{document.name}"
    if picture is Picture.GATES:
        gates = gate_values(runtime, document)
        return draw_gates(gates, title), [asdict(gate) for gate in gates]
    maps = sentence_attention(runtime, document)
    return draw_attention(maps, title), [asdict(each) for each in maps]
