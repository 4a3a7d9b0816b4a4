"""Training of a small BERT, for languages without a ready one: Devlin et al. 2019, section 3.1, by `transformers`.

It learns to restore masked pieces of two neighbouring sentences, in the format in which `bert_context` reads them.
It does not predict whether the second sentence follows the first: Liu et al. 2019, "RoBERTa", table 2, found no gain.
"""

import json
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Final

import torch
import torch.nn.functional as F
from pydantic import TypeAdapter
from safetensors.torch import save
from torch import Tensor
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer import TRAINER_STATE_NAME

from models.config import ContextWindow
from models.data.batches import Example
from models.data.documents import Document
from models.data.whole import write_whole
from models.data.wordpiece import (
    BEGIN,
    CONFIG,
    MASK,
    PADDING,
    SEPARATOR,
    TOKENIZER,
    UNKNOWN,
    WordPiece,
    train_wordpiece,
)
from models.errors import CheckpointError, DataError
from models.network.architectures.bert import WEIGHTS
from models.network.architectures.bert_input import fit, row

HELD_OUT: Final = 500
"""Pairs on which the loss is reported from time to time."""
_IGNORED: Final = -100
"""Label in `transformers` of a piece that is not to be restored."""
_CHECKPOINTS: Final = "checkpoints"
_PLAN: Final = "plan.json"
"""File beside the checkpoints with the plan they were made by."""
_DAMAGED: Final = "is damaged, or was not written by this program"
_FREE: Final = {"updates", "every", "corpus"}
"""Values that may change when a run is continued: its end and report interval; the corpus must stay the same, but old
runs did not record it."""


