"""Every usable sentence occurs once a pass, in an order that the seed decides, with context from its own document."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from models.config import ContextWindow, EmphasisConfig, TokenizerConfig
from models.data.batches import Example, latest, make_batch, pad, plan, plan_blocks
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence, windows
from models.data.emphasis import write_gains
from models.data.tokenizer import BOS, EOS, PAD, Tokenizer, train_tokenizer
from models.errors import DataError


class Reader:
    """An architecture that reads the whole window, and records the preceding sentences that it was given."""

    reads_target = True
    joins_source = False
    recurrent = False

    def __init__(self, window: int, following: int = 0, kind: Literal["sliding", "block"] = "sliding") -> None:
        """Read `window` sentences before and `following` after."""
        self.window = ContextWindow(kind=kind, size=window, following=following)
        self.seen: list[list[list[int]]] = []

    def pieces(self, texts: Sequence[str]) -> None:
        """Do nothing, as it has no tokenization of its own."""

    def select(self, example: Example) -> Example:
        """Keep all sentences."""
        return example

    def source(self, example: Example) -> Sequence[int]:
        """The sentence."""
        return example.source

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Count the preceding sentences of each example."""
        self.seen = [[list(tokens) for tokens in example.preceding] for example in examples]
        return {"counts": torch.tensor([len(example.preceding) for example in examples])}


class Joining(Reader):
    """A reader that puts the context into the source."""

    joins_source = True


