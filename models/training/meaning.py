"""Checks that loaded weights compute what they were trained to, which names and shapes alone do not ensure."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from models.config import RunConfig
from models.errors import CheckpointError

_MAY_CHANGE: Final = frozenset(
    {
        "backbone.max_length",
        "architecture.context_sentences",
        "architecture.following_sentences",
        "architecture.document_sentences",
        "architecture.document_tokens",
        "architecture.block_sentences",
        "architecture.causal",
        "architecture.context",
        "architecture.fixed_sentence",
        "architecture.bert",
        "architecture.bert_pieces",
        "architecture.token_dropout",
    }
)
"""Values that may change between steps: how much text is read, and how the modules that read it are trained."""


def require_fitting_start(folder: Path, there: RunConfig, here: RunConfig) -> None:
    """Require that a run uses what it loads from `training.init` as what it was trained to be.

    Heads, activation, norm and languages show in no tensor's name or shape: if they differ, weights load but are noise.

    Args:
        folder: folder of the checkpoint.
        there: config of the checkpoint.
        here: config of the run, with the checksum of its BERT.

    Raises:
        CheckpointError: they differ; the message names the first value that does.
    """
    training = here.training
    free = {"backbone.encoder_layers"} if training.deepen else set()
    if training.transfer == "source":  # what does not affect the encoder
        free |= {"languages.target", "backbone.decoder_layers", "backbone.embeddings", "backbone.output_bias"}
    architecture = {"architecture"} if training.transfer == "all" else set()
    _require_same(folder, there, here, {"languages", "backbone"} | architecture, free)


def require_fitting_modules(folder: Path, there: RunConfig, here: RunConfig) -> None:
    """Require the same of `training.modules`, whose encoder may be shallower; with modules in both, one may be named.

    Raises:
        CheckpointError: they differ; the message names the first value that does.
    """
    has_both = getattr(there.architecture, "integration", None) == "both"
    free = {"backbone.encoder_layers"} | ({"architecture.integration"} if has_both else set())
    _require_same(folder, there, here, {"languages", "backbone", "architecture"}, free)


def _require_same(folder: Path, there: RunConfig, here: RunConfig, sections: set[str], free: set[str]) -> None:
    # A checkpoint may lack the checksum of its BERT: values missing on one side are not compared.
    was, now = (dict(members(config.model_dump(include=sections, exclude_none=True))) for config in (there, here))
    for name, value in was.items():
        if name not in _MAY_CHANGE | free and value != now.get(name, value):
            raise CheckpointError(
                f"{folder}: was trained as a different network ({name} was {value}, is now {now[name]})"
            )


def members(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of a tree by their dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from members(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value
