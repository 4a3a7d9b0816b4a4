"""Atomic writing: files and folders appear complete or not at all, whatever ends the process meanwhile."""

import errno
import gzip
import os
import re
import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

PARTIAL: Final = ".partial"
"""Suffix of a file or folder that is being written."""
FORMER: Final = ".former"
"""Suffix of a folder that is being replaced by another one."""
_STANDARD: Final = (1, 2)
"""File descriptors of standard output and standard error."""


def write_whole(file: Path, pieces: Iterable[bytes], folder: Path | None = None) -> None:
    """Write a file atomically; after a failure it is what it was before.

    It is written under a name unique to the call, as another process may be writing the same file. A pipe,
    `/dev/stdout` or the like cannot be replaced, and is written to directly. A link is kept, and its target replaced.
    If the name ends in `.gz`, the content is compressed, since it is read so.

    Args:
        file: the file to write.
        pieces: its content, in order.
        folder: where it is written first, on the same file system; by default, or for a link, its own folder.

    Raises:
        OSError: it cannot be written.
    """
    if _is_no_file_of_its_own(file):
        try:
            with file.open("wb") as stream:
                stream.writelines(pieces)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(file)) from None
        return
    written, partial = _places(file, folder)
    try:
        with partial.open("wb") as stream:
            with _packing(file, stream) as packed:
                packed.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(written)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # as where a disk is full
            error.filename = str(file)
        raise
    finally:
        partial.unlink(missing_ok=True)


def check_writable(file: Path) -> None:
    """Check early that `write_whole` could write a result; nothing is changed.

    Raises:
        OSError: it could not.
    """
    if file.exists() and not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
    if _is_no_file_of_its_own(file):
        return
    _, partial = _places(file)
    partial.touch(exist_ok=False)
    partial.unlink()


def _places(file: Path, folder: Path | None = None) -> tuple[Path, Path]:
    """Return the file to replace, following a link, and its temporary name until it is complete."""
    if file.is_symlink():
        file, folder = Path(os.path.realpath(file)), None
    return file, (folder or file.parent) / f".{file.name}.{token_hex(4)}{PARTIAL}"


def _packing(file: Path, stream: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """Return the stream, or a reproducible gzip compressor onto it if the file's name ends in `.gz`."""
    if file.suffix != ".gz":
        return nullcontext(stream)
    return gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)  # type: ignore[return-value]


def _is_no_file_of_its_own(file: Path) -> bool:
    """Whether it is a pipe or the like, or another name for a file that the shell may have redirected output to.

    If that file were replaced, the shell would keep the old one.
    """
    if not file.exists():
        return False
    return not file.is_file() or (file.is_symlink() and any(_is_open_as(file, stream) for stream in _STANDARD))


def _is_open_as(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except OSError:  # no such descriptor is open
        return False


def beside(folder: Path, ending: str = PARTIAL) -> Path:
    """Return the name under which this process writes a folder before moving it into place, or keeps the old one."""
    return folder.with_name(f".{folder.name}.{os.getpid()}{ending}")


def abandoned(folder: Path, ending: str = PARTIAL) -> list[Path]:
    """Return what ended processes have left under such names; others may still be working on the same folder."""
    name = re.compile(rf"\.{re.escape(folder.name)}\.([0-9]+){re.escape(ending)}")
    names = {path: name.fullmatch(path.name) for path in sorted(folder.parent.glob(f".*{ending}"))}
    return [path for path, found in names.items() if found and not _is_another_process(int(found[1]))]


def put_folder(partial: Path, folder: Path) -> None:
    """Move a complete folder into place, replacing any other; no partial one is ever in that place.

    Raises:
        OSError: it cannot be moved; what was there before still is.
    """
    former, replaces = beside(folder, FORMER), folder.exists()
    if replaces:
        folder.rename(former)
    try:
        partial.rename(folder)
    except OSError:
        if replaces and not folder.exists():
            former.rename(folder)
        raise
    shutil.rmtree(former, ignore_errors=True)


def _is_another_process(number: int) -> bool:
    """Whether another process with this number is running; this one may have the number of an ended one."""
    if number in (0, os.getpid()):
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
