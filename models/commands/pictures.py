"""Pictures of models, runs and figures."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from models.commands.options import Device, JsonFile, Threads
from models.commands.output import write_json
from models.data.documents import Document, read_documents
from models.errors import PictureError
from models.plotting.kinds import Picture


def plot(
    of: Annotated[
        list[Path],
        typer.Argument(
            metavar="BUNDLE|RUN|FILE...",
            help="A bundle or checkpoint, folders of runs, or JSON files that evaluate and contrast wrote.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the pictures.", show_default=False)],
    pictures: Annotated[
        list[Picture] | None,
        typer.Option("--picture", help="What to draw; can be repeated. Default: everything that the input allows."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--in", metavar="F", help="Documents for the pictures of attention and gates.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="F", help="Their translations. Default: the model's own.")
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("--document", min=1, metavar="N", help="Number of the document in the file. Default: 1."),
    ] = None,
    device: Device = "cpu",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Draw attention, gates and layer weights of a model, the curves of runs, and scores by size of the context."""
    from models.engine.runtime import Runtime
    from models.plotting.pictures import draw, sort_paths

    if source is None and (reference is not None or number is not None):
        raise typer.BadParameter("--reference and --document need --in")
    document = None if source is None else _document(source, reference, number or 1)
    material = sort_paths(of, partial(Runtime.open, device=device, threads=threads), document)
    drawn = draw(material, out, pictures or ())
    for file in drawn.files:
        typer.echo(file)
    write_json(drawn.figures, json_file)


def _document(source: Path, reference: Path | None, number: int) -> Document:
    documents = read_documents(source, reference)
    if number > len(documents):
        raise PictureError(f"{source}: has only {len(documents)} documents, so there is no document {number}")
    return documents[number - 1]
