"""A small BERT for a language of which none is at hand: Devlin et al. 2019, section 3.1, by `transformers`.

It learns to restore masked pieces of two neighbouring sentences, in the form in which `bert_context` has them read.
Whether the second one follows the first is not asked: Liu et al. 2019, "RoBERTa", table 2, found nothing in that.
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
"""Pairs of which the loss is told now and then."""
_IGNORED: Final = -100
"""The label of a piece that is not to be restored, in `transformers`."""
_CHECKPOINTS: Final = "checkpoints"
_PLAN: Final = "plan.json"
"""Beside the checkpoints: by which plan they were made."""
_DAMAGED: Final = "is damaged, or was not written by this program"
_FREE: Final = {"updates", "every", "corpus"}
"""What of a run may be said otherwise when it goes on: when it ends, and how often it reports; and of a corpus, which
has to be the same, some runs say nothing."""


@dataclass(frozen=True, slots=True)
class BertPlan:
    """The size of a BERT, and of its training."""

    width: int = 256
    layers: int = 4
    vocabulary: int = 8000
    """Word pieces, at most."""
    pieces: int = 256
    """Positions."""
    updates: int = 10000
    pairs: int = 64
    """In a batch of each process."""
    peak: float = 5e-4
    """The learning rate after the first tenth of the updates, from which it falls to 0. With 1e-3 after 50 of them all
    states became the same."""
    every: int = 500
    """Updates between two checkpoints, and two looks at the loss."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class _Run(BertPlan):
    """A plan, and what it is carried out on."""

    corpus: str | None = None
    """The fingerprint of the text; of a run from before there was one, nothing."""


def train_bert(documents: Sequence[Document], plan: BertPlan, folder: Path, *, resume: bool = False) -> Path:
    """Train a BERT on the source sentences of a corpus, in this process or in all that torchrun started.

    Args:
        documents: the corpus.
        plan: sizes.
        folder: gets `config.json`, `model.safetensors`, `tokenizer.json`, and `checkpoints/` to go on from.
        resume: go on from the last of these checkpoints, if any.

    Returns:
        The folder, which `architecture.bert` may name.

    Raises:
        CheckpointError: there are checkpoints, and they are not to be gone on from, are of another plan or another
            corpus, or the last one is damaged; a BERT is there that this run has not made; or the disk is full.
        DataError: the corpus is too small to hold out pairs.
    """
    texts = [[sentence.source for sentence in document.sentences] for document in documents]
    _require_enough(sum(map(len, texts)), "sentences")
    run = _Run(**asdict(plan), corpus=_fingerprint(texts))
    _check_folder(folder, run, resume=resume)  # a process writes only when all are there, and so have looked
    set_seed(plan.seed)
    arguments = _arguments(plan, folder / _CHECKPOINTS)
    wordpiece = _vocabulary(texts, run, folder, arguments)
    pairs = [pair for document in texts for pair in _pairs(document, wordpiece, plan.pieces)]
    _require_enough(len(pairs), "sentences that say anything")
    model = MaskedWords(_shape(plan, wordpiece.size))
    model.set_attn_implementation("eager")  # on a CPU the backward pass of torch's fused attention takes longer
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
    """The same for the same sentences of the same documents, in the same order."""
    digest = blake2b(digest_size=16)
    for document in texts:
        digest.update("".join(f"{text}\n" for text in (*document, "")).encode())
    return digest.hexdigest()


def _check_folder(folder: Path, run: _Run, *, resume: bool) -> None:
    """Leave what an earlier run has made as it is, and what no run has."""
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
    """What two plans differ in, of what must be the same; nothing, if in nothing."""
    before, after = asdict(one), asdict(other)
    names = (name for name in before if name not in _FREE and before[name] != after[name])
    return next((f"{name} was {before[name]}, is {after[name]}" for name in names), None)


def _vocabulary(texts: Sequence[Sequence[str]], run: _Run, folder: Path, arguments: TrainingArguments) -> WordPiece:
    """The word pieces of a folder, where the first process puts plan and vocabulary if there is none yet.

    One for all processes, and for all that goes on from it, as its ids are others each time that it is trained.
    """
    with arguments.main_process_first(local=False):  # the folder is that of all machines
        if arguments.process_index == 0:
            (folder / _CHECKPOINTS).mkdir(parents=True, exist_ok=True)
            write_whole(folder / _CHECKPOINTS / _PLAN, [json.dumps(asdict(run)).encode()])
            if not (folder / TOKENIZER).exists():
                train_wordpiece(chain.from_iterable(texts), run.vocabulary).save(folder)
    return WordPiece.load(folder)


def _save(model: "MaskedWords", folder: Path) -> None:
    """As `save_pretrained` does it, whose file of weights nobody else could read."""
    model.config.save_pretrained(folder)
    weights = {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}
    write_whole(folder / WEIGHTS, [save(weights, {"format": "pt"})])


class MaskedWords(BertForMaskedLM):  # type: ignore[misc] # whose types nobody reads
    """Computes the vocabulary for the masked pieces alone, a seventh of all."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """The mean loss of the masked pieces of a batch, from (B, M) each."""
        states = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        masked = labels != _IGNORED
        total = F.cross_entropy(self.cls(states[masked]), labels[masked], reduction="sum")
        return {"loss": total / masked.sum().clamp(min=1)}


class _Telling(Trainer):  # type: ignore[misc] # as above
    """Says in one sentence which checkpoint cannot be written, or read: the package raises whatever happens to it."""

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
    """Rows of ids as `transformers` wants them."""

    def __init__(self, rows: "Sequence[array[int]]") -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        ids = self._rows[index].tolist()
        return {"input_ids": ids, "attention_mask": [1] * len(ids)}


def _pairs(texts: Sequence[str], wordpiece: WordPiece, pieces: int) -> "Iterator[array[int]]":
    """Each sentence of a document and the one before it, as BERT reads them; a first one alone."""
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
    """Heads of 64, or a little more where that does not divide the width."""
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
    gpus = max(1, arguments.n_gpu)  # more than one only without torchrun: a process divides its batch among them
    arguments.per_device_train_batch_size = arguments.per_device_eval_batch_size = max(1, plan.pairs // gpus)
    return arguments


def _special(wordpiece: WordPiece) -> Any:  # noqa: ANN401 - the package has no types for it
    """The vocabulary as `transformers` masks it."""
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
    """The last checkpoint that is whole: `transformers` writes into its place, and what it is at last."""
    whole = [each for each in folder.glob("checkpoint-*") if _is_whole(each)]
    return str(max(whole, key=lambda each: int(each.name.rpartition("-")[2]))) if whole else None


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / TRAINER_STATE_NAME).read_bytes())
    except (OSError, ValueError):
        return False
    return True
