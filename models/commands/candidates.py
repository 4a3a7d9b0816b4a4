"""What minimum risk training learns from."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

import typer

from models.commands.options import Bundle, CandidatesFile, ComputeType, Device, JsonFile, Sentences, SkipBad, Threads
from models.commands.output import report
from models.data.documents import BadLines, Sentence, Window, read_documents


def candidates(
    bundle: Bundle,
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    out: CandidatesFile,
    context: Annotated[
        Literal["real", "none"], typer.Option(help="What is translated with: none is the sentence backbone.")
    ] = "real",
    beam: Annotated[int, typer.Option(min=2, help="Hypotheses that the search keeps, and most candidates.")] = 8,
    draw: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Translate about N sentences, in documents drawn at random. Default: all."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for --draw.")] = 1,
    max_tokens: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Leave out sentences that are longer on either side.")
    ] = None,
    tokenize: Annotated[str, typer.Option(metavar="T", help="sacreBLEU's tokenizer.")] = "13a",
    skip_bad: SkipBad = False,
    sentences: Sentences = None,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Translate a training corpus several ways, with the sentence BLEU of each: what `training.risk` learns from."""
    from tqdm import tqdm

    from models.commands.context import Setting, options_of
    from models.data.candidates import write_candidates
    from models.engine.runtime import Runtime, WindowTranslator
    from models.evaluation import candidates as proposals
    from models.evaluation.metrics import MetricOptions
    from models.training.run import name_bad_lines

    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    bad = BadLines() if skip_bad else None
    documents, setting = read_documents(source, reference, bad=bad), Setting(runtime, context, 1, sentences)
    if bad is not None:
        name_bad_lines(bad, source)
    translator = WindowTranslator(runtime, replace(options_of(context, beam), n_best=beam))

    def propose(windows: Sequence[Window]) -> list[tuple[str, ...]]:
        found = translator.translate(windows)
        return [(each.text, *(other.text for other in each.alternatives)) for each in found]

    def fits(sentence: Sentence) -> bool:
        sides = runtime.tokenizer.encode_source(sentence.source), runtime.tokenizer.encode_target(sentence.target or "")
        return translator.fits(sentence) and (max_tokens is None or max(map(len, sides)) < max_tokens)

    drawn = proposals.draw(documents, draw, seed)
    with tqdm(total=sum(len(documents[number].sentences) for number in drawn), unit="sentence") as bar:
        found = proposals.find_candidates(
            propose,
            documents,
            setting.window,
            drawn=drawn,
            fits=fits,
            advance=bar.update,
            options=MetricOptions(tokenize=tokenize),
        )
    report(asdict(proposals.summary([*chain(*found)])) | setting.figures, json_file)
    write_candidates(out, found)
