"""Translation of whole documents, without a server around it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.bundle.manifest import Manifest
from models.data.documents import Sentence
from models.engine.requests import Alternative, Options, Translation
from models.errors import AntecedentError, RequestError, SentenceTooLongError
from service.errors import InvalidInputError, ModelNotFoundError, QueueFullError
from service.inference.admission import Admission
from service.inference.batcher import Batcher
from service.inference.catalogue import Catalogue, Model
from service.inference.pool import WorkerPool
from service.inference.wire import Batch, Outcome, Outcomes
from service.inference.worker import Worker
from service.schemas.documents import DocumentAnswer, DocumentEnd, DocumentRequest, StreamedSentence
from service.segmentation.paragraphs import unwrapped
from service.settings import Settings
from service.use_cases.documents import Documents
from tests.support.lanes import Bench, echo, queued, until
from tests.support.servers import bundle


class Desk:
    """Documents on a lane whose behaviour the test decides."""

    def __init__(self, manifest: Manifest, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]] = echo) -> None:
        self.bench = Bench(behave)
        self.bench.batcher.open()
        batcher = cast("Batcher[Worker]", self.bench.batcher)
        self.catalogue = Catalogue([Model(manifest, cast(WorkerPool, None), batcher, manifest.name)])
        self.admission = Admission(20, lambda: [self.bench.batcher])
        limits = Settings(
            max_document_sentences=50,
            max_sentence_characters=30,
            max_translation_characters=40,
            max_context_sentences=2,
            document_concurrency=6,
        )
        self.documents = Documents(self.catalogue, self.admission, limits, lambda: "an id")

    async def whole(self, **members: object) -> DocumentAnswer:
        """Translate a document."""
        async with self.documents.prepare(_request(**members)) as prepared:
            with self.documents.stream(prepared, awaited=False) as stream:
                return await stream.whole()

    async def streamed(self, **members: object) -> tuple[list[StreamedSentence], DocumentEnd]:
        """Translate a document sentence by sentence."""
        async with self.documents.prepare(_request(**members)) as prepared:
            with self.documents.stream(prepared, awaited=True) as stream:
                return [sentence async for sentence in stream], stream.end()


def _request(**members: object) -> DocumentRequest:
    return DocumentRequest.model_validate({"source_lang": "ja", "target_lang": "en"} | members)


@pytest.fixture
async def desk(stand_in_bundle: Path) -> AsyncIterator[Desk]:
    """A desk whose translations equal the sources; checks that nothing is left in its queue at the end."""
    made = Desk(Manifest.load(stand_in_bundle))
    yield made
    await until(lambda: queued(made.bench.batcher) == 0)
    await made.bench.batcher.close()


@given(text=st.text(st.sampled_from("ab。！ \n　・-1.🙂彼"), max_size=40))
@example(text="1111111111　　。　　。　　。　　。　　彼\na")
async def test_streamed_document_is_the_whole_one(desk: Desk, text: str) -> None:
    """The streamed sentences, with the text before each and after the last, make up the same text as a whole answer."""
    whole = await desk.whole(text=text)
    sentences, end = await desk.streamed(text=text)
    assert "".join(sentence.before + sentence.translation for sentence in sentences) + end.after == whole.text
    assert [sentence.model_dump(exclude={"before"}) for sentence in sentences] == [
        sentence.model_dump() for sentence in whole.sentences
    ]
    assert (end.id, end.model, end.sentences) == (whole.id, whole.model, len(whole.sentences))
    spaces = str.maketrans("", "", " \u3000")  # spacing follows the target language
    assert whole.text.translate(spaces) == unwrapped(text, "ja").translate(spaces)


async def test_links_that_are_named_by_their_words_have_their_addresses(desk: Desk) -> None:
    """Their translated words would name none."""
    whole = await desk.whole(text="彼は[京都][]へ。\n\n[京都]: a.md\n")
    assert whole.text == "彼は[京都](a.md)へ。\n\n[京都]: a.md\n"


@pytest.mark.parametrize("given", [{"text": ""}, {"text": " \n　"}, {"text": "🙂🎉\n"}, {"sentences": []}])
async def test_document_without_sentences(desk: Desk, given: dict[str, object]) -> None:
    """Having nothing to translate is not an error: the text comes back unchanged, and no worker is involved."""
    sentences, end = await desk.streamed(**given)
    assert (sentences, end.after) == ([], given.get("text", ""))
    assert (await desk.whole(**given)).text == given.get("text", "")
    assert desk.bench.lanes.batches == []


@pytest.mark.parametrize(
    ("members", "kind", "message", "extras"),
    [
        ({"sentences": ["a", "b" * 31]}, SentenceTooLongError, "sentence 1 has 31 characters", {"position": 1}),
        ({"text": "a", "context": ["a", "b" * 31]}, SentenceTooLongError, "context sentence 1 has 31", {}),
        ({"text": "a", "context": ["a"] * 3}, InvalidInputError, "the context has 3 sentences; at most 2", {}),
        ({"sentences": ["a"] * 51}, InvalidInputError, "more than 50 sentences", {}),
        ({"text": "あ。" * 51}, InvalidInputError, "more than 50 sentences", {}),
        (
            {"sentences": ["a", "b"], "drafts": ["b" * 40, "b" * 41]},
            SentenceTooLongError,
            "draft 1 has 41 characters",
            {"position": 1},
        ),
        (
            {"sentences": ["a"] * 26, "alternatives": 1},
            InvalidInputError,
            "with 1 alternatives can have at most 25",
            {},
        ),
        ({"text": "a", "model": "another"}, ModelNotFoundError, "no model of that name", {"models": ["stand-in"]}),
    ],
)
async def test_limits_name_what_is_beyond_them(
    desk: Desk, members: dict[str, object], kind: type[AntecedentError], message: str, extras: dict[str, object]
) -> None:
    """The error names the limit, and the position of the first sentence that is too long; nothing has been queued."""
    with pytest.raises(kind, match=message) as raised:
        await desk.whole(**members)
    assert raised.value.extras == extras
    assert desk.bench.lanes.batches == []


@pytest.mark.parametrize(
    "members",
    [
        {"sentences": ["a" * 30] * 50, "drafts": ["b" * 40] * 50, "context": ["c" * 30] * 2},
        {"text": "あ。" * 50},
    ],
)
async def test_document_of_just_the_limits_is_translated(desk: Desk, members: dict[str, object]) -> None:
    """A document may reach the limits on the number and length of sentences."""
    assert len((await desk.whole(**members)).sentences) == 50


@pytest.mark.parametrize(
    ("members", "options"),
    [
        ({}, Options("direct", None, 1)),
        ({"alternatives": 3}, Options("direct", None, 4)),
        ({"alternatives": 4}, Options("direct", 5, 5)),
        ({"alternatives": 4, "beam_size": 8, "strategy": "rerank"}, Options("rerank", 8, 5)),
        ({"drafts": [None]}, Options("verify", None, 1)),
    ],
)
async def test_beam_is_as_wide_as_alternatives_need(
    stand_in_bundle: Path, members: dict[str, object], options: Options
) -> None:
    """The model's own beam of four is kept where it suffices, so that alternatives leave the translation unchanged."""
    told: list[Options] = []

    async def listen(batch: Batch) -> Outcomes:
        told.append(batch.options)
        return await echo(batch)

    await Desk(Manifest.load(stand_in_bundle), listen).whole(sentences=["a"], **members)
    assert told == [options]


