"""Names are drawn as they are, even if matplotlib would interpret them; numbers and lines stay readable."""

import json
import warnings
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from models.plotting import style
from models.plotting.context_sizes import Series
from models.plotting.curves import Curve
from models.plotting.drawing import draw_curves, draw_series
from models.plotting.pictures import Material, draw
from models.plotting.style import legend, panels, save, scale_logarithmically, styled
from tests.support.full_disk import no_file_larger_than


def names_in_legend(figure: Figure) -> list[str]:
    """The names in the figure's only legend."""
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_every_name_is_in_the_legend() -> None:
    """Each name is there once, in order, even one that begins with an underscore."""
    names = ["_old", "b", "__a"]
    curves = [Curve(name, figure, [1, 2], [3.0, 2.0]) for figure in ("train/loss", "dev/loss") for name in names]
    series = [Series(name, figure, [0, 1], [0.5, 0.6]) for figure in ("bleu", "accuracy") for name in names]
    with styled():
        assert names_in_legend(draw_curves(curves)) == names
        assert names_in_legend(draw_series(series)) == names


@pytest.mark.parametrize(
    ("values", "expected"),
    [([210.0, 830.0], {"200", "300", "400", "600"}), ([30.0, 25_000.0], {"100", "1000", "10000"})],
)
def test_logarithmic_axis_has_numbers(values: list[float], expected: set[str]) -> None:
    """They are not formulas, which would be shown in source form; they exist even between two powers of ten."""
    with styled():
        figure, (panel,) = panels(1, 5, 4)
        panel.plot(values)
        scale_logarithmically(panel)
        figure.draw_without_rendering()
        low, high = panel.get_ylim()
        ticks = [*panel.yaxis.get_major_ticks(), *panel.yaxis.get_minor_ticks()]
        seen = {tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high}
    assert seen - {""} == expected


@pytest.mark.parametrize("points", [2, 60])
def test_no_two_of_many_look_alike(points: int) -> None:
    """With more runs than colours, lines differ in their markers, however many points they have."""
    updates = list(range(points))
    curves = [Curve(f"run {number}", "dev/loss", updates, [1.0] * points) for number in range(20)]
    with styled():
        (panel,) = draw_curves(curves).axes
    drawn = {(line.get_color(), line.get_marker()) for line in panel.get_lines()}
    assert len(drawn) == len(curves)


def test_objective_is_not_drawn_as_a_loss() -> None:
    """The training objective has its own panel, whose title says what else is in it."""
    with styled():
        figure = draw_curves([Curve("run", name, [1, 2], [3.0, 2.0]) for name in ("train/loss", "dev/loss")])
    titles = [panel.get_title() for panel in figure.axes]
    assert titles == ["training objective\nwith label smoothing and dropout", "dev loss"]


def test_dollar_is_a_dollar(tmp_path: Path) -> None:
    """Text between two dollars is no formula."""
    figures = {"model": "price$^$.en", "context": "real", "context_sentences": 1, "bleu": 20.0}
    (tmp_path / "json").write_text(json.dumps(figures), encoding="utf-8")
    assert len(draw(Material(files=[tmp_path / "json"]), tmp_path).files) == 2


def test_pictures_stay_where_the_new_ones_have_no_room(tmp_path: Path) -> None:
    """No half-written file is left."""
    with styled():
        figure = draw_curves([Curve("run", "dev/loss", [1, 2], [3.0, 2.0])])
        files = save(figure, tmp_path, "curves")
        before = [file.read_bytes() for file in files]
        with no_file_larger_than(1000), pytest.raises(OSError, match=r"File too large: .*curves"):
            save(figure, tmp_path, "curves")
    assert sorted(tmp_path.iterdir()) == files
    assert [file.read_bytes() for file in files] == before


def test_characters_that_no_font_has_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line names them for all pictures together."""
    lonely = "\U0001fbf0\U0001f8ff"
    with styled():
        for name in ("one", "two"):
            save(draw_curves([Curve(f"{lonely} {name}", "dev/loss", [1], [1.0])]), tmp_path, name)
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert f"no font on this machine has {''.join(sorted(lonely))}, so boxes are drawn" in printed.err


def test_other_warnings_are_still_given() -> None:
    """Only warnings about fonts are suppressed."""
    with pytest.warns(UserWarning, match="something else"), styled():
        warnings.warn("something else", stacklevel=1)


def test_east_asian_fonts_are_asked_where_they_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come after matplotlib's own; a missing font is not asked for, as each would cause a warning."""
    assert style._families()[0] == "DejaVu Sans"
    fonts = [font for font in style.fontManager.ttflist if font.name == "DejaVu Sans"][:1]
    monkeypatch.setattr(style.fontManager, "ttflist", fonts)
    assert style._families() == ["DejaVu Sans"]
    for name in ("IPAGothic", "Noto Sans CJK JP"):
        fonts.append(type(fonts[0])(name=name))
    assert style._families() == ["DejaVu Sans", "Noto Sans CJK JP", "IPAGothic"]


def test_a_legend_is_no_wider_than_its_figure() -> None:
    """Long names are in fewer columns, so that none is cut off."""
    with styled():
        figure, (panel,) = panels(1, 6.0, 3.0)
        legend(figure, {f"a name that is rather long, number {n}": panel.plot([0, n])[0] for n in range(6)})
        figure.draw_without_rendering()
    (shown,) = figure.legends
    assert figure.bbox.x0 <= shown.get_window_extent().x0
    assert shown.get_window_extent().x1 <= figure.bbox.x1


def test_a_long_legend_leaves_the_panels_their_room() -> None:
    """Three kinds of context of eight systems are as many names as fill a picture."""
    names = [f"doc_transformer_{n}, shuffled context" for n in range(22)]
    heights = []
    with styled():
        for some in (names[:1], names):
            figure = draw_series([Series(name, "bleu", [0, 5], [20.0, 21.0]) for name in some])
            figure.draw_without_rendering()
            heights.append(figure.axes[0].get_window_extent().height)
    assert heights[1] == pytest.approx(heights[0], rel=0.05)
