"""Storage of keys in a file."""

import asyncio
import fcntl
import os
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.access.key_file import KeyFile
from service.errors import KeyStorageError
from tests.support.keys import made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the key file; neither it nor its folder exists yet."""
    return tmp_path / "folder" / "keys.json"


async def test_keys_come_back_as_they_were_added(path: Path) -> None:
    """Keys that one process adds are read by another; a removed key is gone."""
    records = [made(tenant)[1] for tenant in ("acme", "acme", "other")]
    for record in records:
        await KeyFile(path).add(record)
    found = await KeyFile(path).read()
    assert found is not None
    assert found.records == {record.id: record for record in records}
    assert await KeyFile(path).remove(records[0].id)
    assert not await KeyFile(path).remove(records[0].id)
    left = await KeyFile(path).read(found.version)
    assert left is not None
    assert list(left.records.values()) == records[1:]


async def test_file_that_has_not_changed_is_not_read_again(path: Path) -> None:
    """The version decides: a file whose date alone has changed still has the same one."""
    await KeyFile(path).add(made("acme")[1])
    found = await KeyFile(path).read()
    assert found is not None
    os.utime(path, (1, 1))
    assert await KeyFile(path).read(found.version) is None


async def test_file_is_its_owners_alone(path: Path) -> None:
    """A new file is readable by its owner only; one that was deliberately opened to a group stays so."""
    await KeyFile(path).add(made("acme")[1])
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o640)
    await KeyFile(path).add(made("acme")[1])
    assert path.stat().st_mode & 0o777 == 0o640


async def test_link_to_the_file_stays_a_link(path: Path) -> None:
    """Writing changes the target of a link; a link that is redirected, as Kubernetes does, is read as a change."""
    one, other = path.with_name("one.json"), path.with_name("other.json")
    first, second = made("acme")[1], made("acme")[1]
    for file, record in ((one, first), (other, second)):
        await KeyFile(file).add(record)
    path.symlink_to(one)
    await KeyFile(path).add(made("acme")[1])
    assert path.is_symlink()
    found = await KeyFile(path).read()
    assert found is not None
    assert len(found.records) == 2
    path.unlink()
    path.symlink_to(other)
    turned = await KeyFile(path).read(found.version)
    assert turned is not None
    assert list(turned.records) == [second.id]


def test_a_link_and_the_file_have_one_lock(path: Path) -> None:
    """A writer that uses the link waits for one that uses the file, so that neither undoes the other's change."""
    asyncio.run(KeyFile(path).add(made("acme")[1]))
    link = path.with_name("link.json")
    link.symlink_to(path)
    with Path(f"{path}.lock").open() as lock, ThreadPoolExecutor() as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        adding = pool.submit(asyncio.run, KeyFile(link).add(made("acme")[1]))
        with pytest.raises(TimeoutError):
            adding.result(timeout=0.3)
        fcntl.flock(lock, fcntl.LOCK_UN)
        adding.result()


@pytest.mark.parametrize(
    "content", ["", "{", '{"keys": [{"id": "himitsu"}]}', '{"keys": [], "more": "himitsu"}', "[]", "\xff himitsu"]
)
async def test_damaged_file_is_named_and_not_quoted(path: Path, content: str) -> None:
    """The error says where the mistake is but does not quote the content, and the file is not overwritten."""
    path.parent.mkdir()
    path.write_text(content, "latin-1")
    with pytest.raises(KeyStorageError, match=r"keys\.json") as caught:
        await KeyFile(path).read()
    assert "himitsu" not in str(caught.value)
    with pytest.raises(KeyStorageError):
        await KeyFile(path).add(made("acme")[1])
    assert path.read_text("latin-1") == content


async def test_two_keys_of_one_id_are_a_mistake(path: Path) -> None:
    """It would be a matter of chance which of the two applies."""
    record = made("acme")[1]
    await KeyFile(path).add(record)
    path.write_text(f'{{"keys": [{record.model_dump_json()}, {record.model_dump_json()}]}}')
    with pytest.raises(KeyStorageError, match="two keys have the same id"):
        await KeyFile(path).read()


async def test_no_file_and_no_folder_for_one(path: Path, tmp_path: Path) -> None:
    """Reading a missing file fails, and removing a key finds none; if no file can be created, the error says so."""
    with pytest.raises(KeyStorageError, match="No such file"):
        await KeyFile(path).read()
    assert not await KeyFile(path).remove("0" * 16)
    (tmp_path / "a-file").touch()
    with pytest.raises(KeyStorageError, match="a-file"):
        await KeyFile(tmp_path / "a-file" / "keys.json").add(made("acme")[1])


async def test_links_that_lead_to_each_other(path: Path) -> None:
    """The error says so, and the links are left alone."""
    path.parent.mkdir()
    path.symlink_to(path.with_name("other.json"))
    path.with_name("other.json").symlink_to(path)
    with pytest.raises(KeyStorageError, match=r"keys\.json: Too many levels of symbolic links"):
        await KeyFile(path).read()
    with pytest.raises(KeyStorageError, match=r"keys\.json: Too many levels of symbolic links"):
        await KeyFile(path).add(made("acme")[1])
    assert path.is_symlink()


async def test_device_is_not_read(path: Path) -> None:
    """Reading it might never end."""
    path.parent.mkdir()
    path.symlink_to("/dev/zero")
    with pytest.raises(KeyStorageError, match="is a device"):
        await KeyFile(path).read()


async def test_disk_without_room(path: Path) -> None:
    """The error says so; the previous keys are intact, and no partial file is left behind."""
    record = made("acme")[1]
    await KeyFile(path).add(record)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, hard))
    try:
        with pytest.raises(KeyStorageError, match="File too large"):
            await KeyFile(path).add(made("acme")[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    found = await KeyFile(path).read()
    assert found is not None
    assert list(found.records.values()) == [record]
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


async def test_two_who_write_at_once_lose_nothing(path: Path) -> None:
    """All of several concurrent commands take effect, and readers meanwhile always see a whole file."""
    records = [made("acme")[1] for _ in range(20)]
    await KeyFile(path).add(records[0])

    def add(at: int) -> None:
        asyncio.run(KeyFile(path).add(records[at]))

    with ThreadPoolExecutor(4) as pool:
        adding = pool.map(add, range(1, 20))
        for _ in range(20):
            assert await KeyFile(path).read() is not None
        list(adding)
    found = await KeyFile(path).read()
    assert found is not None
    assert found.records.keys() == {record.id for record in records}
    assert sorted(each.name for each in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]
