"""Figures and translations of several models, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from models.data.documents import read_documents, read_translations

if TYPE_CHECKING:
    from models.evaluation.changes import Change
    from models.evaluation.metrics import Comparison
    from models.evaluation.results import Result

_COLUMNS: Final = {
    "model": "{}",
    "context": "{}",
    "context_sentences": "{}",
    "loss": "{:.4f}",
    "bleu": "{:.2f}",
    "chrf": "{:.2f}",
    "document_bleu": "{:.2f}",
    "accuracy": "{:.3f}",
    "macro": "{:.3f}",
    "tokens_per_second": "{:.0f}",
}
_COMPARED: Final = {"bleu": 2, "chrf": 2, "accuracy": 3, "macro": 3}
"""The figures that are compared, and their number of decimals."""


def table(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="JSON files that evaluate and contrast wrote.", show_default=False),
    ],
) -> None:
    """Print the results of `evaluate` and `contrast` as a Markdown table, with a row for each model and context."""
    from models.evaluation.results import read_results

    results = read_results(files)
    shown = [name for name in _COLUMNS if any(getattr(result, name) is not None for result in results)]
    for cells in (shown, ["---"] * len(shown), *([_cell(result, name) for name in shown] for result in results)):
        typer.echo(f"| {' | '.join(cells)} |")


def significance(
    baseline: Annotated[
        Path, typer.Argument(metavar="BASELINE", help="Results of compare, as DIR/MODEL.CONTEXT.", show_default=False)
    ],
    systems: Annotated[
        list[Path], typer.Argument(metavar="SYSTEM...", help="Further results, in the same form.", show_default=False)
    ],
    reference: Annotated[Path, typer.Option(metavar="F", help="The reference translations.", show_default=False)],
    tokenize: Annotated[str, typer.Option(metavar="T", help="sacreBLEU's tokenizer.")] = "13a",
) -> None:
    """Print a Markdown table of what systems gain over a baseline, with p-values, from the results of `compare`.

    The p-values of BLEU and chrF are from sacreBLEU's paired bootstrap over sentences (half of a two-sided one). Those
    of the accuracies are over documents, and two-sided.
    """
    from models.evaluation.metrics import MetricOptions, compare
    from models.evaluation.significance import compare_outcomes, read_outcomes

    references = [text for text in read_translations(reference) if text.strip()]
    options = MetricOptions(tokenize=tokenize)
    rows = [
        f"| over {baseline.name} | BLEU | p (half) | chrF | p (half) | accuracy | p | macro | p |",
        f"|{'---|' * 9}",
    ]
    for system in systems:
        texts, outcomes = ([_beside(one, suffix) for one in (baseline, system)] for suffix in ("txt", "outcomes"))
        found = compare(read_translations(texts[0]), read_translations(texts[1]), references, options=options)
        if all(file.exists() for file in outcomes):
            found |= compare_outcomes(read_outcomes(outcomes[0]), read_outcomes(outcomes[1]))
        cells = (_difference(found.get(name), digits) for name, digits in _COMPARED.items())
        rows.append(f"| {system.name} | {' | '.join(cells)} |")
    typer.echo("\n".join(rows))


def _beside(found: Path, suffix: str) -> Path:
    return found.with_name(f"{found.name}.{suffix}")


def _difference(found: "Comparison | None", digits: int) -> str:
    return " | " if found is None else f"{found.system - found.baseline:+.{digits}f} | {found.p_value:.3f}"


def changes(
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    baseline: Annotated[
        Path, typer.Option(metavar="F", help="Translations that evaluate --out wrote.", show_default=False)
    ],
    system: Annotated[
        Path, typer.Option(metavar="F", help="Translations with another context or model.", show_default=False)
    ],
    examples: Annotated[
        int, typer.Option(min=0, help="Number of examples to show of the greatest gains, and of the greatest losses.")
    ] = 5,
    preceding: Annotated[int, typer.Option(min=0, help="Preceding sentences to show with each example.")] = 2,
) -> None:
    """Print, in Markdown, which translations changed most for the better and for the worse, by sentence chrF."""
    from models.evaluation.changes import find_changes

    documents = read_documents(source, reference)
    found = find_changes(documents, read_translations(baseline), read_translations(system), preceding)
    better, worse = ([one for one in found if one.gain * sign > 0] for sign in (1, -1))
    total = sum(len(document.sentences) for document in documents)
    typer.echo(
        f"{len(found)} of {total} translations differ:"
        f" {len(better)} are nearer to the reference now, {len(worse)} further away."
    )
    for title, shown in (("For the better", better[:examples]), ("For the worse", worse[::-1][:examples])):
        typer.echo(f"\n## {title}")
        for one in shown:
            typer.echo(_as_markdown(one))


def _as_markdown(change: "Change") -> str:
    before = [f"- *before:* {sentence.source} / {sentence.target}" for sentence in change.preceding]
    rows = {"source": change.sentence.source, "reference": change.sentence.target}
    rows |= {"baseline": change.baseline, "system": change.system}
    head = f"\n**{change.document}, sentence {change.position + 1}**: chrF {change.gain:+.1f}\n"
    return "\n".join([head, *before, *(f"- **{name}:** {text}" for name, text in rows.items())])


def _cell(result: "Result", name: str) -> str:
    value = getattr(result, name)
    return "" if value is None else _COLUMNS[name].format(value)
