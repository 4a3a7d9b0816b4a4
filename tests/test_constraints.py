import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires
from itertools import chain

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.servers import ROOT


def declared() -> list[str]:
    """All requirements in pyproject.toml, including optional ones."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]


def pinned() -> set[str]:
    """The distributions that constraints.txt pins to one version."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    return {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


def pulled_in(lines: Iterable[str], extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    """The distributions that these requirements need on this Python, and, as far as installed, what those need."""
    for requirement in map(Requirement, lines):
        found = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        marker = requirement.marker
        wanted = marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""})
        if not wanted or found in seen:
            continue
        seen.add(found)
        try:
            pulled_in(requires(found[0]) or [], found[1], seen)
        except PackageNotFoundError:
            continue
    return {name for name, _ in seen}


def test_every_version_is_pinned() -> None:
    """constraints.txt pins everything that Antecedent and its tools need, directly or indirectly."""
    everything = pulled_in(declared(), frozenset(), set())
    assert everything >= {"torch", "fastapi", "pytest", "starlette"}
    assert sorted(everything - pinned()) == []