def as_lists(sentences: Sequence[Sequence[int]]) -> list[list[int]]:
    """Arrays of token ids as lists."""
    return [list(tokens) for tokens in sentences]


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Thirty documents of one to eight sentences."""
    chooser = random.Random(1)

    def words() -> str:
        return " ".join("".join(chooser.choices("abcde", k=3)) for _ in range(chooser.randint(1, 6)))

    return [
        Document(tuple(Sentence(words(), words()) for _ in range(chooser.randint(1, 8))), str(i)) for i in range(30)
    ]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory, documents: list[Document]) -> Tokenizer:
    """A joint vocabulary of 40 pieces."""
    sentences = [sentence for document in documents for sentence in document.sentences]
    config = TokenizerConfig(path=tmp_path_factory.mktemp("tokenizer"), vocabulary=40, byte_fallback=False)
    return train_tokenizer(config, (s.source for s in sentences), (s.target or "" for s in sentences))


LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=80)


@given(LENGTHS, st.integers(1, 200), st.integers(0, 5))
def test_a_pass_has_every_usable_sentence_once(lengths: list[int], budget: int, epoch: int) -> None:
    """Nothing is dropped and nothing occurs twice, whatever the lengths and the budget."""
    usable = np.arange(0, len(lengths), 2)
    for context in (None, np.array(lengths)[::-1]):
        batches = plan(np.array(lengths), usable, budget, 1, epoch, context)
        assert sorted(index for batch in batches for index in batch.tolist()) == usable.tolist()


@given(LENGTHS, st.integers(1, 200))
def test_no_batch_is_over_the_token_budget(lengths: list[int], budget: int) -> None:
    """The number of sentences times the longest is within the budget; only a single sentence may exceed it."""
    for batch in plan(np.array(lengths), np.arange(len(lengths)), budget, 1, 0):
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget


@given(LENGTHS, st.integers(1, 200))
def test_no_batch_has_more_context_than_fits(lengths: list[int], budget: int) -> None:
    """Many short sentences with long contexts, such as headings in an article, are not all read at once."""
    every, context = np.arange(len(lengths)), 10 * np.array(lengths)[::-1]
    for batch in plan(np.array(lengths), every, budget, 1, 0, context):
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget
        assert len(batch) == 1 or len(batch) * int(context[batch].max()) <= 8 * budget


def test_batches_are_as_full_as_the_budget_allows() -> None:
    """Sentences of similar length come together, so that little of a batch is padding."""
    lengths = np.array(random.Random(1).choices(range(5, 100), k=2000))
    batches = plan(lengths, np.arange(2000), 1000, 1, 0)
    padded = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    assert padded < 1.02 * lengths.sum()
    assert padded / len(batches) > 900


def test_contexts_of_like_length_come_together() -> None:
    """If contexts are read, a batch pads neither them nor its sentences much, even if their lengths are unrelated."""
    chooser = random.Random(1)
    lengths, context = (np.array(chooser.choices(range(5, longest), k=20_000)) for longest in (60, 180))
    batches = plan(lengths, np.arange(20_000), 1000, 1, 0, context)
    for tokens, most in ((lengths, 1.1), (context, 1.2)):
        assert sum(len(batch) * int(tokens[batch].max()) for batch in batches) < most * tokens.sum()


def test_a_window_has_the_tokens_of_its_sentences(documents: list[Document], tokenizer: Tokenizer) -> None:
    """The length of a context is that of all sentences in it, and no context crosses a document."""
    corpus = TokenizedCorpus(documents, tokenizer, 100)
    for reader in (Reader(1), Reader(3), Reader(2, following=2), Reader(3, following=3, kind="block")):
        examples = [corpus.example(i, reader) for i in range(len(corpus.sources))]
        expected = [sum(map(len, (*example.preceding, *example.following))) for example in examples]
        assert corpus.context_lengths(reader).tolist() == expected


def test_an_example_is_what_its_window_says(documents: list[Document], tokenizer: Tokenizer) -> None:
    """Tokens of the sentences before and after, and of the translations before, are those of the text windows."""
    corpus, reader = TokenizedCorpus(documents, tokenizer, 64), Reader(2, following=1)
    found = [corpus.example(i, reader) for i in range(len(corpus.sources))]
    texts = [window for document in documents for window in windows(document, reader.window)]
    for example, window in zip(found, texts, strict=True):
        sides = (window.preceding, window.following)
        for tokens, sentences in zip((example.preceding, example.following), sides, strict=True):
            assert as_lists(tokens) == tokenizer.encode_sources([sentence.source for sentence in sentences])
        assert as_lists(example.translations) == tokenizer.encode_targets([s.target or "" for s in window.preceding])


@pytest.mark.parametrize(("count", "room", "kept"), [(3, 9, 3), (2, 9, 2), (3, 5, 2), (3, 4, 1), (3, 1, 0), (0, 9, 0)])
def test_the_latest_sentences_are_chosen_whole(count: int, room: int, kept: int) -> None:
    """As many of the last ones as are wanted and fit, none cut, none left out in between."""
    sentences = [[1], [2, 2, 2], [3, 3]]
    assert latest(sentences, count, room) == sentences[3 - kept :]


def of_sentences(lengths: NDArray[np.int64], seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """Batches of single sentences."""
    return plan(lengths, np.arange(len(lengths)), 200, seed, epoch)


def of_blocks(lengths: NDArray[np.int64], seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """Batches of blocks of three sentences."""
    return plan_blocks(lengths, np.arange(len(lengths)).reshape(-1, 3), 200, seed, epoch)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [of_sentences, of_blocks])
def test_seed_and_epoch_decide_the_order(make: Callable[..., list[NDArray[np.int64]]]) -> None:
    """The same seed and epoch give the same batches; another seed or epoch gives others."""
    lengths = np.array(random.Random(1).choices(range(5, 30), k=300))
    first, again, epoch, seed = (
        [batch.tolist() for batch in make(lengths, *numbers)] for numbers in ((1, 0), (1, 0), (1, 1), (2, 0))
    )
    assert first == again
    assert first not in (epoch, seed)
    assert {tuple(sorted(batch)) for batch in first} != {tuple(sorted(batch)) for batch in epoch}


@pytest.mark.parametrize("make", [of_sentences, of_blocks])
def test_short_and_long_sentences_come_in_turn(make: Callable[..., list[NDArray[np.int64]]]) -> None:
    """Batches are sorted by length, but not learnt from in that order: each half of a pass has short and long ones."""
    lengths = np.array(random.Random(1).choices(range(5, 30), k=3000))
    longest = [int(lengths[batch].max()) for batch in make(lengths, 1, 0)]
    halves = [np.mean(half) for half in np.array_split(longest, 2)]
    assert halves[0] == pytest.approx(halves[1], rel=0.15)


def test_a_batch_may_be_just_as_large_as_the_budget() -> None:
    """Ten sentences of 20 tokens exactly fill the budget of 200."""
    assert [len(batch) for batch in of_sentences(np.full(30, 20), 1, 0)] == [10, 10, 10]


@pytest.mark.parametrize("window", [0, 1, 3])
def test_context_never_crosses_a_document(documents: list[Document], tokenizer: Tokenizer, window: int) -> None:
    """Each sentence comes with at most `window` sentences just before it, all from its own document."""
    corpus, reader = TokenizedCorpus(documents, tokenizer, 64), Reader(window)
    batch = corpus.batch(range(len(corpus.sources)), reader)
    expected = [
        tokenizer.encode_sources([s.source for s in document.sentences[max(0, position - window) : position]])
        for document in documents
        for position in range(len(document.sentences))
    ]
    assert reader.seen == expected
    assert batch.context["counts"].tolist() == [len(sentences) for sentences in expected]


def test_a_batch_has_control_tokens_and_padding(documents: list[Document], tokenizer: Tokenizer) -> None:
    """Source: tokens, </s>; target: <s>, tokens, </s>; padded on the right to the longest."""
    corpus = TokenizedCorpus(documents, tokenizer, 64)
    batch = corpus.batch([4, 9, 2], Reader(0))
    assert batch.target is not None
    for row, index in enumerate([4, 9, 2]):
        source = [*corpus.sources[index], EOS]
        target = [BOS, *corpus.targets[index], EOS]
        assert batch.source[row].tolist() == source + [PAD] * (batch.source.size(1) - len(source))
        assert batch.target[row].tolist() == target + [PAD] * (batch.target.size(1) - len(target))


def test_a_batch_to_be_translated_has_no_target() -> None:
    """An empty source consists of its end of sentence."""
    batch = make_batch([[], [5, 6]], None, {})
    assert batch.source.tolist() == [[EOS, PAD, PAD], [5, 6, EOS]]
    assert batch.target is None
    assert batch.to(torch.device("cpu")).target is None


def test_what_cannot_be_trained_on_is_context_only(tokenizer: Tokenizer) -> None:
    """Pairs that are too long, or have an empty side, are not learnt from, but stay in their documents as context."""
    sentences = ("abc", "abc"), ("abc " * 30, "abc"), ("abc", "abc " * 30), ("abc", ""), ("abc", "abc")
    document = Document(tuple(Sentence(*pair) for pair in sentences))
    corpus, reader = TokenizedCorpus([document], tokenizer, 20), Reader(3)
    assert corpus.usable.tolist() == [0, 4]
    longest = int(corpus.lengths[0])
    assert TokenizedCorpus([document], tokenizer, longest).usable.tolist() == [0, 4]
    corpus.batch([4], reader)
    assert reader.seen == [tokenizer.encode_sources([source for source, _ in sentences[1:4]])]


def test_a_context_that_is_too_long_is_not_trained_on(documents: list[Document], tokenizer: Tokenizer) -> None:
    """Sentences with too many tokens of context are not learnt from; they remain context of others."""
    for reader in (Reader(2), Reader(2, following=1), Reader(3, following=3, kind="block")):
        corpus = TokenizedCorpus(documents, tokenizer, 100, max_context_tokens=15)
        context = corpus.context_lengths(reader)
        used = sorted(index for batch in corpus.plan(reader, 200, seed=1, epoch=0) for index in batch.tolist())
        assert used == np.flatnonzero(context <= 15).tolist()
        assert 0 < len(used) < len(context)
    alone = corpus.plan(Reader(0), 200, seed=1, epoch=0)
    assert sum(map(len, alone)) == len(context)


def test_each_sentence_of_a_batch_has_its_own_weight(
    documents: list[Document], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """Weights follow their sentences, in whatever order those come."""
    count = sum(len(document.sentences) for document in documents)
    write_gains(tmp_path / "gains", [[number / count for number in range(count)]])
    emphasis = EmphasisConfig(gains=tmp_path / "gains")
    corpus = TokenizedCorpus(documents, tokenizer, 64, emphasis=emphasis)
    batch = corpus.batch([7, 2, 11], Reader(0))
    assert batch.weights is not None
    assert batch.weights.tolist() == pytest.approx([1 + number / count for number in (7, 2, 11)], abs=1e-4)


def test_a_context_in_the_source_counts_in_a_batch(documents: list[Document], tokenizer: Tokenizer) -> None:
    """Context that is joined to the source is padded like it, and counts in full."""
    corpus = TokenizedCorpus(documents, tokenizer, 100)
    reader = Joining(3)
    context = corpus.context_lengths(reader)
    for batch in corpus.plan(reader, 100, seed=1, epoch=0):
        longest = int((corpus.source_lengths + context)[batch].max())
        assert len(batch) == 1 or len(batch) * longest <= 100


def test_a_corpus_with_nothing_to_train_on_is_refused(tokenizer: Tokenizer) -> None:
    """If all pairs are too long, or lack translations, there is a clear error instead of an endless run."""
    with pytest.raises(DataError, match="between 1 and 4 tokens"):
        TokenizedCorpus([Document((Sentence("abc " * 9, "abc " * 9),))], tokenizer, 5)
    three = TokenizedCorpus([Document((Sentence("abc abc", "abc"),) * 3)], tokenizer, 64, max_context_tokens=2)
    with pytest.raises(DataError, match="at most 2 tokens"):
        three.plan(Reader(2, following=2), 64, seed=1, epoch=0)
    with pytest.raises(DataError, match="no translation"):
        TokenizedCorpus([Document((Sentence("abc"),))], tokenizer, 64)


def test_padding_goes_to_the_right() -> None:
    """Sequences are padded to the longest one, with the id of padding."""
    assert pad([[7], [7, 8, 9], []]).tolist() == [[7, PAD, PAD], [7, 8, 9], [PAD] * 3]