async def test_alternatives_that_are_the_same_text_are_given_once(stand_in_bundle: Path) -> None:
    """Search treats different tokenizations of a text as different hypotheses, but a client would see no difference."""

    async def stammer(batch: Batch) -> Outcomes:
        others = tuple(Alternative(text, -1.0) for text in ("A", "B", "B", "C"))
        done = (Outcome(job.number, Translation("A", -0.5, 0, 1, others)) for job in batch.jobs)
        return Outcomes(tuple(done), 0.0)

    answer = await Desk(Manifest.load(stand_in_bundle), stammer).whole(sentences=["a"], alternatives=4)
    assert [each.translation for each in answer.sentences[0].alternatives] == ["B", "C"]


class Others:
    """Other work for the event loop; counts how often it got a turn."""

    def __init__(self) -> None:
        self.turns = 0
        self._serving = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)

    def end(self) -> None:
        """Stop."""
        self._serving.cancel()


async def test_long_texts_are_split_while_others_are_served(desk: Desk) -> None:
    """However many texts a call has, a thread splits them, and the event loop goes on with other work meanwhile."""
    others = Others()
    texts = await desk.documents.split(["あ。", *["\n" * 200] * 40], "ja")
    others.end()
    assert others.turns > 0
    assert [len(text.sentences) for text in texts] == [1, *[0] * 40]


