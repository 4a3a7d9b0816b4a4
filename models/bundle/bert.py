"""BERT in a bundle: stored like the model's weights, and read without `transformers`."""

import json
from pathlib import Path

from models.bundle.manifest import Quantization
from models.bundle.weights import read_weights, write_weights
from models.data.wordpiece import CONFIG, WordPiece
from models.errors import BundleError, ConfigError, DataError
from models.network.architectures.bert import FrozenBert
from models.network.architectures.bert_encoder import BertEncoder, BertShape


def write_bert(encoder: FrozenBert, folder: Path, quantization: Quantization) -> None:
    """Write a BERT with its vocabulary into a folder, which is created if it does not exist.

    Raises:
        ConfigError: the BERT's original folder cannot be read.
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(folder, encoder.model.state_dict(), quantization)
    (folder / CONFIG).write_text(json.dumps(encoder.model.shape.config(), indent=2) + "\n", encoding="utf-8")
    encoder.wordpiece.save(folder)


def read_bert(folder: Path) -> tuple[WordPiece, BertEncoder]:
    """Read a BERT's tokenization and its encoder, in float32.

    Raises:
        BundleError: it cannot be read, or the package `tokenizers` is not installed.
    """
    try:
        wordpiece, shape = WordPiece.load(folder), BertShape.of(json.loads((folder / CONFIG).read_text("utf-8")))
        return wordpiece, BertEncoder.with_weights(shape, read_weights(folder))
    except (ConfigError, DataError, OSError, RuntimeError, ValueError) as error:
        raise BundleError(f"{folder}: cannot be loaded: {error}") from error
