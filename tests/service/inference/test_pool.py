"""Real worker processes on the stand-in runtime."""

import asyncio
import os
import resource
import signal
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
import pytest
import structlog
from structlog.testing import capture_logs

from models.bundle.manifest import Manifest
from models.data.documents import Sentence
from models.engine.requests import Options, Translation, TranslationRequest
from models.errors import BundleError, RequestError, SelfTestError, SentenceTooLongError
from service.errors import WorkerDiedError
from service.inference import worker as worker_module
from service.inference.pool import WorkerPool
from service.inference.wire import HEADER, Batch, Drop, Failure, Job, Outcome, Outcomes, encode
from service.inference.worker import Worker, WorkerCommand, error_of
from service.telemetry.metrics import Metrics
from tests.support import stand_in
from tests.support.lanes import until
from tests.support.servers import bundle, children


def command(folder: Path, *, timeout: float = 60.0) -> WorkerCommand:
    """The command that starts a worker on the stand-in runtime."""
    fingerprint = Manifest.load(folder).fingerprint
    return WorkerCommand(folder, fingerprint, "cpu", "auto", timeout, 60.0, stand_in.LOAD)


def batch(*sources: str, first: int = 0) -> Batch:
    """A batch of sentences, numbered from `first`, each with the same preceding sentence."""
    requests = (TranslationRequest(source, (Sentence("before"),)) for source in sources)
    return Batch(Options(), tuple(Job(first + number, request) for number, request in enumerate(requests)))


async def answers(worker: Worker, count: int) -> dict[int, Translation | Failure | None]:
    """The next `count` outcomes, by number."""
    found: dict[int, Translation | Failure | None] = {}
    while len(found) < count:
        found |= {outcome.number: outcome.result for outcome in (await worker.receive()).outcomes}
    return found


async def translated(worker: Worker, *sources: str) -> list[Translation | Failure | None]:
    """The results for sentences from a worker that is otherwise idle."""
    worker.send(batch(*sources))
    found = await answers(worker, len(sources))
    return [found[number] for number in range(len(sources))]


@pytest.fixture
async def pool(stand_in_bundle: Path) -> AsyncIterator[WorkerPool]:
    """A pool of two workers."""
    metrics = Metrics()
    pool = WorkerPool(partial(Worker.start, command(stand_in_bundle)), 2, metrics)
    await pool.open()
    yield pool
    await pool.close()


async def test_each_sentence_comes_back(stand_in_bundle: Path) -> None:
    """Each sentence of a batch gets its own result or error, by number."""
    worker = await Worker.start(command(stand_in_bundle))
    found = await translated(worker, "one", "refuse", "二")
    await worker.stop()
    assert isinstance(found[1], Failure)
    texts = [result.text for result in found if isinstance(result, Translation)]
    assert texts == [stand_in.expected(source, ["before"]) for source in ("one", "二")]


async def test_process_that_cannot_be_started(stand_in_bundle: Path) -> None:
    """If the machine has too few resources to start a process, the error says so, and nothing is left."""
    asked, files, processes = command(stand_in_bundle), _open_files(), children(os.getpid())
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [number for number in range(1000) if number not in files]
    for limit in free:  # one more file each time
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limits[1]))
        (made,) = await asyncio.gather(Worker.start(asked), return_exceptions=True)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        if isinstance(made, Worker):
            await made.stop()
            break
        assert isinstance(made, BundleError)
        assert "Too many open files" in str(made)
        assert _open_files() <= files
        assert children(os.getpid()) == processes
    assert limit > free[0]


def _open_files() -> set[int]:
    return {int(file.name) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}


async def test_bundle_that_cannot_be_served_is_reported_in_the_workers_words(tmp_path: Path) -> None:
    """The start fails with the runtime's own message about the bundle."""
    bundle(tmp_path)
    (tmp_path / "damaged").touch()
    with pytest.raises(BundleError, match="damaged"):
        await Worker.start(command(tmp_path))


