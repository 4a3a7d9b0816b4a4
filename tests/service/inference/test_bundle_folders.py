"""Which folders bundles can be loaded from."""

import asyncio
import os
from pathlib import Path

import pytest

from models.bundle.manifest import Manifest
from models.errors import BundleError
from service import disk
from service.errors import BundleNotFoundError
from service.inference.bundle_folders import BundleFolders
from tests.support.servers import bundle

NOBODY = 65534
"""A user without rights."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A bundle root with one bundle."""
    bundle(tmp_path / "root" / "inside")
    return tmp_path / "root"


def test_bundle_is_found_by_the_name_of_its_folder(root: Path) -> None:
    """The name of its folder is all that is needed."""
    assert BundleFolders([], root).find("inside") == root / "inside"


@pytest.mark.parametrize("asked", ["", ".", "..", "../outside", "inside/../../outside", "missing", "link", "loop"])
def test_nothing_outside_the_root_is_found(root: Path, tmp_path: Path, asked: str) -> None:
    """Neither a path nor a symbolic link leads outside; a name that is not a bundle is not found either."""
    outside = bundle(tmp_path / "outside")
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to(root / "loop")
    folders = BundleFolders([], root)
    for bundle_name in (asked, str(outside)):
        with pytest.raises(BundleNotFoundError):
            folders.find(bundle_name)


def test_symbolic_link_within_the_root_is_followed(root: Path) -> None:
    """A link may stand for a version; it is resolved, so that what is loaded does not change with the link."""
    (root / "current").symlink_to("inside")
    assert BundleFolders([], root).find("current") == root / "inside"


def test_settings_may_name_bundles_under_the_root_and_anywhere_else(root: Path, tmp_path: Path) -> None:
    """A bundle under the root is named by its folder, even if it was given as a path; others by their path."""
    elsewhere = bundle(tmp_path / "elsewhere")
    folders = BundleFolders([Path("inside"), elsewhere], root)
    assert folders.named == ("inside", str(elsewhere))
    assert [folders.find(name) for name in folders.named] == [root / "inside", elsewhere]
    assert BundleFolders([root / "inside"], root).named == ("inside",)


def test_without_a_root_a_name_is_a_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only bundles from the settings are found, relative to the working directory."""
    monkeypatch.chdir(root)
    folders = BundleFolders([Path("inside")], None)
    assert folders.find("inside") == root / "inside"
    with pytest.raises(BundleNotFoundError):
        folders.find("other")


async def test_what_cannot_be_looked_at_is_a_bundle_error(root: Path) -> None:
    """For example, a name that is too long for the file system, or a folder without permission."""
    folders, own = BundleFolders([], root), os.geteuid()
    with pytest.raises(BundleError, match="File name too long"):
        await folders.read("x" * 300)
    (root / "inside").chmod(0)
    os.seteuid(own or NOBODY)  # root may look at everything
    try:
        with pytest.raises(BundleError, match="Permission denied"):
            await folders.read("inside")
    finally:
        os.seteuid(own)


async def test_links_that_lead_to_each_other_are_no_bundle(tmp_path: Path) -> None:
    """Such a link in the settings is reported like any other folder that cannot be read."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(BundleError, match="Too many levels of symbolic links"):
        await BundleFolders([loop], None).read(str(loop))


@pytest.mark.parametrize("name", ["none", "n" * 300])
def test_root_that_is_no_folder(tmp_path: Path, name: str) -> None:
    """A root that is missing, or whose name is too long, is reported in one sentence."""
    with pytest.raises(BundleError, match="is not a folder"):
        BundleFolders([], tmp_path / name)


async def test_a_disk_that_does_not_answer_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller gets an error, and no further read is started meanwhile; once the disk answers, all is well."""
    monkeypatch.setattr(disk, "READ_SECONDS", 0.2)
    sound, manifest = bundle(tmp_path / "bundle"), tmp_path / "bundle" / "manifest.json"
    text = manifest.read_text()
    manifest.unlink()
    os.mkfifo(manifest)  # reading it blocks until somebody writes
    folders = BundleFolders([sound], None)
    with pytest.raises(BundleError, match=r"not answered within 0\.2 s"):
        await folders.read(str(sound))
    with pytest.raises(BundleError, match="not answered for a while"):
        await folders.read(str(sound))
    manifest.write_text("")
    manifest.unlink()
    manifest.write_text(text)
    assert await _once_it_answers(folders, str(sound)) == (sound, Manifest.load(sound))


async def _once_it_answers(folders: BundleFolders, name: str) -> tuple[Path, Manifest]:
    async with asyncio.timeout(60):
        while True:
            try:
                return await folders.read(name)
            except BundleError:
                await asyncio.sleep(0.01)
