"""Runs the BERT of a bundle."""

from pathlib import Path

from torch import Tensor

from models.bundle.bert import read_bert
from models.engine.computation import place


class BundledBert:
    """A BERT loaded from a folder that `write_bert` has written; satisfies `PretrainedEncoder`."""

    def __init__(self, folder: Path, device: str, compute_type: str, threads: int) -> None:
        """Load it; the arguments are those of `place`.

        Raises:
            BundleError: it cannot be loaded, or the package `tokenizers` is not installed.
        """
        self.wordpiece, self._encoder = read_bert(folder)
        place(self._encoder, device, compute_type, threads, to_serve=True)

    def states(self, tokens: Tensor) -> Tensor:
        """Return states (B, M, E) of padded ids (B, M) from 1, zero at padding; in int8, each text's independently."""
        states: Tensor = self._encoder(tokens)
        return states