async def test_pool_that_cannot_start_leaves_no_process(tmp_path: Path) -> None:
    """If one worker fails to load, none remains, not even one that has started meanwhile."""
    sound, damaged = bundle(tmp_path / "sound"), bundle(tmp_path / "damaged")
    (damaged / "damaged").touch()
    folders, started = iter((sound, damaged)), list[Worker]()

    async def start(*, self_test: bool = False) -> Worker:
        started.append(await Worker.start(command(next(folders)), self_test=self_test))
        return started[-1]

    pool = WorkerPool(start, 2, Metrics())
    with pytest.raises(BundleError):
        await pool.open()
    assert len(started) == 1
    assert pool.alive == 0
    assert not psutil.pid_exists(started[0].pid)


async def test_only_the_first_worker_tests_the_bundle(tmp_path: Path) -> None:
    """A bundle that fails its self-test is refused; once it has passed, further workers skip the test."""
    bundle(tmp_path)
    (tmp_path / "wrong").touch()
    with pytest.raises(SelfTestError, match="every translation is wrong"):
        await WorkerPool(partial(Worker.start, command(tmp_path)), 2, Metrics()).open()
    worker = await Worker.start(command(tmp_path))
    await worker.stop()
    (tmp_path / "wrong").unlink()
    tested: list[bool] = []

    async def start(*, self_test: bool = False) -> Worker:
        tested.append(self_test)
        return await Worker.start(command(tmp_path), self_test=self_test)

    pool = WorkerPool(start, 2, Metrics())
    await pool.open()
    await pool.close()
    assert sorted(tested) == [False, True]


async def test_one_by_one_ends_with_the_first_failure(tmp_path: Path) -> None:
    """A bundle that cannot be served costs only one process."""
    bundle(tmp_path)
    (tmp_path / "damaged").touch()
    started = 0

    async def start(*, self_test: bool = False) -> Worker:
        nonlocal started
        started += 1
        return await Worker.start(command(tmp_path), self_test=self_test)

    with pytest.raises(BundleError, match="damaged"):
        await WorkerPool(start, 3, Metrics()).open(one_by_one=True)
    assert started == 1


async def test_folder_that_holds_another_bundle_by_now_is_refused(tmp_path: Path) -> None:
    """A worker that starts later than the others serves the same bundle or none."""
    started_with = command(bundle(tmp_path))
    bundle(tmp_path, accent="!")
    with pytest.raises(BundleError, match="no longer contains the bundle"):
        await Worker.start(started_with)


async def test_worker_that_ends_while_it_loads_is_reported(stand_in_bundle: Path) -> None:
    """The error names the bundle and the exit status of the process."""
    broken = replace(command(stand_in_bundle), translator="tests.support.stand_in:missing")
    with pytest.raises(BundleError, match=f"{stand_in_bundle}.* ended while it loaded this bundle, with status 70"):
        await Worker.start(broken)


async def test_worker_that_hangs_while_it_loads_is_killed(tmp_path: Path) -> None:
    """A hanging disk leads to an error, and leaves no process behind."""
    bundle(tmp_path)
    (tmp_path / "held").touch()
    with pytest.raises(BundleError, match=r"has not loaded this bundle within 0\.1 s"):
        await Worker.start(replace(command(tmp_path), start_timeout=0.1))
    assert not any("worker_process" in line for _, line in children(os.getpid()))


