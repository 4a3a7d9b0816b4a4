"""Change of a trained model's vocabularies, to learn on with pieces that suit its texts better (Gee et al. 2022)."""

from collections.abc import Callable
from pathlib import Path

import torch
from sentencepiece import SentencePieceProcessor
from torch import Tensor

from models.config import RunConfig
from models.data.tokenizer import SPECIAL_PIECES, UNK, Tokenizer
from models.data.trainer_spec import made_with, splitter
from models.errors import CheckpointError
from models.training.checkpoints import Progress, build_model, load_checkpoint, load_model, save_checkpoint, weights_of


def retokenize_run(folder: Path, tokenizer_folder: Path, out: Path) -> None:
    """Write the model of a checkpoint as one with another tokenizer, for training on.

    Pieces of both tokenizers keep their embeddings. A new one begins as the mean of those that it was divided into
    before (Gee et al. 2022, "Fast vocabulary transfer for language model compression", section 3.1).

    Raises:
        CheckpointError: the checkpoint is damaged, only one of the tokenizers is joint, or `out` exists.
        DataError: the tokenizer is missing or damaged.
    """
    if out.exists():
        raise CheckpointError(f"{out}: already exists")
    checkpoint, tokenizer = load_checkpoint(folder), Tokenizer.load(tokenizer_folder)
    if tokenizer.joint != checkpoint.tokenizer.joint:
        count = "one vocabulary" if tokenizer.joint else "two vocabularies"
        raise CheckpointError(f"{tokenizer_folder}: has {count}, but the tokenizer of {folder} does not")
    config = _with_tokenizer(checkpoint.config, tokenizer, tokenizer_folder)
    of_source = _transfer(checkpoint.tokenizer.source, tokenizer.source)
    of_target = of_source if tokenizer.joint else _transfer(checkpoint.tokenizer.target, tokenizer.target)
    old, new = load_model(checkpoint).backbone, build_model(config, tokenizer, dropout=0.0)
    changed = {
        "backbone.source_embedding.weight": of_source(old.source_embedding.weight),
        "backbone.target_embedding.weight": of_target(old.target_embedding.weight),
        "backbone.output.weight": of_target(old.output.weight),
    }
    if old.output.bias is not None:
        changed["backbone.output.bias"] = of_target(old.output.bias)
    weights = {name: changed.get(name, checkpoint.weights[name]) for name in weights_of(new)}
    save_checkpoint(out, config, tokenizer, weights, Progress())


def _with_tokenizer(config: RunConfig, tokenizer: Tokenizer, folder: Path) -> RunConfig:
    size = max(len(tokenizer.source_pieces), len(tokenizer.target_pieces))
    update = {"path": folder, "vocabulary": size, **made_with(tokenizer.target.serialized_model_proto())}
    return config.model_copy(update={"tokenizer": config.tokenizer.model_copy(update=update)})


def _transfer(old: SentencePieceProcessor, new: SentencePieceProcessor) -> Callable[[Tensor], Tensor]:
    """Return what makes rows for a new vocabulary of those for an old one."""
    split, known = splitter(old.serialized_model_proto()), {old.id_to_piece(i): i for i in range(old.get_piece_size())}
    pieces = [new.id_to_piece(i) for i in range(new.get_piece_size())]

    def parts(i: int) -> list[int]:
        if i < len(SPECIAL_PIECES):
            return [i]
        if pieces[i] in known:
            return [known[pieces[i]]]
        return [UNK] if new.is_control(i) or new.is_byte(i) else split(pieces[i])

    made_of = [torch.tensor(parts(i)) for i in range(len(pieces))]

    def rows(weights: Tensor) -> Tensor:
        return torch.stack([weights[ids].mean(0) for ids in made_of]).detach()

    return rows
