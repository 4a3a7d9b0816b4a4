"""Every value that a run file may have, as a page in Markdown."""

from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from models.config.run import RunConfig
from models.config.section import Frozen

_BOUNDS: Final = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
_KINDS: Final = {bool: "yes or no", int: "whole number", float: "number", str: "text"}


def page() -> str:
    """A table for each section, of values, what they may be, their defaults and what they mean."""
    return "\n\n".join(["# Values of a run", _INTRODUCTION, *_sections("", RunConfig, "")]) + "\n"


_INTRODUCTION: Final = """\
A run is a YAML file, which is checked before anything begins: an unknown key or an invalid value is an error that names
the key. `inherit` names another file, relative to this one; its values apply wherever this file has none of its own;
of its architecture they do so only if this one is of the same kind.
The data folder is the one that `ANTECEDENT_DATA` names, or else `data` in the working directory.
`python -m models values` prints this page. [training.md](training.md) explains how the values are used."""


def _sections(path: str, section: type[Frozen], what: str) -> Iterator[str]:
    """A section's heading, what it is, and its table; and those of the sections within it."""
    simple = {name: field for name, field in section.model_fields.items() if not _within(field.annotation)}
    if path:
        yield f"## `{path}`"
        yield " ".join(f"{what} {section.__doc__}".split())
    if simple:
        yield "\n".join(_table(simple))
    for name, field in section.model_fields.items():
        inner = _within(field.annotation)
        for one in inner:
            kind = one.model_fields["kind"].default if len(inner) > 1 else None
            yield from _sections(
                f"{path}.{name}".lstrip(".") + (f": {kind}" if kind else ""), one, field.description or ""
            )


def _within(annotation: Any) -> Sequence[type[Frozen]]:  # noqa: ANN401 - any type may stand there
    """The sections that a value may be; none if it is no section."""
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        return [annotation]
    return [one for argument in get_args(annotation) for one in _within(argument)]


def _table(fields: dict[str, FieldInfo]) -> Iterator[str]:
    yield "| value | may be | default | meaning |"
    yield "|---|---|---|---|"
    for name, field in fields.items():
        default = "" if field.is_required() else f"`{_written(field.default)}`"
        yield f"| `{name}` | {_allowed(field)} | {default} | {' '.join((field.description or '').split())} |"


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
