"""The use case of whole documents, without a server around it."""

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
from service.documents import Documents
from service.errors import InvalidInputError, ModelNotFoundError, QueueFullError
from service.inference.admission import Admission
from service.inference.batcher import Batcher
from service.inference.catalogue import Catalogue, Model
from service.inference.pool import WorkerPool
from service.inference.wire import Batch, Outcome, Outcomes
from service.inference.worker import Worker
from service.schemas import DocumentAnswer, DocumentEnd, DocumentRequest, StreamedSentence
from service.segmentation.paragraphs import unwrapped
from service.settings import Settings
from tests.support.lanes import Bench, echo, queued, until
from tests.support.servers import bundle


class Desk:
    """Documents on a lane that behaves as a test wants."""

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
    """Whose translations are the sources; nothing is left in its queue in the end."""
    made = Desk(Manifest.load(stand_in_bundle))
    yield made
    await until(lambda: queued(made.bench.batcher) == 0)
    await made.bench.batcher.close()


@given(text=st.text(st.sampled_from("ab。！ \n　・-1.🙂彼"), max_size=40))
@example(text="1111111111　　。　　。　　。　　。　　彼\na")
async def test_streamed_document_is_the_whole_one(desk: Desk, text: str) -> None:
    """What comes before each sentence, the sentences, and what comes after the last, make up the text."""
    whole = await desk.whole(text=text)
    sentences, end = await desk.streamed(text=text)
    assert "".join(sentence.before + sentence.translation for sentence in sentences) + end.after == whole.text
    assert [sentence.model_dump(exclude={"before"}) for sentence in sentences] == [
        sentence.model_dump() for sentence in whole.sentences
    ]
    assert (end.id, end.model, end.sentences) == (whole.id, whole.model, len(whole.sentences))
    spaces = str.maketrans("", "", " \u3000")  # they are those of the other language
    assert whole.text.translate(spaces) == unwrapped(text, "ja").translate(spaces)


@pytest.mark.parametrize("given", [{"text": ""}, {"text": " \n　"}, {"text": "🙂🎉\n"}, {"sentences": []}])
async def test_document_without_sentences(desk: Desk, given: dict[str, object]) -> None:
    """Nothing to translate is no error: the text comes back as it is, and no worker is asked."""
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
        ({"sentences": ["a"] * 26, "alternatives": 1}, InvalidInputError, "with 1 alternatives has at most 25", {}),
        ({"text": "a", "model": "another"}, ModelNotFoundError, "no model of that name", {"models": ["stand-in"]}),
    ],
)
async def test_limits_name_what_is_beyond_them(
    desk: Desk, members: dict[str, object], kind: type[AntecedentError], message: str, extras: dict[str, object]
) -> None:
    """The first sentence that is too long is named by its position; nothing has been queued."""
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
    """As many sentences as there may be, and as long ones."""
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
    """It is the model's own, of four, where that is enough: no translation is another one for them."""
    told: list[Options] = []

    async def listen(batch: Batch) -> Outcomes:
        told.append(batch.options)
        return await echo(batch)

    await Desk(Manifest.load(stand_in_bundle), listen).whole(sentences=["a"], **members)
    assert told == [options]


async def test_alternatives_that_are_the_same_text_are_given_once(stand_in_bundle: Path) -> None:
    """Search tells apart the pieces that a text is said in, which nobody sees."""

    async def stammer(batch: Batch) -> Outcomes:
        others = tuple(Alternative(text, -1.0) for text in ("A", "B", "B", "C"))
        done = (Outcome(job.number, Translation("A", -0.5, 0, 1, others)) for job in batch.jobs)
        return Outcomes(tuple(done), 0.0)

    answer = await Desk(Manifest.load(stand_in_bundle), stammer).whole(sentences=["a"], alternatives=4)
    assert [each.translation for each in answer.sentences[0].alternatives] == ["B", "C"]


class Others:
    """Whatever else the loop has to do meanwhile; counts how often it came to it."""

    def __init__(self) -> None:
        self.turns = 0
        self._serving = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)

    def end(self) -> None:
        """Have nothing else to do any more."""
        self._serving.cancel()


async def test_long_texts_are_split_while_others_are_served(desk: Desk) -> None:
    """However many of them a call has: a thread splits them, and the loop goes on with what else there is to do."""
    others = Others()
    texts = await desk.documents.split(["あ。", *["\n" * 200] * 40], "ja")
    others.end()
    assert others.turns > 0
    assert [len(text.sentences) for text in texts] == [1, *[0] * 40]


async def test_sentences_that_are_several_are_found_while_others_are_served(stand_in_bundle: Path) -> None:
    """A document of many long sentences is looked through in a thread, and workers are told what each consists of."""
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
    """A call with many texts asks for no more than a document may."""
    assert sum(len(text.sentences) for text in await desk.documents.split(["あ。" * 25] * 2, "ja")) == 50
    with pytest.raises(InvalidInputError, match="more than 50 sentences"):
        await desk.documents.split(["あ。" * 25, "あ。" * 26], "ja")


async def test_bad_sentence_ends_the_document(desk: Desk) -> None:
    """Its position is named, and what comes after it is not translated for nothing."""
    with pytest.raises(RequestError) as raised:
        await desk.whole(sentences=["a", "bad", *"cdefghijklmnop"])
    assert raised.value.extras == {"position": 1}
    await until(lambda: queued(desk.bench.batcher) == 0)
    assert sum(map(len, desk.bench.lanes.batches)) < 16


async def test_what_nobody_waits_for_leaves_the_queue(desk: Desk) -> None:
    """As where the client has left: no worker is given more of it than one batch."""
    async with desk.documents.prepare(_request(sentences=["a"] * 10)) as prepared:
        with desk.documents.stream(prepared, awaited=False):
            assert queued(desk.bench.batcher) == 6
    await until(lambda: queued(desk.bench.batcher) == 0)
    assert sum(map(len, desk.bench.lanes.batches)) < 6


async def test_place_is_kept_until_the_sentences_are_queued(desk: Desk) -> None:
    """What a document will bring counts from its preparation on, and once."""
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
    """How many sentences there are at least is known from the length of the text."""
    for flow in "abcd":
        desk.admission.reserve(flow, 5)
    with pytest.raises(QueueFullError):
        await desk.whole(text="一。\n" * 50)
    assert len((await desk.whole(text="一。")).sentences) == 1


async def test_model_is_held_while_its_document_is_translated(desk: Desk) -> None:
    """One that is unloaded meanwhile goes only after the last sentence."""
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
    """Each sentence goes when the one before it is done; without context there is nothing to wait for."""
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
    """Drafts stay with their sentences, of context there is none, and with them the strategy is to verify."""
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
    """It goes with the sentences of sessions; all others, and those of a document that is answered whole, do not."""
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
