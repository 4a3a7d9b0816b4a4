"""A report in files: as JSON, and as a page of HTML that stands alone with verdicts, pictures and figures."""

from dataclasses import asdict
from pathlib import Path

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from loadtests.report.pictures import svg
from loadtests.report.report import Report
from models.data.whole import write_whole


def page(report: Report) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader("loadtests.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pictures = [svg(plot) for plot in report.plots if plot.lines]
    return environment.get_template("report.html.j2").render(report=report, pictures=pictures)


def write(report: Report, folder: Path) -> None:
    """Write a report as JSON and as a page, under the name of its command; each file is there whole or not.

    Raises:
        OSError: it cannot be written.
    """
    members = asdict(report) | {"holds": report.holds}
    write_whole(folder / f"{report.command}.json", [orjson.dumps(members, option=orjson.OPT_INDENT_2)])
    write_whole(folder / f"{report.command}.html", [page(report).encode()])
