"""Import of a Marian model as the final checkpoint of a run, as if the run had trained it."""

from collections.abc import Iterator
from pathlib import Path

from models.config import RunConfig, SentenceConfig
from models.data.tokenizer import BOS, Tokenizer
from models.errors import ConfigError, DataError
from models.marian.folder import MarianFolder
from models.marian.vocabulary import language_piece, vocabulary_of
from models.marian.weights import weights_of
from models.training.checkpoints import Progress, require_new, save_checkpoint
from models.training.run import check_tokenizer


def import_marian(folder: Path, config: RunConfig, language: str | None = None) -> Path:
    """Write a run's tokenizer and final checkpoint from a Marian model in the format of `transformers`.

    OPUS-MT's models are of this kind (Tiedemann and Thottingal 2020). The checkpoint translates as the model does;
    context modules are trained on it as on any step one.

    Args:
        folder: the folder as downloaded, with `config.json`, weights, `source.spm`, `target.spm` and `vocab.json`.
        config: config of a run of the sentence model with the same sizes; it says where both are written.
        language: the target language, for a model with several, by the model's own name for it, such as `jpn`; None
            for a model of one pair.

    Returns:
        The checkpoint's folder.

    Raises:
        CheckpointError: the run has a checkpoint or another tokenizer, or the checkpoint cannot be written.
        ConfigError: the run has another architecture or other sizes; the message names all differences.
        DataError: a file is missing or damaged, or the model cannot be imported.
    """
    require_new(config.output)
    found = MarianFolder.read(folder)
    try:
        into = language_piece(found.source.numbers, language)
        source, source_rows = vocabulary_of(found.source, "source.spm", into)
        target, target_rows = vocabulary_of(found.target, "target.spm")
        target_rows[BOS] = found.start
        weights = weights_of(found.weights, found.backbone, source_rows, target_rows)
    except DataError as error:
        raise DataError(str(error), folder) from None
    if odd := list(_differences(config, found, len(source_rows), len(target_rows))):
        raise ConfigError(f"the run {config.name} is not one of this model: {', '.join(odd)}")
    tokenizer = Tokenizer(source, target)
    check_tokenizer(config.tokenizer, tokenizer)
    tokenizer.keep(config.tokenizer.path)
    final = config.output / "final"
    save_checkpoint(final, config, tokenizer, weights, Progress())
    return final


def _differences(config: RunConfig, found: MarianFolder, source: int, target: int) -> Iterator[str]:
    """Yield what has to be changed in a run's config, each with its present and its required value."""
    if not isinstance(config.architecture, SentenceConfig):
        yield f"architecture is {config.architecture.kind}, and has to be sentence"
    for name, theirs in found.backbone:
        ours = getattr(config.backbone, name)
        fits = ours <= theirs if name == "max_length" else ours == theirs
        if not fits:
            yield f"backbone.{name} is {ours}, and has to be {theirs}"
    if config.tokenizer.joint:
        yield "tokenizer.joint is true, and has to be false"
    if config.tokenizer.vocabulary not in {source, target}:
        sizes = str(source) if source == target else f"{source} or {target}"
        yield f"tokenizer.vocabulary is {config.tokenizer.vocabulary}, and has to be {sizes}"