async def test_start_that_is_given_up_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds whenever it is cancelled, and even if it is cancelled again while it cleans up."""
    monkeypatch.setattr("service.inference.worker._STOP_SECONDS", 0.3)
    bundle(tmp_path)
    (tmp_path / "held").touch()
    before = len(children(os.getpid()))
    for turns in (0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 30):
        starting = asyncio.create_task(Worker.start(command(tmp_path)))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.sleep(0.05)
        starting.cancel()
        await asyncio.wait([starting])
    async with asyncio.timeout(20):
        while len(children(os.getpid())) > before:
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.1)  # gives asyncio time to notice the end of the last one


async def test_lines_about_workers_are_of_no_request(stand_in_bundle: Path) -> None:
    """Later log lines about a worker do not carry the id of the request that started it."""
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        pool = WorkerPool(partial(Worker.start, command(stand_in_bundle)), 1, Metrics())
        await pool.open()
    with capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        os.kill((await pool.acquire()).pid, signal.SIGKILL)
        await pool.acquire()
    await pool.close()
    assert [line["event"] for line in lines] == ["worker_died"]
    assert "request_id" not in lines[0]


async def test_worker_that_has_grown_is_replaced_after_its_batch(stand_in_bundle: Path) -> None:
    """Its batch is answered first; then a new process, without the accumulated memory, takes its place."""
    small = await Worker.start(command(stand_in_bundle))
    bound = small.memory() + stand_in.GROWTH // 2
    await small.stop()
    pool = WorkerPool(partial(Worker.start, command(stand_in_bundle)), 1, Metrics(), most_memory=bound)
    await pool.open()
    worker = await pool.acquire()
    pool.release(worker)
    assert await pool.acquire() is worker
    assert not pool.outgrown(worker)
    assert len(await translated(worker, "grow")) == 1
    assert pool.outgrown(worker)
    pool.release(worker)
    other = await pool.acquire()
    assert other.pid != worker.pid
    await pool.close()


async def test_worker_that_is_too_large_from_the_beginning_is_refused(stand_in_bundle: Path) -> None:
    """It would have to be replaced after every batch; the error tells how much it holds and may hold."""
    pool = WorkerPool(partial(Worker.start, command(stand_in_bundle)), 1, Metrics(), most_memory=2**20)
    with pytest.raises(BundleError, match=r"needs [0-9]+ MiB for it, but ANTECEDENT_WORKER_MEMORY_MIB allows only 1"):
        await pool.open()
    assert pool.alive == 0


async def test_workers_that_have_grown_are_replaced_one_by_one(stand_in_bundle: Path) -> None:
    """Workers with similar work grow alike; while one is being replaced, the others go on."""
    small = await Worker.start(command(stand_in_bundle))
    bound = small.memory() + stand_in.GROWTH // 2
    await small.stop()
    pool = WorkerPool(partial(Worker.start, command(stand_in_bundle)), 2, Metrics(), most_memory=bound)
    await pool.open()
    one, other = await pool.acquire(), await pool.acquire()
    for worker in (one, other):
        await translated(worker, "grow")
    pool.release(one)
    pool.release(other)
    assert not one.alive
    assert await pool.acquire() is other
    fresh = await pool.acquire()
    pool.release(other)
    assert not other.alive
    assert fresh.alive
    await pool.close()


async def test_worker_that_does_not_end_is_killed(stand_in_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dismissed worker that hangs still makes room for its successor."""
    monkeypatch.setattr(worker_module, "_STOP_SECONDS", 0.2)
    worker = await Worker.start(command(stand_in_bundle))
    os.kill(worker.pid, signal.SIGSTOP)
    worker.dismiss()
    await worker.ended()


@pytest.mark.parametrize(
    "frame", [encode(Outcomes((Outcome(99, None),), 0.0)), HEADER.pack(3) + b"abc"], ids=["not asked", "no JSON"]
)
async def test_worker_that_says_what_it_was_not_asked_is_killed(frame: bytes) -> None:
    """It might be mixing up users' translations, so nothing from it can be trusted any more."""
    ours, theirs = socket.socketpair()
    process = await asyncio.create_subprocess_exec("sleep", "60")
    worker = Worker(process, *await asyncio.open_connection(sock=ours), 60.0)
    with theirs:
        theirs.sendall(frame)
        with pytest.raises(WorkerDiedError):
            await worker.receive()
    await worker.ended()
    assert process.returncode == -signal.SIGKILL


async def test_worker_takes_more_and_drops_some(stand_in_bundle: Path, tmp_path: Path) -> None:
    """Orders that arrive while it is busy are handled afterwards; each number is answered exactly once."""
    worker = await Worker.start(command(stand_in_bundle))
    gate = tmp_path / "gate"
    worker.send(batch(f"wait-for:{gate}"))
    await until(Path(f"{gate}.begun").exists)
    worker.send(batch("one", "two", "refuse", first=1))
    for number in (0, 2, 77):
        worker.send(Drop(number))
    gate.touch()
    found = await answers(worker, 4)
    again = await translated(worker, "again")
    await worker.stop()
    assert isinstance(found[3], Failure)
    texts = {number: result.text for number, result in found.items() if isinstance(result, Translation)}
    assert texts == {
        0: stand_in.expected(f"wait-for:{gate}", ["before"]),
        1: stand_in.expected("one", ["before"]),
    }
    assert found[2] is None
    assert isinstance(again[0], Translation)


