"""The documentation names the tests, modules and figures that really exist, and its links work."""

import ast
import itertools
import json
import re
from pathlib import Path

import pytest

from tests.support.servers import ROOT

_SECTION = re.compile(r"^## What an outage means to a client$(.*?)^A client of a session", re.MULTILINE | re.DOTALL)
_FILES_OF_OUTAGES = ("stack/test_outages.py", "stack/test_redis_cluster.py", "stack/test_redis_sentinel.py")
_IN_NO_ROW = {
    "test_session_outlives_the_service",
    "test_files_on_many_slots",
    "test_sessions_on_many_slots",
    "test_scripts_are_loaded_again",
}


def _tests_of_outages() -> list[str]:
    """The last column of the tables in docs/operations.md, without their heads; a row may name several tests."""
    (section,) = _SECTION.findall((ROOT / "docs" / "operations.md").read_text())
    cells = re.findall(r"^\| .* \| (.*) \|$(?!\n\|-)", section, re.MULTILINE)
    return [test.strip("`") for cell in cells for test in cell.split(", ")]


def _tests_of(file: str) -> set[str]:
    body = ast.parse((ROOT / "tests" / file).read_text()).body
    functions = (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


@pytest.mark.parametrize("test", _tests_of_outages())
def test_each_outage_has_its_test(test: str) -> None:
    """Every row of the table of outages names an existing test."""
    file, _, name = test.partition("::")
    assert name in _tests_of(file)


@pytest.mark.parametrize("file", _FILES_OF_OUTAGES)
def test_each_test_of_an_outage_has_its_row(file: str) -> None:
    """Every outage that is tested is documented for operators, but for the tests in `_IN_NO_ROW`."""
    named = {test.partition("::")[2] for test in _tests_of_outages()}
    assert _tests_of(file) - _IN_NO_ROW <= named


def _named_in_tree(package: str) -> set[str]:
    """The modules of a package that docs/modules.md names; further files on a line are in the first one's folder."""
    tree = re.search(rf"^{package}/ .*\n((?:  .*\n)+)", (ROOT / "docs" / "modules.md").read_text(), re.MULTILINE)
    assert tree is not None
    found = set()
    for line in tree[1].splitlines():
        names = list(itertools.takewhile(lambda word: word.endswith((".py", "/")), line.split()))
        folder, _, first = names[0].rpartition("/") if names and names[0].endswith(".py") else ("", "", "")
        found |= {f"{folder}/{name}".lstrip("/") for name in [first, *names[1:]] if name.endswith(".py")}
    return found


@pytest.mark.parametrize("package", ["models", "service", "loadtests"])
def test_every_module_is_listed(package: str) -> None:
    """docs/modules.md names exactly the modules of a package."""
    folder = ROOT / package
    modules = {file.relative_to(folder).as_posix() for file in folder.rglob("*.py") if file.name != "__init__.py"}
    assert _named_in_tree(package) == modules


def _row(page: str, first: str) -> list[str]:
    """The other cells of the first row that begins with `first`, without bold type, percent signs and parentheses."""
    row = re.search(rf"^\| (?:\*\*)?{re.escape(first)}.*\|$", (ROOT / page).read_text(), re.MULTILINE)
    assert row is not None
    return [re.sub(r"\*\*| %| \(.*\)", "", cell.strip()) for cell in row[0].strip("|").split("|")[1:]]


def test_figures_of_the_readme_were_measured() -> None:
    """The README repeats figures from docs/experiments.md and from the manifest of the shipped model."""
    measured = [_row("docs/experiments.md", name) for name in ("mean, real (shipped)", "mean, empty", "fair reference")]
    assert _row("README.md", "BLEU") == [row[1] for row in measured]
    assert _row("README.md", "pronouns that are right, macro") == [row[5] for row in measured]
    card = json.loads((ROOT / "models/pretrained/ja-en/manifest.json").read_text())["scores"].values()
    assert {float(row[1]) for row in measured[::2]} | {float(row[5]) for row in measured[::2]} < {
        figure if figure > 1 else round(100 * figure, 1) for figure in card
    }


def test_speeds_of_the_readme_were_measured() -> None:
    """The README repeats the benchmark's speeds in batches of 32, with the context encoded anew each time."""
    for name, row in (("greedily", "greedy, 32"), ("beam 4", "beam 4, 32")):
        sample, _, _, dev_set, *_ = _row("docs/experiments.md", row)
        assert _row("README.md", name) == [sample, dev_set]


PAGES = [page for page in ROOT.rglob("*.md") if not {".venv", "reports", "runs"} & set(page.relative_to(ROOT).parts)]


def _prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link leads to an existing file, and each anchor to one of its headings."""
    for link in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        address, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / address if address else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link