async def test_sentences_that_are_several_are_found_while_others_are_served(stand_in_bundle: Path) -> None:
    """Given sentences that are really several are split in a thread too; workers are told the parts of each."""
    told: dict[str, tuple[str, ...]] = {}

    async def listen(batch: Batch) -> Outcomes:
        told.update({job.request.source: job.request.parts for job in batch.jobs})
        return await echo(batch)

    desk = Desk(Manifest.load(stand_in_bundle), listen)
    desk.documents = Documents(desk.catalogue, desk.admission, Settings(), lambda: "an id")
    sentences = ["あ。い。" * 40, *["う" * 900] * 4]
    others = Others()
    async with desk.documents.prepare(_request(sentences=sentences)) as prepared:
        others.end()
        with desk.documents.stream(prepared, awaited=False) as stream:
            await stream.whole()
    await desk.bench.batcher.close()
    assert others.turns > 0
    assert told == {"あ。い。" * 40: ("あ。", "い。") * 40, "う" * 900: ()}


async def test_texts_have_the_sentences_of_one_document(desk: Desk) -> None:
    """The texts of one call may together have as many sentences as one document."""
    assert sum(len(text.sentences) for text in await desk.documents.split(["あ。" * 25] * 2, "ja")) == 50
    with pytest.raises(InvalidInputError, match="more than 50 sentences"):
        await desk.documents.split(["あ。" * 25, "あ。" * 26], "ja")


async def test_bad_sentence_ends_the_document(desk: Desk) -> None:
    """The error names its position, and the sentences still queued after it are dropped instead of being translated."""
    with pytest.raises(RequestError) as raised:
        await desk.whole(sentences=["a", "bad", *"cdefghijklmnop"])
    assert raised.value.extras == {"position": 1}
    await until(lambda: queued(desk.bench.batcher) == 0)
    assert sum(map(len, desk.bench.lanes.batches)) < 16


async def test_what_nobody_waits_for_leaves_the_queue(desk: Desk) -> None:
    """When nobody waits any more, as after a client has left, workers get at most one batch of the document."""
    async with desk.documents.prepare(_request(sentences=["a"] * 10)) as prepared:
        with desk.documents.stream(prepared, awaited=False):
            assert queued(desk.bench.batcher) == 6
    await until(lambda: queued(desk.bench.batcher) == 0)
    assert sum(map(len, desk.bench.lanes.batches)) < 6


async def test_place_is_kept_until_the_sentences_are_queued(desk: Desk) -> None:
    """A document's sentences count towards the queue limit from its preparation on, and are never counted twice."""
    async with desk.documents.prepare(_request(sentences=["a"] * 10)) as prepared:
        places = [desk.admission.reserve(flow, 6) for flow in "ab"]
        with desk.admission.reserve("c", 6), pytest.raises(QueueFullError):
            desk.admission.reserve("d", 6)
        with desk.documents.stream(prepared, awaited=False) as stream:
            assert queued(desk.bench.batcher) == 6
            with desk.admission.reserve("c", 6), pytest.raises(QueueFullError):
                desk.admission.reserve("d", 6)
            assert len((await stream.whole()).sentences) == 10
    for place in places:
        place.give_up()


