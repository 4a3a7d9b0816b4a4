"""What `translate` does with `--ray`: a corpus over a cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from models.bundle.manifest import Manifest
from models.commands.context import SearchSettings, options_of
from models.commands.options import with_folder
from models.data.replacement import ContextKind, Replacement
from models.engine.requests import Strategy
from models.errors import packages_needed
from models.text.glossary import Term
from models.text.memory_files import read_memory

if TYPE_CHECKING:
    from models.bulk.cluster import Cluster

PART_SENTENCES = 2048
"""Enough for full batches, and some seconds on a GPU to half a minute on a core of a CPU."""

Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Use a Ray cluster: auto, HOST:PORT, or local for all of this machine."),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Maximum workers on the cluster. Default: as many as it has room for."),
]
PartSentences = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help=f"Sentences that a worker on the cluster gets at a time. Default: {PART_SENTENCES}.",
    ),
]


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the command line wants sentences translated."""

    context: ContextKind
    beam: int | None
    device: str
    compute_type: str
    threads: int
    strategy: Strategy | None = None
    terms: tuple[Term, ...] = ()
    """Of a glossary."""
    memory: Path | None = None
    """A translation memory."""


def translate_on_cluster(
    bundle: Path,
    source: Path | None,
    out: Path | None,
    how: Decoding,
    address: str,
    workers: int | None,
    part_sentences: int | None,
) -> None:
    """Translate a file into another one over a cluster; started again after it has failed, it goes on.

    Raises:
        ConfigError: Ray is not installed.
        typer.BadParameter: an option does not go with a cluster.
    """
    if source is None or out is None:
        raise typer.BadParameter("--ray needs files: --in and --out")
    _check(bundle, how, address)
    _check_files(source, out)
    from tqdm import tqdm

    from models.bulk.job import translate_corpus
    from models.bulk.worker import Settings

    manifest = Manifest.load(bundle)
    settings = Settings(
        bundle.absolute(),
        manifest.fingerprint,
        options_of(how.context, SearchSettings(how.beam), how.strategy),
        Replacement(how.context),
        how.device,
        how.compute_type,
        how.threads,
        how.terms,
        () if how.memory is None else read_memory(how.memory, manifest.languages),
    )
    with tqdm(unit="sentence") as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done)

        translate = _cluster(address, workers).translate
        size = part_sentences or PART_SENTENCES
        outcome = translate_corpus(source, out, settings, translate, part_sentences=size, progress=progress)
    kept = f", {outcome.kept} of which were kept from an earlier start" if outcome.kept else ""
    typer.echo(f"{out}: {outcome.sentences} sentences in {outcome.parts} parts{kept}", err=True)


def _check(bundle: Path, how: Decoding, address: str) -> None:
    from models.training.checkpoints import is_checkpoint

    if is_checkpoint(bundle):
        raise typer.BadParameter(f"--ray needs a bundle, and {bundle} is a checkpoint: export it first")
    if how.context not in ("real", "none", "empty"):
        raise typer.BadParameter(f"--context {how.context} needs all documents at once: leave out --ray")
    if how.device not in ("cpu", "cuda"):
        raise typer.BadParameter("with --ray, --device is cpu or cuda: the cluster chooses which GPU")
    if address.startswith("ray://"):
        raise typer.BadParameter("Ray Client is not supported: start the job on the cluster, with `ray job submit`")


def _check_files(source: Path, out: Path) -> None:
    if not source.is_file():
        raise typer.BadParameter(f"--in {source}: there is no such file; with --ray, it cannot be a pipe")
    with_folder(out)
    if out.exists() and not out.is_file():
        raise typer.BadParameter(f"--out {out}: is not a file; with --ray, it cannot be a pipe")


def _cluster(address: str, workers: int | None) -> "Cluster":
    with packages_needed("--ray", "ray"):
        from models.bulk.cluster import Cluster
    return Cluster(address, workers)
