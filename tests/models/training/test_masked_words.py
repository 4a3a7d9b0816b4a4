"""Training your own BERT to restore masked pieces."""

import json
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from random import Random

import pytest
import torch
from torch import Tensor
from transformers import BertForMaskedLM

from models.data.documents import Document, Sentence
from models.data.wordpiece import CONFIG, MASK, TOKENIZER, WordPiece
from models.errors import CheckpointError, DataError
from models.network.architectures.bert import WEIGHTS, FrozenBert
from models.training.masked_words import BertPlan, MaskedWords, _shape, train_bert
from tests.support.command_line import run
from tests.support.full_disk import no_file_larger_than

ALPHABET = "あいうえおかきくけこ"
TINY = BertPlan(width=16, layers=1, vocabulary=30, pieces=32, updates=6, pairs=8, every=3)


def corpus(count: int = 300) -> list[Document]:
    """Documents of two sentences, each of which repeats the same one of ten letters."""
    rng = Random(1)

    def said(letter: str) -> Sentence:
        return Sentence("。".join(letter * rng.randint(2, 4)))

    letters = [rng.choice(ALPHABET) for _ in range(count)]
    return [Document((said(letter), said(letter))) for letter in letters]


def test_masked_pieces_are_restored(tmp_path: Path) -> None:
    """They are restored from the sentence before, their only clue; `bert_context` can read the resulting folder."""
    plan = BertPlan(width=64, layers=2, vocabulary=30, pieces=32, updates=400, pairs=64, peak=3e-3, every=400)
    folder = train_bert(corpus(2000), plan, tmp_path / "bert")
    frozen = FrozenBert(folder, width=64, positions=32)
    wordpiece = frozen.wordpiece
    model, hidden = BertForMaskedLM.from_pretrained(folder).eval(), wordpiece.tokenizer.token_to_id(MASK)
    for letter in ALPHABET:
        before = wordpiece.encode([f"{letter}。{letter}"])[0]
        ids = torch.tensor([[wordpiece.begin, *before, wordpiece.separator, hidden, wordpiece.separator]])
        with torch.no_grad():
            best = int(model(input_ids=ids).logits[0, -2].argmax())
        assert wordpiece.pieces[best] == letter
    assert frozen.states(ids + 1).shape == (1, ids.size(1), 64)


def test_it_reads_pairs_as_bert_context_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair is [CLS], the preceding sentence, [SEP], the sentence, [SEP]; a first sentence has none before it."""
    seen: list[list[int]] = []
    forward = MaskedWords.forward

    def watch(self: MaskedWords, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        original = torch.where(labels >= 0, labels, input_ids)
        seen.extend(row[kept.bool()].tolist() for row, kept in zip(original, attention_mask, strict=True))
        return forward(self, input_ids, attention_mask, labels)

    monkeypatch.setattr(MaskedWords, "forward", watch)
    documents = corpus()
    wordpiece = WordPiece.load(train_bert(documents, TINY, tmp_path / "bert"))
    texts = [wordpiece.encode([sentence.source for sentence in document.sentences]) for document in documents]
    begin, end = wordpiece.begin, wordpiece.separator
    alone = [[begin, end, *first, end] for first, _ in texts]
    pairs = [[begin, *first, end, *second, end] for first, second in texts]
    assert all(row in alone or row in pairs for row in seen)
    assert any(row in alone for row in seen)
    assert any(row in pairs for row in seen)


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder has a BERT only at the end; its weights depend on where it was killed, as masks are drawn anew."""
    folder, forward, done = tmp_path / "bert", MaskedWords.forward, 0

    @wraps(forward)
    def dying(self: MaskedWords, **inputs: Tensor) -> dict[str, Tensor]:
        nonlocal done
        done += self.training
        if done == 5:
            raise KeyboardInterrupt
        return forward(self, **inputs)

    monkeypatch.setattr(MaskedWords, "forward", dying)
    with pytest.raises(KeyboardInterrupt):
        train_bert(corpus(), TINY, folder)
    assert not (folder / WEIGHTS).exists()
    vocabulary = (folder / TOKENIZER).read_bytes()
    (folder / "checkpoints" / "checkpoint-999").mkdir()  # as left if a process is killed while writing it
    with pytest.raises(CheckpointError, match="--resume"):
        train_bert(corpus(), TINY, folder)
    train_bert(corpus(), TINY, folder, resume=True)
    assert done == 5 + 3
    assert (folder / TOKENIZER).read_bytes() == vocabulary
    assert FrozenBert(folder, width=16, positions=32).states(torch.tensor([[3, 4]])).isfinite().all()


