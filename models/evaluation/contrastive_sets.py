"""Sets of contrastive items, in three formats.

- JSON lines, one item each: the pronoun sets of this project;
- a JSON list of passages of four sentences joined by ` _eos `: Voita et al. 2019;
- a folder with `*.text.*`, `*.context.*` and `sentence_groups.txt`: ContraPro, Müller et al. 2018.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from models.data.documents import read_lines
from models.errors import DataError

SEPARATOR = " _eos "
GROUPS = "sentence_groups.txt"
_WORD = re.compile(r"\w+")
_PRONOUNS = frozenset({"er", "sie", "es"})
"""ContraPro's classes: the German translations of English `it`."""

Translations = tuple[str, ...]
"""The translations of a passage, one for each sentence."""


@dataclass(frozen=True, slots=True)
class ContrastiveItem:
    """A passage with its right translation and wrong ones; its last sentence is the one in question."""

    document: str
    label: str
    """The class of the item: the right pronoun, or the name of its set."""
    sources: tuple[str, ...]
    right: Translations
    wrong: tuple[Translations, ...]
    distance: str | None = None
    """How many sentences back the deciding information lies, if the set says so."""


def read_contrastive(path: Path) -> list[ContrastiveItem]:
    """Read a set in any of the formats.

    Wrong variants that equal the right translation, or each other, are left out.

    Raises:
        DataError: the set is missing or has no items; or an item is malformed, has no wrong variant, or has an empty
            sentence in question or an empty translation of it.
    """
    if path.is_dir():
        items = _read_contrapro(path)
    else:
        lines = read_lines(path)
        passages = bool(lines) and lines[0].lstrip().startswith(b"[")
        items = _read_voita(path, b"\n".join(lines)) if passages else _read_lines(path, lines)
    if not items:
        raise DataError("has no items", path)
    return items


class _Line(BaseModel):
    document: str
    position: int = Field(ge=0)
    pronoun: str
    context_source: list[str]
    context_target: list[str]
    source: str
    target: str
    contrastive: list[str]


def _read_lines(path: Path, lines: Sequence[bytes]) -> list[ContrastiveItem]:
    return [_of_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _of_line(path: Path, number: int, line: bytes) -> ContrastiveItem:
    try:
        fields = _Line.model_validate_json(line)
    except ValidationError as error:
        raise DataError(f"is not a contrastive item: {_first(error)}", path, number) from None
    if len(fields.context_source) != len(fields.context_target):
        raise DataError("has contexts of different lengths in source and target", path, number)
    before = tuple(fields.context_target)
    variants = [(*before, text) for text in (fields.target, *fields.contrastive)]
    sources = (*fields.context_source, fields.source)
    return _item(path, number, fields.document, fields.pronoun, sources, variants, None)


class _Passage(BaseModel):
    src: str
    dst: list[str]
    true_ind: int = Field(ge=0)
    ctx_dist: int | None = None


_PASSAGES = TypeAdapter(list[_Passage])


def _read_voita(path: Path, text: bytes) -> list[ContrastiveItem]:
    try:
        passages = _PASSAGES.validate_python(json.loads(text))
    except ValidationError as error:
        raise DataError(f"is not a list of passages: {_first(error)}", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON: {error}", path) from None
    return [_of_passage(path, number, passage) for number, passage in enumerate(passages, 1)]


def _of_passage(path: Path, number: int, passage: _Passage) -> ContrastiveItem:
    sources = tuple(passage.src.split(SEPARATOR))
    variants = [tuple(text.split(SEPARATOR)) for text in passage.dst]
    if passage.true_ind >= len(variants):
        raise DataError(f"item {number} has {len(variants)} variants, but no variant {passage.true_ind}", path)
    if any(len(variant) != len(sources) for variant in variants):
        raise DataError(f"item {number} has a variant whose number of sentences differs from that of its source", path)
    variants.insert(0, variants.pop(passage.true_ind))
    distance = None if passage.ctx_dist is None else str(passage.ctx_dist)
    return _item(path, number, f"{path.name}:{number}", path.name.split(".")[0], sources, variants, distance)


def _read_contrapro(folder: Path) -> list[ContrastiveItem]:
    """Read groups of lines, of which the first is right; a group's class is the word in which its variants differ."""
    numbers = [line for line in _texts(folder / GROUPS) if line]
    if not all(number.isdecimal() for number in numbers):
        raise DataError("must have a line number on each line", folder / GROUPS)
    source_text, target_text = _pair(folder, "text")
    source_context, target_context = _pair(folder, "context")
    lengths = {len(side) for side in (source_text, target_text, source_context, target_context)}
    if len(lengths) > 1:
        raise DataError("its text and context files have different numbers of lines", folder)
    if beyond := [number for number in numbers if int(number) > len(source_text)]:  # published sets list the end, too
        raise DataError(
            f"names line {beyond[0]} (from 0), but the text has only {len(source_text)} lines", folder / GROUPS
        )
    bounds = sorted({*map(int, numbers), len(source_text)})
    items = []
    for first, end in pairwise(bounds):
        context, before = ((side[first],) if source_context[first] else () for side in (source_context, target_context))
        variants = [(*before, target_text[line]) for line in range(first, end)]
        label = _exchanged(target_text[first], target_text[min(first + 1, end - 1)])
        items.append(
            _item(
                folder, first + 1, f"{folder.name}:{first + 1}", label, (*context, source_text[first]), variants, None
            )
        )
    return items


def _pair(folder: Path, kind: str) -> tuple[list[str], list[str]]:
    """Read source and target side, in the order of the two languages with which the folder's name ends."""
    found = sorted(folder.glob(f"*.{kind}.*"))
    by_language = {path.name.split(f".{kind}.")[1].removesuffix(".gz"): path for path in found}
    languages = folder.name.split("-")[-2:]
    if len(by_language) != 2 or set(by_language) != set(languages):
        raise DataError(
            f"must have a file *.{kind}.L for each language that its name ends with, as in contrapro-en-de", folder
        )
    return _texts(by_language[languages[0]]), _texts(by_language[languages[1]])


def _texts(path: Path) -> list[str]:
    try:
        return [line.decode("utf-8").strip() for line in read_lines(path)]
    except UnicodeDecodeError:
        raise DataError("is not valid UTF-8", path) from None


def _exchanged(right: str, wrong: str) -> str:
    """Return the right variant's pronoun where the wrong one differs; words that agree with it may differ, too."""
    pairs = zip(*(_WORD.findall(text.lower()) for text in (right, wrong)), strict=False)
    return next((one for one, other in pairs if one != other and one in _PRONOUNS), "other")


def _item(
    path: Path,
    number: int,
    document: str,
    label: str,
    sources: tuple[str, ...],
    variants: Sequence[Translations],
    distance: str | None,
) -> ContrastiveItem:
    if not sources[-1].strip():
        raise DataError("has an empty source", path, number)
    if not all(variant[-1].strip() for variant in variants):
        raise DataError("has an empty translation", path, number)
    right, *others = variants
    wrong = tuple(dict.fromkeys(variant for variant in others if variant != right))
    if not wrong:
        raise DataError("has no wrong variant of the translation", path, number)
    return ContrastiveItem(document, label, sources, right, wrong, distance)


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    where = "".join(f"{part}: " for part in first["loc"])
    return f"{where}{first['msg']}"
