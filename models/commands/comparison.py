"""How good several models are, and what each makes of its context."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from models.commands.context import Setting
from models.commands.options import ComputeType, Device, Threads
from models.commands.output import write_json, write_lines
from models.config import ContextWindow
from models.data.checksums import sha256
from models.data.documents import Document, read_documents
from models.data.replacement import ContextKind

if TYPE_CHECKING:
    from models.engine.runtime import Runtime
    from models.evaluation.contrastive_sets import ContrastiveItem

_KINDS: Final[tuple[ContextKind, ...]] = ("real", "empty", "random", "shuffled")
_INPUT: Final = "input"
"""Beside figures: what they were measured on, as `_digest` says it."""
_MODEL: Final = "identity"
"""And of which model, of all that may have had its name."""


def compare(
    bundles: Annotated[
        list[Path],
        typer.Argument(metavar="BUNDLE...", help="Models; no two may have the same name.", show_default=False),
    ],
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.", show_default=False)],
    sets: Annotated[list[Path] | None, typer.Option("--set", metavar="F", help="Contrastive items.")] = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses that the search keeps; 1 is greedy.")] = 1,
    tokenize: Annotated[str, typer.Option(metavar="T", help="sacreBLEU's tokenizer.")] = "13a",
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
) -> None:
    """Evaluate models with real, empty, random and shuffled context, for `table`, `plot` and `changes`.

    Results that are already in the folder, for the same model, files and options, are not measured again: a comparison
    that was killed continues where it was.
    """
    from models.bundle.description import identity
    from models.commands.measuring import judged, translated
    from models.engine.corpus import require_translatable
    from models.engine.runtime import Runtime
    from models.evaluation.contrastive_sets import read_contrastive
    from models.evaluation.metrics import MetricOptions
    from models.evaluation.significance import write_outcomes

    out.mkdir(parents=True, exist_ok=True)
    documents, options = read_documents(source, reference), MetricOptions(tokenize=tokenize)
    items = [item for path in sets or () for item in read_contrastive(path)]
    kinds = _kinds(documents, items)
    for bundle, name in _named(bundles).items():
        runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
        require_translatable(runtime, source)
        model = identity(bundle)
        _remove_those_of_another(model, out, name)
        corpus = _digest((source, reference), beam, tokenize, compute_type, model)
        judgement = _digest(sets or (), compute_type, model)
        for setting in _settings(runtime, kinds):
            found = f"{name}.{setting.context}"
            typer.echo(found)
            scores, accuracies = (out / f"{found}.{what}.json" for what in ("scores", "accuracies"))
            lines, right = out / f"{found}.txt", out / f"{found}.outcomes"
            if not (_stands(scores, corpus) and lines.exists()):
                figures, translations = translated(setting, documents, beam, options)
                write_lines(translations, lines)
                write_json(figures | {_INPUT: corpus, _MODEL: model}, scores)
            if items and not (_stands(accuracies, judgement) and right.exists()):
                figures, outcomes = judged(setting, items, "last")
                write_outcomes(outcomes, right)
                write_json(figures | {_INPUT: judgement, _MODEL: model}, accuracies)


def _named(bundles: Sequence[Path]) -> dict[Path, str]:
    """Models by what their figures are called, found alike before anything is measured."""
    from models.bundle.description import name_of

    names: dict[Path, str] = {}
    for bundle in bundles:
        if (name := name_of(bundle)) in names.values():
            raise typer.BadParameter(f"{bundle}: another model is also called {name}, and results are stored by name")
        names[bundle] = name
    return names


def _kinds(documents: Sequence[Document], items: Sequence["ContrastiveItem"]) -> tuple[ContextKind, ...]:
    """The kinds of context that there can be: another document's, where there is another."""
    alone = {"text": len(documents) == 1, "set": len({item.document for item in items}) == 1}
    if not any(alone.values()):
        return _KINDS
    where = " and ".join(f"the {what}" for what, is_alone in alone.items() if is_alone)
    typer.echo(
        f"no shuffled context: {where} has only one document (an empty line ends a document of a text)", err=True
    )
    return tuple(kind for kind in _KINDS if kind != "shuffled")


def _settings(runtime: "Runtime", kinds: Sequence[ContextKind]) -> list[Setting]:
    """A model with each kind of context; without any where it reads none, so that there is none to replace."""
    reads = runtime.manifest.window != ContextWindow()
    return [Setting(runtime, context) for context in (kinds if reads else kinds[:1])]


def _remove_those_of_another(model: str, folder: Path, name: str) -> None:
    """Remove results that another model of this name has left, with any context, also one that is not measured now.

    Figures go last: what they are of is known by them alone.
    """
    for kind in _KINDS:
        for what, of_each in (("scores.json", "txt"), ("accuracies.json", "outcomes")):
            figures = folder / f"{name}.{kind}.{what}"
            if figures.exists() and not _stands(figures, model, _MODEL):
                (folder / f"{name}.{kind}.{of_each}").unlink(missing_ok=True)
                figures.unlink()


def _digest(paths: Sequence[Path], *options: object) -> str:
    """What tells figures apart that were measured on other files, or folders of files, or otherwise."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    contents = [sha256(file) for file in files if file.is_file()]
    return hashlib.sha256(repr((contents, options)).encode()).hexdigest()


def _stands(figures: Path, asked: str, what: str = _INPUT) -> bool:
    """Whether figures have been measured, of the model and on what is asked for, or else of that model at least."""
    try:
        measured = json.loads(figures.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(measured, dict) and measured.get(what) == asked
