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
            help="A bundle or checkpoint, folders of runs, or JSON of evaluate and contrast.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the pictures go.", show_default=False)],
    pictures: Annotated[
        list[Picture] | None,
        typer.Option("--picture", help="What to draw; may be repeated. Without it, all that there is of the input."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--in", metavar="F", help="Documents to look at attention and gates on.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="F", help="Their translations; without it, the model's own.")
    ] = None,
    number: Annotated[int, typer.Option("--document", min=1, metavar="N", help="Which one of the file.")] = 1,
    device: Device = "cpu",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Draw attention, gates and layer weights of a model, curves of runs, scores by the size of the context."""
    from models.engine.runtime import Runtime
    from models.plotting.pictures import draw, sort_paths

    document = None if source is None else _document(source, reference, number)
    material = sort_paths(of, partial(Runtime.open, device=device, threads=threads), document)
    drawn = draw(material, out, pictures or ())
    for file in drawn.files:
        typer.echo(file)
    write_json(drawn.figures, json_file)


def _document(source: Path, reference: Path | None, number: int) -> Document:
    documents = read_documents(source, reference)
    if number > len(documents):
        raise PictureError(f"{source}: has {len(documents)} documents, and no document {number}")
    return documents[number - 1]