async def test_full_queue_refuses_before_a_text_is_split(desk: Desk) -> None:
    """The length of the text alone gives a lower bound on its number of sentences, enough to refuse it."""
    for flow in "abcd":
        desk.admission.reserve(flow, 5)
    with pytest.raises(QueueFullError):
        await desk.whole(text="一。\n" * 50)
    assert len((await desk.whole(text="一。")).sentences) == 1


async def test_model_is_held_while_its_document_is_translated(desk: Desk) -> None:
    """A model that is unloaded meanwhile is retired only after the document's last sentence."""
    (model,) = desk.catalogue.models
    retired = []

    async def retire() -> None:
        await model.retire()
        retired.append(True)

    async with desk.documents.prepare(_request(sentences=["a", "b"])) as prepared:
        with desk.documents.stream(prepared, awaited=False) as stream:
            task = asyncio.create_task(retire())
            assert len((await stream.whole()).sentences) == 2
            assert not retired
    task.cancel()
    await asyncio.wait([task])


async def test_target_context_is_read_where_the_model_reads_it(tmp_path: Path) -> None:
    """Each sentence is sent when the one before it is done; without context all are sent at once."""
    manifest = Manifest.load(bundle(tmp_path / "reader", reads_target_context=True))
    read = []

    async def recorded(batch: Batch) -> Outcomes:
        read.append([job.request.preceding for job in batch.jobs])
        return await echo(batch)

    desk = Desk(manifest, recorded)
    await desk.whole(sentences=["a", "b", "c"])
    await desk.whole(sentences=["d", "e", "f"], strategy="sentence")
    assert desk.bench.lanes.batches == [["a"], ["b"], ["c"], ["d", "e", "f"]]
    a, b = Sentence("a", "a"), Sentence("b", "b")
    assert read == [[()], [(a,)], [(a, b)], [(), (), ()]]
    await desk.bench.batcher.close()


@pytest.mark.parametrize(
    ("members", "options"),
    [
        ({"drafts": ["A", None]}, Options("verify")),
        ({"drafts": ["A", None], "beam_size": 1}, Options("verify", 1)),
        ({"strategy": "rerank"}, Options("rerank")),
        ({"beam_size": 2}, Options("direct", 2)),
    ],
)
async def test_each_sentence_goes_with_its_draft(
    stand_in_bundle: Path, members: dict[str, object], options: Options
) -> None:
    """Drafts stay with their sentences, context sentences have none, and any draft makes the strategy `verify`."""
    asked = []

    async def recorded(batch: Batch) -> Outcomes:
        asked.append(batch)
        return await echo(batch)

    desk = Desk(Manifest.load(stand_in_bundle), recorded)
    await desk.whole(sentences=["a", "b"], context=["x"], **members)
    assert {batch.options for batch in asked} == {options}
    jobs = [job for batch in asked for job in batch.jobs]
    drafts = members.get("drafts", [None, None])
    assert [job.request.draft for job in jobs] == drafts
    assert [len(job.request.preceding) for job in jobs] == [1, 2]
    await desk.bench.batcher.close()


async def test_a_first_sentence_that_is_awaited_waits_for_no_other_document(stand_in_bundle: Path) -> None:
    """The first sentence of a streamed document is interactive, like sentences of sessions; the rest is bulk.

    A document that is answered as a whole is bulk too, unless it is a single sentence.
    """
    given = []

    async def recorded(batch: Batch) -> Outcomes:
        given.append((batch.priority, [job.request.source for job in batch.jobs]))
        return await echo(batch)

    desk = Desk(Manifest.load(stand_in_bundle), recorded)
    await desk.streamed(sentences=["a", "b", "c"])
    await desk.whole(sentences=["d", "e"])
    await desk.whole(sentences=["f"])
    assert given == [("interactive", ["a"]), ("bulk", ["b", "c"]), ("bulk", ["d", "e"]), ("interactive", ["f"])]
    await desk.bench.batcher.close()
