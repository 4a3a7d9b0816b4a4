import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


def pinned() -> set[str]:
    """The names that constraints.txt pins to one version."""
    return {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", CONSTRAINTS.read_text(), re.MULTILINE)}


def needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    """The distribution and all that it pulls in on this Python, as far as it is installed."""
    if (name, extras) in seen:
        return set()
    seen.add((name, extras))
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return {name}
    found = {name}
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            found |= needed(canonicalize_name(requirement.name), frozenset(requirement.extras), seen)
    return found


def test_every_version_is_pinned() -> None:
    """Whatever Antecedent and its tools pull in, also indirectly, has one version in constraints.txt."""
    everything = needed("antecedent", frozenset({"dev"}), set()) - {"antecedent"}
    assert everything >= {"torch", "fastapi", "pytest", "starlette"}
    assert sorted(everything - pinned()) == []
