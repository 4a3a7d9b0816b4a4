"""BERT (Devlin et al. 2019) through `transformers`, from a local folder, frozen.

Files are only read when needed, nothing is ever downloaded, and its parameters are not part of our models.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch
from torch import Tensor

from models.data.checksums import sha256
from models.data.wordpiece import CONFIG, WordPiece, tokenizer_files
from models.errors import ConfigError, DataError, packages_needed
from models.network.architectures.bert_encoder import BertEncoder, BertShape, weights_of

WEIGHTS: Final = "model.safetensors"


class FrozenBert:
    """BERT in a folder written by `save_pretrained`; satisfies `PretrainedEncoder`."""

    def __init__(self, folder: Path, width: int, positions: int, checksum: str | None = None) -> None:
        """Describe the encoder; nothing is read yet.

        Args:
            folder: has `config.json`, `model.safetensors` and the vocabulary.
            width: required width of its states.
            positions: least number of positions required.
            checksum: required checksum, if known.
        """
        self._folder = folder
        self._width = width
        self._positions = positions
        self._expected = checksum

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of configuration, weights and vocabulary.

        Raises:
            ConfigError: the folder is missing or no BERT, its encoder does not fit, or it is not the expected one.
        """
        self._check(self._config())
        found = self._digest()
        if self._expected not in (None, found):
            raise ConfigError(f"{self._folder}: is not the BERT that the model was trained with: its checksum differs")
        return found

    @cached_property
    def wordpiece(self) -> WordPiece:
        """Its tokenizer.

        Raises:
            ConfigError: as for `checksum`, or the vocabulary is damaged, foreign or larger than the encoder's.
        """
        assert self.checksum
        try:
            wordpiece = WordPiece.load(self._folder)
        except DataError as error:
            raise ConfigError(str(error)) from None
        if wordpiece.size > self._config()["vocab_size"]:
            raise ConfigError(f"{self._folder}: its vocabulary has more pieces than its encoder has embeddings")
        return wordpiece

    @cached_property
    def model(self) -> BertEncoder:
        """The encoder in evaluation mode, in float32, on the CPU at first.

        Raises:
            ConfigError: as for `checksum`, or the weights are damaged or incomplete.
        """
        assert self.checksum
        model, found = _read(self._folder)
        if absent := {*map(str, found["missing_keys"]), *map(str, found["mismatched_keys"])}:
            raise ConfigError(f"{self._folder}: {WEIGHTS} lacks weights of the BERT, such as {min(absent)}")
        try:
            return BertEncoder.with_weights(BertShape.of(model.config.to_dict()), weights_of(model))
        except ConfigError as error:
            raise ConfigError(f"{self._folder}: {error}") from None

    def states(self, tokens: Tensor) -> Tensor:
        """Return states (B, M, E) of padded ids (B, M) from 1, zero at padding; token types are all 0."""
        if next(self.model.parameters()).device != tokens.device:
            self.model.to(tokens.device)
        with torch.no_grad():
            states: Tensor = self.model(tokens)
            return states

    def _config(self) -> dict[str, Any]:
        try:
            config = json.loads((self._folder / CONFIG).read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(
                f"{self._folder}: is not a BERT: {CONFIG} cannot be read: {error.strerror}; give the folder of one in"
                " architecture.bert"
            ) from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{self._folder}: {CONFIG} is not JSON: {error}") from None
        if not isinstance(config, dict) or config.get("model_type") != "bert":
            kind = config.get("model_type") if isinstance(config, dict) else None
            raise ConfigError(f"{self._folder}: contains a model of type {kind!r}, not a BERT encoder")
        return config

    def _check(self, config: dict[str, Any]) -> None:
        width, positions = config.get("hidden_size"), config.get("max_position_embeddings", 0)
        if width != self._width:
            raise ConfigError(f"{self._folder}: its states have width {width}, not {self._width}: correct bert_width")
        if positions < self._positions:
            raise ConfigError(f"{self._folder}: has {positions} positions, so bert_pieces must be {positions} or less")
        if config.get("position_embedding_type", "absolute") != "absolute" or config.get("is_decoder"):
            raise ConfigError(f"{self._folder}: is not a BERT encoder with absolute positions")
        if not (self._folder / WEIGHTS).is_file():
            raise ConfigError(f"{self._folder}: has no {WEIGHTS}; other formats of weights are not supported")

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for file in (self._folder / CONFIG, self._folder / WEIGHTS, *tokenizer_files(self._folder)):
            digest.update(bytes.fromhex(sha256(file)))
        return digest.hexdigest()


def _read(folder: Path) -> tuple[Any, dict[str, Any]]:
    """Load the model of a folder, with what its loader reports as missing or mismatched."""
    with packages_needed("BERT", "bert"):
        from transformers import BertModel
        from transformers.utils import logging
    try:
        # The pooler is left out: some folders have none, and initialising one would advance the run's random numbers.
        with _quiet(logging):
            loaded: Any = BertModel.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                add_pooling_layer=False,
                output_loading_info=True,
                dtype=torch.float32,
            )
    except Exception as error:  # damaged weights make the package raise anything
        raise ConfigError(f"{folder}: cannot be read as BERT: {str(error).splitlines()[0]}") from error
    model, found = loaded
    return model, found


@contextmanager
def _quiet(logging: ModuleType) -> Iterator[None]:
    """Suppress progress bars and warnings of `transformers`: what it would warn of is checked."""
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
