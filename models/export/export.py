"""From a checkpoint to a bundle, which is what training hands to serving.

A bundle is written completely or not at all, and only if its contents agree with the checkpoint.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch

from models.bundle.manifest import BACKBONE, MANIFEST, Manifest, Quantization
from models.bundle.step_one import sentence_model_beside, sentence_model_of
from models.config import RunConfig, data_folder
from models.data.batches import ContextReader
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, read_documents
from models.data.tokenizer import Tokenizer
from models.data.whole import FORMER, abandoned, beside, put_folder
from models.engine.backbone import BackboneEngine
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.errors import BundleError, SelfTestError
from models.export.agreement import CLOSE, Sample, exact_disagreement, mean_shift
from models.export.certainty import score_of_least_sure_tenth
from models.export.choices import NO_CHOICES, Choices
from models.export.writing import Contents, convert, with_certainty, write_bundle
from models.network.model import TranslationModel
from models.search.hypotheses import max_target_length
from models.training.checkpoints import Checkpoint, load_checkpoint, load_model

CHECKED_SENTENCES: Final = 200


def export_bundle(
    checkpoint: Path,
    out: Path,
    quantization: Quantization = "int8",
    *,
    documents: Sequence[Document] | None = None,
    scores: Mapping[str, float] | None = None,
    choices: Choices = NO_CHOICES,
    sentence: Path | None = None,
) -> Manifest:
    """Write the bundle of a checkpoint.

    Besides the weights for decoding with context, the bundle has a sentence model, converted to CTranslate2: that of
    step one unless another one is given. A model that was trained from scratch has none.

    In an int8 bundle, the matrices among the weights for decoding with context are in int8, too, as a CPU uses them; on
    a GPU, or in float32, their rounding changes log-probabilities in the third decimal place.

    Args:
        checkpoint: the checkpoint's folder.
        out: the bundle's folder; a bundle that is there is replaced, anything else is left alone.
        quantization: the type of the stored weights.
        documents: translated sentences to check the bundle on; by default the run's dev set.
        scores: figures on test sets for the manifest, by descriptive name.
        choices: what was chosen after the run.
        sentence: checkpoint whose backbone is the sentence model, in place of step one's; may be `checkpoint` itself.

    Returns:
        The manifest of the new bundle.

    Raises:
        SelfTestError: the converted model disagrees with the checkpoint.
        BundleError: there is no dev set to check the bundle on, the sentence model does not fit, or the bundle cannot
            be written.
        CheckpointError: the checkpoint, or the sentence model's, is damaged.
        ConfigError: the architecture can only read as many sentences as it was trained with.
        DataError: the dev set is damaged, or has no sentence to check on.
    """
    _clear_up_after_killed_ones(out)
    _check_replaceable(out)
    trained = load_checkpoint(checkpoint)
    trained = replace(trained, config=choices.applied_to(trained.config))
    model = load_model(trained)
    checked = _documents(trained.config, documents)
    sample = _sample(checked, trained, model.architecture)
    alone = sentence_model_of(trained, model) if sentence is None else sentence_model_beside(trained, sentence)
    contents = Contents(trained.config, trained.tokenizer, model, alone)
    partial = beside(out)
    try:
        manifest = write_bundle(partial, contents, quantization, scores=scores)
        if contents.sentence is not None:
            _check_backbone(partial / BACKBONE, contents.sentence, trained.tokenizer, quantization, sample)
        stored = _check_weights(partial, model, quantization, sample)
        manifest = with_certainty(partial, manifest, score_of_least_sure_tenth(stored, checked))
        put_folder(partial, out)
    except OSError as error:
        raise BundleError(f"{out}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return manifest


def _clear_up_after_killed_ones(out: Path) -> None:
    """Remove what killed exports to this folder have left behind, and restore a bundle that one was replacing."""
    for partial in abandoned(out):
        shutil.rmtree(partial, ignore_errors=True)
    for former in abandoned(out, FORMER):
        if out.exists():
            shutil.rmtree(former, ignore_errors=True)
        else:
            former.rename(out)


def _check_replaceable(out: Path) -> None:
    if out.resolve() == Path.cwd():
        raise BundleError(f"{out}: is the current folder, which cannot be replaced; export to another one")
    if out.exists() and not (out / MANIFEST).is_file() and not (out.is_dir() and not any(out.iterdir())):
        raise BundleError(f"{out}: already exists and is not a bundle; remove it, or export to another folder")


def _documents(config: RunConfig, given: Sequence[Document] | None) -> Sequence[Document]:
    if given is not None:
        return given
    dev, folder = config.data.dev, data_folder()
    if dev is None:
        raise BundleError(
            "the bundle is checked on real sentences, and the run has no dev set: give sentences and their translations"
        )
    if not (folder / dev.source).exists():
        raise BundleError(
            "the bundle is checked on real sentences, but the run's dev set was not found: set ANTECEDENT_DATA to the"
            " folder that contains it, or give other sentences and translations to check on"
        )
    return read_documents(folder / dev.source, folder / dev.target)


def _sample(documents: Sequence[Document], trained: Checkpoint, reader: ContextReader) -> Sample:
    """Return the first sentences that are neither empty nor longer than in training, in their context."""
    config = trained.config
    longest = min(config.data.max_tokens, config.backbone.max_length)
    corpus = TokenizedCorpus([_translated(document) for document in documents], trained.tokenizer, longest)
    indices = corpus.usable[:CHECKED_SENTENCES].tolist()
    examples = [reader.select(corpus.example(index, reader)) for index in indices]
    limits = [max_target_length(len(e.source), config.decoding, config.backbone.max_length) for e in examples]
    requests = [TokenizedRequest(example, limit) for example, limit in zip(examples, limits, strict=True)]
    return Sample(requests, [corpus.targets[index] for index in indices])


def _translated(document: Document) -> Document:
    """Keep the sentences of a document that have a translation."""
    return Document(tuple(sentence for sentence in document.sentences if sentence.target is not None), document.name)


def _check_backbone(
    folder: Path, model: TranslationModel, tokenizer: Tokenizer, quantization: Quantization, sample: Sample
) -> None:
    """Check the conversion itself, in float32, and then the model that is shipped."""
    ours = TorchEngine(model)
    threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as name:
        exact = Path(name)
        convert(model, tokenizer, exact, "float32")
        converted = BackboneEngine(exact, tokenizer, "cpu", "float32", threads)
        if difference := exact_disagreement(ours, converted, sample):
            raise SelfTestError(
                f"the converted backbone disagrees with the checkpoint, so no bundle is written: {difference}"
            )
    shipped = BackboneEngine(folder, tokenizer, "cpu", quantization, threads)
    _check_shift(f"in {quantization}, the backbone", mean_shift(ours, shipped, sample))


def _check_weights(folder: Path, model: TranslationModel, quantization: Quantization, sample: Sample) -> Runtime:
    """Load the finished bundle as a server would, check its weights for decoding with context, and return it.

    A float32 bundle is checked in float32, as it is meant to be served: by default, this machine may compute in int8.
    """
    compute_type = "float32" if quantization == "float32" else "auto"
    stored = Runtime.load(folder, compute_type=compute_type, threads=torch.get_num_threads())
    _check_shift("the stored weights", mean_shift(TorchEngine(model), stored.engine("direct"), sample))
    return stored


def _check_shift(what: str, shift: float) -> None:
    if not abs(shift) <= CLOSE:  # also true for NaN
        raise SelfTestError(
            f"{what} changed the mean log-probability of the checked translations by {shift:.3f} nats per token,"
            f" more than {CLOSE}, so no bundle is written; try --quantization float32, and serve the bundle with"
            " ANTECEDENT_COMPUTE_TYPE=float32"
        )