async def test_crash_is_noticed_at_once(stand_in_bundle: Path) -> None:
    """A worker that dies over a batch causes an error at once."""
    worker = await Worker.start(command(stand_in_bundle))
    with pytest.raises(WorkerDiedError):
        await translated(worker, "crash")
    await worker.ended()
    assert not worker.alive


async def test_unforeseen_exception_ends_the_worker_without_its_message(
    stand_in_bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The runtime's errors may quote a user's text, so their messages are not printed."""
    worker = await Worker.start(command(stand_in_bundle))
    with pytest.raises(WorkerDiedError):
        await translated(worker, "raise my secret")
    await worker.ended()
    printed = capfd.readouterr().err
    assert "ValueError" in printed
    assert "secret" not in printed


async def test_silent_worker_is_killed(stand_in_bundle: Path, tmp_path: Path) -> None:
    """A worker that takes too long over a batch counts as dead."""
    worker = await Worker.start(command(stand_in_bundle, timeout=0.1))
    with pytest.raises(WorkerDiedError):
        await translated(worker, f"wait-for:{tmp_path / 'never'}")
    await worker.ended()


async def test_worker_that_hangs_up_and_does_not_end_is_killed(
    stand_in_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would occupy its slot for ever."""
    monkeypatch.setattr(worker_module, "_STOP_SECONDS", 0.05)
    worker = await Worker.start(command(stand_in_bundle))
    with pytest.raises(WorkerDiedError):
        await translated(worker, "hang-up")
    async with asyncio.timeout(60):
        await worker.ended()


async def test_worker_that_nobody_listens_to_ends(stand_in_bundle: Path, tmp_path: Path) -> None:
    """A worker whose caller gives up is stopped; this does not count as a death."""
    worker = await Worker.start(command(stand_in_bundle))
    given_up = asyncio.create_task(translated(worker, f"wait-for:{tmp_path / 'never'}"))
    await asyncio.sleep(0.05)
    given_up.cancel()
    await asyncio.wait([given_up])
    assert not worker.alive
    assert worker.dismissed
    await worker.stop()


async def test_dead_worker_is_replaced(pool: WorkerPool) -> None:
    """A worker killed while idle is never handed out; another one takes its place."""
    victim = await pool.acquire()
    pool.release(victim)
    os.kill(victim.pid, signal.SIGKILL)
    await victim.ended()
    async with asyncio.timeout(60):
        while pool.alive < 2:
            await asyncio.sleep(0.01)
    lanes = [await pool.acquire() for _ in range(2)]
    assert victim.pid not in [lane.pid for lane in lanes]
    for lane in lanes:
        assert len(await translated(lane, "one")) == 1


async def test_start_that_fails_unforeseen_is_tried_again(stand_in_bundle: Path) -> None:
    """A slot is eventually filled whatever went wrong before; the log has the error's type but not its message."""
    starts = 0

    async def start(*, self_test: bool = False) -> Worker:
        nonlocal starts
        starts += 1
        if starts == 2:
            raise ValueError("a greeting that nobody can read")
        return await Worker.start(command(stand_in_bundle), self_test=self_test)

    pool = WorkerPool(start, 1, Metrics())
    await pool.open()
    with capture_logs() as lines:
        os.kill((await pool.acquire()).pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            assert len(await translated(await pool.acquire(), "one")) == 1
    assert [line["reason"] for line in lines if line["event"] == "worker_not_started"] == ["ValueError"]
    await pool.close()


async def test_closing_ends_busy_workers_too(pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process outlives its pool, even if it is busy."""
    monkeypatch.setattr("service.inference.worker._STOP_SECONDS", 0.2)
    worker = await pool.acquire()
    busy = asyncio.create_task(translated(worker, f"wait-for:{tmp_path / 'never'}"))
    await until((tmp_path / "never.begun").exists)
    await pool.close()
    with pytest.raises(WorkerDiedError):
        await busy
    assert not psutil.pid_exists(worker.pid)


@pytest.mark.parametrize(
    ("code", "kind"), [("sentence_too_long", SentenceTooLongError), ("of_another_release", RequestError)]
)
def test_reported_errors_keep_their_kind(code: str, kind: type[RequestError]) -> None:
    """Errors are identified by their codes; one with an unknown code is taken for an error of the request."""
    error = error_of(Failure(code, "why"))
    assert type(error) is kind
    assert str(error) == "why"
