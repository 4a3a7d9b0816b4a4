"""A report in files: as JSON, and as a page of HTML that stands alone with verdicts, pictures and figures."""

from dataclasses import asdict
from pathlib import Path

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from loadtests.pictures import svg
from loadtests.report import Report


def page(report: Report) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader("loadtests", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pictures = [svg(plot) for plot in report.plots if plot.lines]
    return environment.get_template("report.html.j2").render(report=report, pictures=pictures)


def write(report: Report, folder: Path) -> None:
    """Write a report as JSON and as a page, under the name of its command.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    members = asdict(report) | {"holds": report.holds}
    (folder / f"{report.command}.json").write_bytes(orjson.dumps(members, option=orjson.OPT_INDENT_2))
    (folder / f"{report.command}.html").write_text(page(report), encoding="utf-8")
