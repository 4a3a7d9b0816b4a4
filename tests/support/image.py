"""Reads the Dockerfile and the compose files as plain data."""

import functools
import json
import re
import tomllib
from typing import Any, NamedTuple

import yaml

from tests.support.servers import ROOT


class Instruction(NamedTuple):
    """An instruction of a Dockerfile, joined onto one line."""

    name: str
    value: str


def stages() -> dict[str, list[Instruction]]:
    """The instructions of each stage of the Dockerfile, FROM included; those before the first stage are under ""."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", "")
    found: dict[str, list[Instruction]] = {"": []}
    name = ""
    for line in filter(None, text.splitlines()):
        instruction = Instruction(*line.split(maxsplit=1))
        if instruction.name == "FROM":
            name = instruction.value.rpartition(" AS ")[2]
            found[name] = []
        found[name].append(instruction)
    return found


def last_stage() -> list[Instruction]:
    """The stage that becomes the image: the one that is built when none is named."""
    return list(stages().values())[-1]


def value(name: str) -> str:
    """The value of the only instruction of that name in the last stage."""
    (found,) = [instruction.value for instruction in last_stage() if instruction.name == name]
    return found


def environment() -> dict[str, str]:
    """The variables that the image sets."""
    return dict(part.split("=", 1) for part in value("ENV").split())


def health_check() -> list[str]:
    """The command of the image's health check."""
    command: list[str] = json.loads(value("HEALTHCHECK").partition(" CMD ")[2])
    return command


@functools.cache
def compose(file: str = "docker-compose.yml") -> dict[str, Any]:
    """A compose file."""
    content: dict[str, Any] = yaml.safe_load((ROOT / file).read_text())
    return content


def services() -> dict[str, dict[str, Any]]:
    """The services of docker-compose.yml."""
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def release() -> str:
    """The version of this project."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return version
