"""How good several models are, and what each makes of its context."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from models.commands.context import SearchSettings, Setting
from models.commands.options import ComputeType, Device, Threads
from models.commands.output import write_json, write_lines
from models.config import ContextWindow
from models.data.checksums import sha256
from models.data.documents import Document, read_documents
from models.data.replacement import ContextKind

if TYPE_CHECKING:
    from models.engine.runtime import Runtime
    from models.evaluation.contrastive_sets import ContrastiveItem


class Compared(StrEnum):
    """Contexts that models are compared with."""

    REAL = "real"
    EMPTY = "empty"
    RANDOM = "random"
    SHUFFLED = "shuffled"


_KINDS: Final = tuple(kind.value for kind in Compared)


def compare(
    bundles: Annotated[
        list[Path],
        typer.Argument(metavar="BUNDLE...", help="Models; no two may have the same name.", show_default=False),
    ],
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.", show_default=False)],
    sets: Annotated[list[Path] | None, typer.Option("--set", metavar="F", help="Contrastive items.")] = None,
    contexts: Annotated[
        list[Compared] | None,
        typer.Option("--context", help="Measure with this context only; can be repeated. Default: with each of them."),
    ] = None,
    beam: Annotated[
        int, typer.Option(min=1, help="Number of hypotheses that the search keeps; 1 is greedy search.")
    ] = 1,
    tokenize: Annotated[str, typer.Option(metavar="T", help="sacreBLEU's tokenizer.")] = "13a",
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
) -> None:
    """Evaluate models with real, empty, random and shuffled context, for `table`, `plot` and `changes`.

    Results that are already in the folder, for the same model, files and options, are not measured again: a comparison
    that was killed continues where it stopped.
    """
    from models.bundle.description import identity
    from models.commands.measuring import judged, translated
    from models.engine.computation import resolve_compute_type
    from models.engine.corpus import require_translatable
    from models.engine.runtime import Runtime
    from models.evaluation.contrastive_sets import read_contrastive
    from models.evaluation.metrics import MetricOptions
    from models.evaluation.significance import write_outcomes

    _require_files((source, reference, *(sets or ())))
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=out):  # find out now, not at the end, that nothing can be written here
        pass
    documents, options = read_documents(source, reference), MetricOptions(tokenize=tokenize)
    items = [item for path in sets or () for item in read_contrastive(path)]
    kinds = _possible([kind for kind in _KINDS if kind in (contexts or _KINDS)], documents, items)
    for bundle, name in _named(bundles).items():
        runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
        require_translatable(runtime, source)
        model = identity(bundle)
        # `auto` means different types on different machines, and for a bundle not the same as naming that type.
        computed = (device, compute_type, resolve_compute_type(compute_type, device))
        corpus = _digest((source, reference), beam, tokenize, computed, model)
        judgement = _digest(sets or (), computed, model)
        kept = {kind: _kept(out / f"{name}.{kind}", model, corpus, judgement) for kind in _KINDS}
        settings = _settings(runtime, kinds)
        measured = {setting.context for setting in settings}
        for kind, (scores, accuracies) in kept.items():
            scores.forget(others_too=kind not in measured)
            accuracies.forget(others_too=kind not in measured and bool(items))
        for setting in settings:
            typer.echo(f"{name}.{setting.context}")
            scores, accuracies = kept[setting.context]
            if not scores.stand():
                figures, translations = translated(setting, documents, options, SearchSettings(beam))
                write_lines(translations, scores.behind)
                scores.write(figures)
            if items and not accuracies.stand():
                figures, outcomes = judged(setting, items, "last")
                write_outcomes(outcomes, accuracies.behind)
                accuracies.write(figures)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file of figures that a comparison has written or will write, always after the file that they are based on."""

    file: Path
    behind: Path
    """What the figures are based on: the translations, or which items were right."""
    model: str
    """Identity of the model, as others may have the same name."""
    input: str
    """Digest of what the figures are measured on, from `_digest`."""

    def forget(self, *, others_too: bool) -> None:
        """Remove the results of another model of the same name; the figures last, as only they say whose it is.

        Args:
            others_too: also remove this model's results on other files or with other options.
        """
        if not self.file.exists():
            return
        written = self._written()
        if written.get("identity") != self.model or (others_too and written.get("input") != self.input):
            self.behind.unlink(missing_ok=True)
            self.file.unlink()

    def stand(self) -> bool:
        """Return whether the figures are up to date, and need not be measured again."""
        return self._written().get("input") == self.input and self.behind.exists()

    def write(self, figures: dict[str, Any]) -> None:
        """Write figures, with what `stand` needs to tell whether they are up to date."""
        write_json(figures | {"input": self.input, "identity": self.model}, self.file)

    def _written(self) -> dict[str, Any]:
        try:
            written = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return written if isinstance(written, dict) else {}


def _kept(found: Path, model: str, corpus: str, judgement: str) -> tuple[_Kept, _Kept]:
    """Return the scores and accuracies of a model with one kind of context, in files whose names begin with `found`."""
    return (
        _Kept(Path(f"{found}.scores.json"), Path(f"{found}.txt"), model, corpus),
        _Kept(Path(f"{found}.accuracies.json"), Path(f"{found}.outcomes"), model, judgement),
    )


def _named(bundles: Sequence[Path]) -> dict[Path, str]:
    """Map each model to the name of its figures; duplicates are refused before anything is measured."""
    from models.bundle.description import name_of

    names: dict[Path, str] = {}
    for bundle in bundles:
        if (name := name_of(bundle)) in names.values():
            raise typer.BadParameter(f"{bundle}: another model is also called {name}, and results are stored by name")
        names[bundle] = name
    return names


def _possible(
    wanted: Sequence[ContextKind], documents: Sequence[Document], items: Sequence["ContrastiveItem"]
) -> Sequence[ContextKind]:
    """Return the wanted kinds of context that are possible: a shuffled one needs more than one document.

    Raises:
        typer.BadParameter: none is possible.
    """
    alone = {"text": len(documents) == 1, "set": len({item.document for item in items}) == 1}
    if "shuffled" not in wanted or not any(alone.values()):
        return wanted
    where = " and ".join(f"the {what}" for what, is_alone in alone.items() if is_alone)
    said = f"no shuffled context: {where} has only one document (an empty line ends a document of a text)"
    if others := [kind for kind in wanted if kind != "shuffled"]:
        typer.echo(said, err=True)
        return others
    raise typer.BadParameter(said)


def _settings(runtime: "Runtime", kinds: Sequence[ContextKind]) -> list[Setting]:
    """Return the settings of a model with each kind of context; only the real one if it reads no context to replace."""
    reads = runtime.manifest.window != ContextWindow()
    return [Setting(runtime, context) for context in (kinds if reads else _KINDS[:1])]


def _require_files(paths: Sequence[Path]) -> None:
    """Refuse what can be read only once, such as a pipe: results are identified by the contents of files."""
    for path in paths:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise typer.BadParameter(
                f"{path} is neither a file nor a folder, but results are stored with a digest of their input"
            )


def _digest(paths: Sequence[Path], *options: object) -> str:
    """Return a digest that differs for figures measured on other files, or folders of files, or with other options."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    contents = [sha256(file) for file in files if file.is_file()]
    return hashlib.sha256(repr((contents, options)).encode()).hexdigest()
