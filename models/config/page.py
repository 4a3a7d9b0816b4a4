"""Every value that a run file may have, as a page in Markdown."""

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from models.config.run import RunConfig
from models.config.section import Frozen

_BOUNDS: Final = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
_KINDS: Final = {bool: "yes or no", int: "whole number", float: "number", str: "text"}


def page() -> str:
    """A table for each section, of values, what they may be, their defaults and what they mean."""
    return "\n\n".join(["# Values of a run", _INTRODUCTION, *_sections("", RunConfig, "")]) + "\n"


def meanings(section: type[BaseModel]) -> Mapping[str, str]:
    """What a section says of each of its values, in the docstrings below them.

    They are read when somebody asks: looked for by pydantic at every start, they took a twentieth of the service's.
    """
    (source,) = ast.parse(inspect.getsource(section)).body
    return dict(_described(source.body)) if isinstance(source, ast.ClassDef) else {}


def _described(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, below in pairwise(statements):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, " ".join(text.split())


_INTRODUCTION: Final = """\
A run is a YAML file, which is checked before anything begins: an unknown key or an invalid value is an error that names
the key. `inherit` names another file, relative to this one; its values apply wherever this file has none of its own.
The values of its architecture apply only if this file's architecture is of the same kind.
The data folder is the one that `ANTECEDENT_DATA` names, or else `data` in the working directory.
`python -m models values` prints this page. [training.md](training.md) explains how the values are used."""


def _sections(path: str, section: type[Frozen], what: str) -> Iterator[str]:
    """A section's heading, what it is, and its table; and those of the sections within it."""
    meaning = meanings(section)
    simple = {name: field for name, field in section.model_fields.items() if not _within(field.annotation)}
    if path:
        yield f"## `{path}`"
        yield " ".join(f"{what} {section.__doc__}".split())
    if simple:
        yield "\n".join(_table(simple, meaning))
    for name, field in section.model_fields.items():
        inner = _within(field.annotation)
        for one in inner:
            kind = one.model_fields["kind"].default if len(inner) > 1 else None
            yield from _sections(
                f"{path}.{name}".lstrip(".") + (f": {kind}" if kind else ""), one, meaning.get(name, "")
            )


def _within(annotation: Any) -> Sequence[type[Frozen]]:  # noqa: ANN401 - any type may stand there
    """The sections that a value may be; none if it is no section."""
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        return [annotation]
    return [one for argument in get_args(annotation) for one in _within(argument)]


def _table(fields: dict[str, FieldInfo], meaning: Mapping[str, str]) -> Iterator[str]:
    yield "| value | may be | default | meaning |"
    yield "|---|---|---|---|"
    for name, field in fields.items():
        default = "" if field.is_required() else f"`{_written(field.default)}`"
        yield f"| `{name}` | {_allowed(field)} | {default} | {meaning.get(name, '')} |"


def _allowed(field: FieldInfo) -> str:
    bounds = [
        text.format(f"{bound:g}")
        for part in field.metadata
        for name, text in _BOUNDS.items()
        if (bound := getattr(part, name, None)) is not None
    ]
    return ", ".join([_kind(field.annotation), *bounds])


def _kind(annotation: Any) -> str:  # noqa: ANN401 - any type may stand there
    """What a type is to whoever writes YAML."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{_written(one)}`" for one in arguments)
    if origin in {Union, UnionType}:
        return " or ".join("`null`" if one is NoneType else _kind(one) for one in arguments)
    if origin is tuple:
        return f"{len(arguments)} numbers"
    return _KINDS.get(annotation, "path")


def _written(value: object) -> str:
    """A value as YAML has it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return str(value) or '""'
