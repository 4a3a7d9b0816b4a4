"""A report as files: JSON, and a self-contained HTML page with verdicts, pictures and figures."""

from dataclasses import asdict
from pathlib import Path

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from loadtests.report.pictures import svg
from loadtests.report.report import Report
from models.data.whole import write_whole


def page(report: Report) -> str:
    """Return the HTML page of a report."""
    environment = Environment(
        loader=PackageLoader("loadtests.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pictures = [svg(plot) for plot in report.plots if plot.lines]
    return environment.get_template("report.html.j2").render(report=report, pictures=pictures)


def write(report: Report, folder: Path) -> None:
    """Write a report as JSON and as a page, named after its command; each file is written whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    members = asdict(report) | {"holds": report.holds}
    write_whole(folder / f"{report.command}.json", [orjson.dumps(members, option=orjson.OPT_INDENT_2)])
    write_whole(folder / f"{report.command}.html", [page(report).encode()])
