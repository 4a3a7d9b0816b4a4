"""The batches that each update of a run reads, and the processes that make them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from models.config import TrainingConfig, load_config
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import PAD
from models.errors import ConfigError, FeedError
from models.training.distributed import World
from models.training.feed import Feed, Share, fetched
from models.training.run import make_tokenizer, plan_model, read_corpus

MakeRun = Callable[..., Path]
SETTINGS = TrainingConfig(updates=7, batch_tokens=60, accumulation=2, context_dropout=0.3, context_shuffling=0.3)


def make_feed(make_run: MakeRun, sampling: float | None = None, **architecture: object) -> Feed:
    """The feed of an architecture; some sentences are learnt with other contexts."""
    config = load_config(make_run("run", architecture=architecture, training={"step": "joint"}))
    corpus = TokenizedCorpus(read_corpus(config.data.train), make_tokenizer(config), 60, subword_sampling=sampling)
    return Feed(corpus, plan_model(config).architecture, SETTINGS, World())


@pytest.fixture
def feed(make_run: MakeRun) -> Feed:
    """The feed of a Doc-Transformer."""
    return make_feed(make_run, kind="doc_transformer")


@pytest.fixture
def sampling(make_run: MakeRun) -> Feed:
    """The feed of a Doc-Transformer that learns drawn segmentations."""
    return make_feed(make_run, 0.3, kind="doc_transformer")


def tensors(share: Share) -> list[torch.Tensor]:
    """All tensors that a share has for the model."""
    return [each for b in share.batches for each in (b.source, b.target, *b.context.values()) if each is not None]


@pytest.mark.parametrize("error", [ConnectionResetError(), EOFError()])
def test_what_a_process_that_has_died_had_made_is_told_to_be_gone(error: Exception) -> None:
    """Torch's connection may break before torch notices the death: that is a FeedError, but other errors stay."""

    def dying(last: Exception) -> Iterator[Share]:
        yield Share([], 0, 0.0, (0, 0))
        raise last

    shares = fetched(dying(error))
    assert next(shares).batches == []
    with pytest.raises(FeedError, match="--resume"):
        next(shares)
    with pytest.raises(ValueError, match="another"):
        list(fetched(dying(ValueError("another"))))


@pytest.mark.parametrize("name", ["feed", "sampling"])
def test_batches_that_are_made_ahead_are_the_same(name: str, request: pytest.FixtureRequest) -> None:
    """Two processes make the same batches as one, in the same order, even across the end of an epoch."""
    feed: Feed = request.getfixturevalue(name)
    alone, ahead = (list(feed.shares(0, 4, 20, workers=workers)) for workers in (0, 2))
    assert len(ahead) == 20
    assert ahead[-1].reached[0] > 0
    for one, other in zip(alone, ahead, strict=True):
        assert (one.tokens, one.weight, one.reached) == (other.tokens, other.weight, other.reached)
        assert all(map(torch.equal, tensors(one), tensors(other)))


@pytest.mark.parametrize("name", ["feed", "sampling"])
def test_a_run_goes_on_where_it_was(name: str, request: pytest.FixtureRequest) -> None:
    """From the position that a share has reached, even at the end of an epoch, the same batches follow."""
    feed: Feed = request.getfixturevalue(name)
    whole = list(feed.shares(0, 0, 20))
    end = next(number for number, share in enumerate(whole) if share.reached == (1, 0))
    for last in (0, end - 1, end):
        rest = list(feed.shares(*whole[last].reached, len(whole) - last - 1))
        for one, other in zip(rest, whole[last + 1 :], strict=True):
            assert one.reached == other.reached
            assert all(map(torch.equal, tensors(one), tensors(other)))


def rows(share: Share) -> list[list[list[int]]]:
    """The sentences of a share with their translations and contexts, without padding."""
    return [
        [each[each != PAD].tolist() for each in row]
        for batch in share.batches
        if batch.target is not None
        for row in zip(batch.source, batch.target, batch.context["tokens"], strict=True)
    ]


def test_segmentations_are_drawn_anew_in_each_pass(sampling: Feed) -> None:
    """In two passes, the same sentences have the same contexts, but many are in other pieces."""
    passes: list[list[list[list[int]]]] = [[], []]
    for share in sampling.shares(0, 0, 1000):
        if share.reached[0] > 1:
            break
        passes[share.reached[0] - (share.reached[1] == 0)] += rows(share)
    first, second = passes
    assert len(first) > 20
    assert sorted(source for source, *_ in first) != sorted(source for source, *_ in second)


def test_a_large_batch_is_computed_in_parts(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts have the batch's sentences, with contexts that may come from other parts; token counts are the same."""
    whole = list(feed.shares(0, 0, 10))
    monkeypatch.setattr("models.training.feed._AT_ONCE", 15)
    parts = list(feed.shares(0, 0, 10))
    for one, many in zip(whole, parts, strict=True):
        assert len(many.batches) > len(one.batches)
        assert rows(many) == rows(one)
        assert (many.tokens, many.weight, many.reached) == (one.tokens, one.weight, one.reached)


def test_sentences_that_go_on_from_each_other_are_computed_together(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Divided into parts, as many sentences are the first, second and third of a block as in whole batches."""
    feed = make_feed(make_run, kind="global_local", block_sentences=3, warm_start=True)

    def turns() -> list[tuple[int, int]]:
        return [turn for s in feed.shares(0, 0, 10) for b in s.batches for turn in enumerate(map(len, b.turns))]

    whole = turns()
    monkeypatch.setattr("models.training.feed._AT_ONCE", 15)
    parts = turns()
    assert len(parts) > len(whole)
    for place in range(3):
        assert sum(size for turn, size in parts if turn == place) == sum(size for turn, size in whole if turn == place)


def test_a_run_that_has_ended_reads_nothing(feed: Feed) -> None:
    """It does not even start processes."""
    assert list(feed.shares(0, 0, 0, workers=2)) == []


def test_a_pass_that_is_less_than_an_update_is_left_out(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes may have different numbers of batches: one with a batch too few for an update is skipped."""
    plan, short = feed._plan, {1, 2}
    size = len(plan(0))
    monkeypatch.setattr(feed, "_size", size)
    monkeypatch.setattr(feed, "_plan", lambda epoch: plan(0)[: size - (epoch in short)])
    assert [share.reached for share in feed.shares(0, 0, 3)] == [(1, 0), (4, 0), (5, 0)]
    monkeypatch.setattr(feed, "_plan", lambda _: plan(0)[1:])
    with pytest.raises(ConfigError, match=f"only {size - 1} batches, but an update needs {size}"):
        list(feed.shares(3, 0, 1))
