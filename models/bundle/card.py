"""The model card of a bundle (Mitchell et al. 2019): its manifest in Markdown, for people."""

from collections.abc import Iterator, Mapping
from typing import Final

from models.bundle.manifest import Manifest
from models.config import ContextWindow

CARD: Final = "README.md"
_UNSAID: Final = "Its makers do not say."


def model_card(manifest: Manifest) -> str:
    """Return the card; it states explicitly what the manifest does not say."""
    provenance = manifest.provenance
    sections = {
        "The model": _table(dict(_facts(manifest))),
        "Intended use": provenance.intended_use or _UNSAID,
        "Training data": "\n\n".join(filter(None, (provenance.training_data, provenance.attribution))) or _UNSAID,
        "Licence": provenance.licence or _UNSAID,
        "Scores": _scores(manifest.scores),
        "Limits": "\n\n".join(filter(None, (provenance.limitations, _limits(manifest)))),
    }
    languages = f"{manifest.languages.source} to {manifest.languages.target}"
    head = (
        f"# {manifest.name}\n\nTranslates documents, each sentence in its context, from {languages}; for Antecedent.\n"
    )
    return head + "".join(f"\n## {title}\n\n{text}\n" for title, text in sections.items())


def _facts(manifest: Manifest) -> Iterator[tuple[str, str]]:
    backbone, architecture = manifest.backbone, manifest.architecture
    switches = architecture.model_dump(mode="json", exclude={"kind", "bert", "bert_checksum"})
    layers = f"{backbone.encoder_layers} + {backbone.decoder_layers}"
    yield "architecture", architecture.kind
    yield "its switches", ", ".join(f"{name}: {_said(value)}" for name, value in switches.items())
    yield "sentence model", f"Transformer, {layers} layers of width {backbone.width}, {backbone.heads} heads"
    yield "reads", _reads(manifest.window, manifest.reads_target_context)
    yield "serves", "documents and sessions" if manifest.serves_sessions else "documents"
    yield "vocabulary", f"{manifest.vocabulary.source:,} source and {manifest.vocabulary.target:,} target pieces"
    yield "quantization", manifest.quantization
    yield "fingerprint", f"`{manifest.fingerprint[:16]}`"


def _reads(window: ContextWindow, translations: bool) -> str:
    if window == ContextWindow():
        return "the sentence alone"
    before = f"up to {window.size} preceding sentences{' and their translations' if translations else ''}"
    after = f", up to {window.following} following ones" if window.following else ""
    return before + after + (", inside blocks of the document" if window.kind == "block" else "")


def _scores(scores: Mapping[str, float]) -> str:
    return _table({name: f"{value:g}" for name, value in scores.items()}) if scores else "None were measured."


def _limits(manifest: Manifest) -> str:
    limits, unsure = manifest.limits, manifest.unsure_below
    long = (
        f"A sentence of more than {limits.split_tokens} tokens is translated in parts, since training saw none longer;"
        f" a clause of more than {limits.source_tokens} is divided between words."
    )
    if unsure is None:
        return long
    return (
        f"{long}\n\nA translation with a score below {unsure:.2f} is less sure than nine in ten of the development set."
    )


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(rows: Mapping[str, str]) -> str:
    lines = (f"| {name.replace('|', '/')} | {value.replace('|', '/')} |" for name, value in rows.items())
    return "\n".join(("| | |", "|---|---|", *lines))