@dataclass(frozen=True, slots=True)
class BertPlan:
    """Sizes of a BERT and of its training."""

    width: int = 256
    layers: int = 4
    vocabulary: int = 8000
    """Maximum number of word pieces."""
    pieces: int = 256
    """Number of positions."""
    updates: int = 10000
    pairs: int = 64
    """Pairs per batch of each process."""
    peak: float = 5e-4
    """Learning rate after the first tenth of the updates, from which it falls to 0. With 1e-3 after 50 updates, all
    states became the same."""
    every: int = 500
    """Updates between checkpoints, and between evaluations of the loss."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class _Run(BertPlan):
    """A plan and the corpus it is carried out on."""

    corpus: str | None = None
    """Fingerprint of the text; None for a run older than this field."""


def train_bert(documents: Sequence[Document], plan: BertPlan, folder: Path, *, resume: bool = False) -> Path:
    """Train a BERT on the source sentences of a corpus, in this process or in all those started by torchrun.

    Args:
        documents: the corpus.
        plan: sizes of model and training.
        folder: receives `config.json`, `model.safetensors`, `tokenizer.json`, and `checkpoints/` to continue from.
        resume: continue from the last of these checkpoints, if any.

    Returns:
        The folder, for use as `architecture.bert`.

    Raises:
        CheckpointError: there are checkpoints without `resume`, or of another plan or corpus, or the last one is
            damaged; a BERT is there that this run has not made; or the disk is full.
        DataError: the corpus is too small to hold out pairs.
    """
    texts = [[sentence.source for sentence in document.sentences] for document in documents]
    _require_enough(sum(map(len, texts)), "sentences")
    run = _Run(**asdict(plan), corpus=_fingerprint(texts))
    _check_folder(folder, run, resume=resume)  # no process writes before all have checked
    set_seed(plan.seed)
    arguments = _arguments(plan, folder / _CHECKPOINTS)
    wordpiece = _vocabulary(texts, run, folder, arguments)
    pairs = [pair for document in texts for pair in _pairs(document, wordpiece, plan.pieces)]
    _require_enough(len(pairs), "sentences that say anything")
    model = MaskedWords(_shape(plan, wordpiece.size))
    model.set_attn_implementation("eager")  # on a CPU torch's fused attention is slower backward
    trainer = _Telling(
        model,
        arguments,
        data_collator=DataCollatorForLanguageModeling(_special(wordpiece)),
        train_dataset=_Pairs(pairs[HELD_OUT:]),
        eval_dataset=_Pairs(pairs[:HELD_OUT]),
    )
    trainer.train(resume_from_checkpoint=_last(folder / _CHECKPOINTS))
    if trainer.is_world_process_zero():
        _save(model, folder)
    return folder


def _require_enough(count: int, what: str) -> None:
    if count <= HELD_OUT:
        raise DataError(f"has {count} {what}; a BERT needs more than {HELD_OUT}")


def _fingerprint(texts: Sequence[Sequence[str]]) -> str:
    """Return a digest that is equal for the same sentences in the same documents and order."""
    digest = blake2b(digest_size=16)
    for document in texts:
        digest.update("".join(f"{text}\n" for text in (*document, "")).encode())
    return digest.hexdigest()


def _check_folder(folder: Path, run: _Run, *, resume: bool) -> None:
    """Refuse to overwrite what an earlier run, or something else, has written."""
    before = _earlier_plan(folder / _CHECKPOINTS / _PLAN)
    if before is not None or _last(folder / _CHECKPOINTS) is not None:  # earlier releases kept no plan
        if not resume:
            raise CheckpointError(f"{folder}: has checkpoints of an earlier run; continue it with --resume")
        if before is not None and (changed := _difference(before, run)):
            raise CheckpointError(f"{folder}: was begun with other options ({changed}); choose another folder")
        if before is not None and before.corpus not in (None, run.corpus):
            raise CheckpointError(f"{folder}: was trained on another corpus; the files have changed since")
    elif there := [name for name in (CONFIG, TOKENIZER, WEIGHTS) if (folder / name).exists()]:
        raise CheckpointError(f"{folder}: has a {there[0]}, but no checkpoints to continue from; choose another folder")


def _earlier_plan(file: Path) -> _Run | None:
    try:
        return TypeAdapter(_Run).validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file}: {_DAMAGED}: {' '.join(str(error).split())}") from None


def _difference(one: BertPlan, other: BertPlan) -> str | None:
    """Describe the first difference between two plans that must agree; None if there is none."""
    before, after = asdict(one), asdict(other)
    names = (name for name in before if name not in _FREE and before[name] != after[name])
    return next((f"{name} was {before[name]}, is {after[name]}" for name in names), None)


def _vocabulary(texts: Sequence[Sequence[str]], run: _Run, folder: Path, arguments: TrainingArguments) -> WordPiece:
    """Return a folder's word pieces; the first process writes plan and vocabulary if there is none yet.

    All processes and continued runs share one vocabulary, since its ids differ each time it is trained.
    """
    with arguments.main_process_first(local=False):  # the folder is that of all machines
        if arguments.process_index == 0:
            (folder / _CHECKPOINTS).mkdir(parents=True, exist_ok=True)
            write_whole(folder / _CHECKPOINTS / _PLAN, [json.dumps(asdict(run)).encode()])
            if not (folder / TOKENIZER).exists():
                train_wordpiece(chain.from_iterable(texts), run.vocabulary).save(folder)
    return WordPiece.load(folder)


def _save(model: "MaskedWords", folder: Path) -> None:
    """Save like `save_pretrained`, whose weight file other users could not read."""
    model.config.save_pretrained(folder)
    weights = {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}
    write_whole(folder / WEIGHTS, [save(weights, {"format": "pt"})])


class MaskedWords(BertForMaskedLM):  # type: ignore[misc] # the package is untyped
    """A BERT that computes vocabulary scores for the masked pieces alone, a seventh of all."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Return the mean loss of a batch's masked pieces, from inputs of (B, M) each."""
        states = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        masked = labels != _IGNORED
        total = F.cross_entropy(self.cls(states[masked]), labels[masked], reduction="sum")
        return {"loss": total / masked.sum().clamp(min=1)}


