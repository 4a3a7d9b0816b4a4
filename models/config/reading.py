"""Run files: YAML that may inherit from other YAML, key by key."""

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from models.config.run import RunConfig
from models.errors import ConfigError

_OF_TRUTH_VALUES: Final = "; without quotes, YAML reads no, off, on and yes as booleans"
"""What a Norwegian would like to know, whose language is `no`."""


def data_folder() -> Path:
    """The folder that corpus paths are relative to: `ANTECEDENT_DATA`, or `data`."""
    return Path(os.environ.get("ANTECEDENT_DATA", "data"))


def load_config(path: Path) -> RunConfig:
    """Read a run file with all that it inherits.

    Raises:
        ConfigError: the file is missing, is not YAML, or has a wrong value; names the key.
    """
    try:
        return RunConfig.model_validate(_read(path, ()))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "run"
        hint = _OF_TRUTH_VALUES if first["type"] == "string_type" and isinstance(first["input"], bool) else ""
        raise ConfigError(f"{path}: {where}: {first['msg']}{hint}") from None


class _UniqueKeys(yaml.SafeLoader):
    """YAML in which a key that is there twice is an error: the first one's values would be gone without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                where = node.value[number][0].start_mark
                raise yaml.constructor.ConstructorError(None, None, f"{key} occurs twice", where)
        return super().construct_mapping(node, deep)


def _read(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in seen:
        raise ConfigError(f"{path}: inherits from itself")
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)  # noqa: S506 - a SafeLoader
    except (OSError, ValueError, RecursionError) as error:  # a date that there is not, lists of lists of lists
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(_where(path, error)) from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must be a mapping of keys to values")
    parent = values.pop("inherit", None)
    if parent is None:
        return values
    return _merge(_read(path.parent / str(parent), (*seen, path.resolve())), values)


def _where(path: Path, error: yaml.YAMLError) -> str:
    """What is wrong with a file, and in which line, without the lines around it."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{path}:{error.problem_mark.line + 1}: is not YAML: {error.problem}"
    return f"{path}: is not YAML: {' '.join(str(error).split())}"


def _merge(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        inherited = merged.get(key)
        if isinstance(inherited, dict) and isinstance(value, dict) and not _is_another(key, inherited, value):
            merged[key] = _merge(inherited, value)
        else:
            merged[key] = value
    return merged


def _is_another(key: str, inherited: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether it is another architecture, which knows nothing of what the inherited one is made of."""
    return key == "architecture" and own.get("kind", inherited.get("kind")) != inherited.get("kind")
