from models.benchmark.interleaved import Row
from models.plotting.speeds import draw_speeds
from models.plotting.style import styled

ROW = Row("doc_transformer", "sentence", "cpu", "int8", 2, 1, 8, 520.0, 500.0, 540.0, 10.0, 1.0, None, 5)


def test_speeds_can_be_read_where_all_are_alike() -> None:
    """The axis has numbers even between two powers of ten; batch sizes are those that were measured."""
    with styled():
        figure = draw_speeds([ROW])
        figure.draw_without_rendering()
    (panel,) = figure.axes
    assert "500" in [text.get_text() for text in panel.get_yticklabels(which="both")]
    assert [text.get_text() for text in panel.get_xticklabels()] == ["8"]