class _Telling(Trainer):  # type: ignore[misc] # as above
    """A trainer that reports unreadable or unwritable checkpoints in one sentence: the package raises anything."""

    def _save_checkpoint(self, *given: Any) -> None:  # noqa: ANN401 - as the package gives it
        with _told(self.args.output_dir, "could not be written"):
            super()._save_checkpoint(*given)

    def _load_from_checkpoint(self, checkpoint: str, *given: Any) -> None:  # noqa: ANN401 - as above
        with _told(checkpoint, _DAMAGED):
            super()._load_from_checkpoint(checkpoint, *given)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with _told(checkpoint, _DAMAGED):
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with _told(checkpoint, _DAMAGED):
            super()._load_rng_state(checkpoint)


@contextmanager
def _told(place: str | None, what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CheckpointError(f"{place}: {what}: {reason}") from error


class _Pairs(Dataset[dict[str, list[int]]]):
    """Rows of ids in the form `transformers` expects."""

    def __init__(self, rows: "Sequence[array[int]]") -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        ids = self._rows[index].tolist()
        return {"input_ids": ids, "attention_mask": [1] * len(ids)}


def _pairs(texts: Sequence[str], wordpiece: WordPiece, pieces: int) -> "Iterator[array[int]]":
    """Yield each sentence of a document with the one before it, as BERT reads them; the first one alone."""
    encoded = wordpiece.encode(texts)
    for before, current in zip([[], *encoded], encoded, strict=False):
        if current:
            own = Example(current, preceding=[before] if before else [])
            yield array("I", [number - 1 for number in row(fit(own, ContextWindow(size=1), pieces), wordpiece)])


def _shape(plan: BertPlan, vocabulary: int) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=plan.width,
        num_hidden_layers=plan.layers,
        num_attention_heads=_heads(plan.width),
        intermediate_size=4 * plan.width,
        max_position_embeddings=plan.pieces,
        hidden_dropout_prob=0.0,  # one pass over the corpus, or less
        attention_probs_dropout_prob=0.0,
    )


def _heads(width: int) -> int:
    """Return the number of heads: of width 64, or a little more where that does not divide the width."""
    return next(heads for heads in range(max(1, width // 64), 0, -1) if width % heads == 0)


def _arguments(plan: BertPlan, folder: Path) -> TrainingArguments:
    cpu = not torch.cuda.is_available()
    arguments = TrainingArguments(
        str(folder),
        max_steps=plan.updates,
        train_sampling_strategy="group_by_length",
        learning_rate=plan.peak,
        warmup_steps=plan.updates // 10,
        weight_decay=0.01,
        adam_beta2=0.98,
        eval_strategy="steps",
        eval_steps=plan.every,
        save_steps=plan.every,
        logging_steps=plan.every,
        save_total_limit=1,
        prediction_loss_only=True,
        remove_unused_columns=False,
        report_to="none",
        seed=plan.seed,
        use_cpu=cpu,
        dataloader_pin_memory=not cpu,
        ddp_find_unused_parameters=False,
    )
    gpus = max(1, arguments.n_gpu)  # without torchrun a process splits its batch among GPUs
    arguments.per_device_train_batch_size = arguments.per_device_eval_batch_size = max(1, plan.pairs // gpus)
    return arguments


def _special(wordpiece: WordPiece) -> Any:  # noqa: ANN401 - the package has no types for it
    """Wrap the vocabulary in the tokenizer that `transformers` needs for masking."""
    make: Any = PreTrainedTokenizerFast
    return make(
        tokenizer_object=wordpiece.tokenizer,
        unk_token=UNKNOWN,
        cls_token=BEGIN,
        sep_token=SEPARATOR,
        pad_token=PADDING,
        mask_token=MASK,
    )


def _last(folder: Path) -> str | None:
    """Return the last complete checkpoint: `transformers` writes into the final place, its state file last."""
    whole = [each for each in folder.glob("checkpoint-*") if _is_whole(each)]
    return str(max(whole, key=lambda each: int(each.name.rpartition("-")[2]))) if whole else None


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / TRAINER_STATE_NAME).read_bytes())
    except (OSError, ValueError):
        return False
    return True
