"""Which model serves which request."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from models.bundle.manifest import Manifest
from service.errors import LanguagePairError, ModelNotFoundError, SessionModelNotLoadedError, ShuttingDownError
from service.inference import catalogue as catalogue_module
from service.inference.batcher import Batcher
from service.inference.catalogue import Catalogue, Model
from service.inference.pool import WorkerPool
from service.inference.worker import Worker, WorkerCommand
from tests.support.lanes import Bench
from tests.support.servers import bundle


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """Two models of one language pair and one of another, without workers."""
    manifests = [
        Manifest.load(bundle(tmp_path / name, name=name, source=source, target=target))
        for name, source, target in (("first", "ja", "en"), ("second", "ja", "en"), ("german", "EN", "de"))
    ]
    nobody = cast(WorkerPool, None), cast("Batcher[Worker]", None)
    return Catalogue([Model(manifest, *nobody, manifest.name) for manifest in manifests])


def model_of(used: Bench, folder: Path) -> Model:
    """A model with the batcher of a bench, and a pool without started workers."""
    pool = WorkerPool(partial(Worker.start, cast(WorkerCommand, None)), 1, used.metrics)
    return Model(Manifest.load(bundle(folder)), pool, cast("Batcher[Worker]", used.batcher), "bench")


def test_first_of_a_pair_is_its_default(catalogue: Catalogue) -> None:
    """Without a name the language pair decides, regardless of case."""
    assert catalogue.choose("ja", "en", None).name == "first"
    assert catalogue.choose("en", "de", None).name == "german"


def test_a_region_is_served_by_a_model_without(catalogue: Catalogue) -> None:
    """A requested tag is shortened until a model serves it (RFC 4647), but never extended."""
    assert catalogue.choose("ja-jp", "en-us", None).name == "first"
    assert catalogue.choose("ja", "en-latn-gb", "second").name == "second"
    with pytest.raises(LanguagePairError, match="no model serves jpx-jp-en"):
        catalogue.choose("jpx-jp", "en", None)


def test_name_chooses_among_the_models_of_a_pair(catalogue: Catalogue) -> None:
    """Any model can be requested by name, but only for its own language pair."""
    assert catalogue.choose("ja", "en", "second").name == "second"
    with pytest.raises(LanguagePairError, match="model german"):
        catalogue.choose("ja", "en", "german")


def test_what_is_served_is_named_where_something_else_is_asked_for(catalogue: Catalogue) -> None:
    """A refusal lists what could have been requested."""
    with pytest.raises(LanguagePairError) as pair:
        catalogue.choose("en", "ja", None)
    assert pair.value.extras == {"pairs": ["en-de", "ja-en"]}
    with pytest.raises(ModelNotFoundError) as name:
        catalogue.choose("ja", "en", "third")
    assert name.value.extras == {"models": ["first", "german", "second"]}


async def test_model_that_is_not_dispatched_is_not_ready(bench: Callable[..., Bench], catalogue: Catalogue) -> None:
    """Workers without a dispatcher to feed them serve nobody, so requests should go elsewhere."""
    used, living = bench(), SimpleNamespace(alive=1)
    manifest = catalogue.models[0].manifest
    model = Model(manifest, cast(WorkerPool, living), cast("Batcher[Worker]", used.batcher), "first")
    assert model.obstacles() == []
    used.lanes.failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        await used.translate("a")
    living.alive = 0
    assert model.obstacles() == ["no worker of first is alive", "the workers of first get no more work"]


def test_first_of_what_is_left_is_the_default(catalogue: Catalogue) -> None:
    """Once a model is removed it is not found any more, and the next one of its pair becomes the default."""
    first, second, german = catalogue.models
    assert catalogue.is_default(first)
    assert not catalogue.is_default(second)
    catalogue.switch([second, german])
    assert catalogue.choose("ja", "en", None) is second
    assert catalogue.is_default(second)
    with pytest.raises(ModelNotFoundError):
        catalogue.named("first")


def test_session_keeps_the_bundle_that_it_began_with(catalogue: Catalogue, tmp_path: Path) -> None:
    """A session is not continued by another bundle of the same name, nor when there is none of that name."""
    first = catalogue.models[0]
    assert catalogue.for_session("first", first.fingerprint) is first
    newer = Manifest.load(bundle(tmp_path / "newer", name="first", accent="!"))
    catalogue.switch([Model(newer, first.pool, first.batcher, "newer")])
    for name in ("first", "second"):
        with pytest.raises(SessionModelNotLoadedError) as told:
            catalogue.for_session(name, first.fingerprint)
        assert told.value.extras == {"model": name}


async def test_model_that_is_held_goes_on_after_it_is_retired(tmp_path: Path, bench: Callable[..., Bench]) -> None:
    """Holders can go on translating sentence by sentence; the model ends when the last has released it."""
    used = bench()
    model = model_of(used, tmp_path)
    with model.hold(), model.hold():
        ending = asyncio.create_task(model.retire())
        await asyncio.sleep(0)
        assert await used.translate("a") == "a"
        assert await used.translate("b") == "b"
        assert not ending.done()
    await ending
    with pytest.raises(ShuttingDownError):
        await used.translate("c")


async def test_model_that_is_retired_answers_what_it_has(tmp_path: Path, bench: Callable[..., Bench]) -> None:
    """Even sentences for which nobody holds the model are answered."""
    used = bench()
    model = model_of(used, tmp_path)
    waiting = asyncio.create_task(used.translate("a"))
    await asyncio.sleep(0)
    await model.retire()
    assert await waiting == "a"


async def test_model_that_is_held_without_end_ends_all_the_same(
    tmp_path: Path, bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endless document gets an error eventually, and does not keep another model from the memory."""
    monkeypatch.setattr(catalogue_module, "LONGEST_HOLD_SECONDS", 0.05)
    used = bench()
    model = model_of(used, tmp_path)
    with model.hold():
        await model.retire()
        with pytest.raises(ShuttingDownError):
            await used.translate("a")