@pytest.mark.parametrize("name", [WEIGHTS, "optimizer.pt", "rng_state.pth"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, name: str) -> None:
    """A power failure may leave one; the error names it, so that it can be removed."""
    folder = train_bert(corpus(), TINY, tmp_path / "bert")
    (file,) = folder.glob(f"checkpoints/checkpoint-*/{name}")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(CheckpointError, match=f"{file.parent}: is damaged"):
        train_bert(corpus(), replace(TINY, updates=9), folder, resume=True)


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """If a checkpoint does not fit, the error names the folder of checkpoints."""
    with (
        no_file_larger_than(30_000),
        pytest.raises(CheckpointError, match=f"{tmp_path / 'bert' / 'checkpoints'}: could not be written"),
    ):
        train_bert(corpus(), TINY, tmp_path / "bert")


def test_too_small_a_corpus_is_refused(tmp_path: Path) -> None:
    """It is refused before anything is written."""
    with pytest.raises(DataError, match="500"):
        train_bert(corpus(100), TINY, tmp_path / "bert")
    assert not (tmp_path / "bert").exists()


def test_sentences_that_say_nothing_are_no_pairs(tmp_path: Path) -> None:
    """A zero-width space is text, but has no pieces."""
    nothing = [Document((Sentence("\u200b"),))] * 100
    with pytest.raises(DataError, match="has 500 sentences that say anything; a BERT needs more than 500"):
        train_bert([*corpus(250), *nothing], TINY, tmp_path / "bert")


@pytest.mark.parametrize("name", [CONFIG, TOKENIZER, WEIGHTS])
@pytest.mark.parametrize("resume", [False, True])
def test_a_bert_of_another_kind_is_never_overwritten(tmp_path: Path, name: str, resume: bool) -> None:
    """It may have been downloaded, or its checkpoints may have been deleted."""
    (tmp_path / name).write_text("kept", encoding="utf-8")
    with pytest.raises(CheckpointError, match=f"has a {name}, but no checkpoints to continue from"):
        train_bert(corpus(), TINY, tmp_path, resume=resume)
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == ["kept"]


def test_a_run_goes_on_by_the_plan_that_it_began_by(tmp_path: Path) -> None:
    """Only the number of updates may change; weights have the same file permissions as other files."""
    folder = train_bert(corpus(), TINY, tmp_path / "bert")
    assert (folder / WEIGHTS).stat().st_mode == (folder / CONFIG).stat().st_mode
    before = (folder / WEIGHTS).read_bytes()
    with pytest.raises(CheckpointError, match=r"other options \(width was 16, is 32\)"):
        train_bert(corpus(), replace(TINY, width=32), folder, resume=True)
    assert (folder / WEIGHTS).read_bytes() == before
    train_bert(corpus(), replace(TINY, updates=9), folder, resume=True)
    assert (folder / WEIGHTS).read_bytes() != before
    assert (folder / "checkpoints" / "checkpoint-9").is_dir()
    (folder / "checkpoints" / "plan.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"plan\.json: is damaged, or was not written by this program"):
        train_bert(corpus(), TINY, folder, resume=True)


def test_a_run_goes_on_with_the_corpus_that_it_began_with(tmp_path: Path) -> None:
    """Other boundaries of documents make another corpus; runs that have not recorded theirs accept any."""
    folder, plan = train_bert(corpus(), TINY, tmp_path / "bert"), tmp_path / "bert" / "checkpoints" / "plan.json"
    other = [Document((sentence,)) for document in corpus() for sentence in document.sentences]
    longer = replace(TINY, updates=9)
    with pytest.raises(CheckpointError, match="was trained on another corpus"):
        train_bert(other, longer, folder, resume=True)
    plan.write_text(json.dumps(asdict(TINY)), encoding="utf-8")
    train_bert(other, longer, folder, resume=True)
    assert (folder / "checkpoints" / "checkpoint-9").is_dir()


@pytest.mark.parametrize(("width", "heads"), [(32, 1), (200, 2), (256, 4), (384, 6)])
def test_every_width_has_its_heads(width: int, heads: int) -> None:
    """Heads have width 64, as in BERT, or the next larger width that divides the model's."""
    shape = _shape(BertPlan(width=width), 100)
    assert (shape.num_attention_heads, width % heads) == (heads, 0)


def test_vocabulary_without_measure_is_refused(tmp_path: Path) -> None:
    """A million pieces are the maximum, as for a tokenizer: the library panics when it runs out of memory."""
    done = run("bert", tmp_path / "run.yaml", "--out", tmp_path / "bert", "--vocabulary", "1000001")
    assert done.returncode == 2
    assert "1000001 is not in the range" in done.stderr
