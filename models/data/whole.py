"""Files and folders that are there whole or not at all, whatever ends the process while they are written."""

import errno
import gzip
import os
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

PARTIAL: Final = ".partial"
"""What the name of a file or folder ends with that is being written."""
_STANDARD: Final = (1, 2)
"""The numbers of the standard output and of the standard error stream."""


def write_whole(file: Path, pieces: Iterable[bytes], folder: Path | None = None) -> None:
    """Write a file; after a failure it is what it was before.

    Under a name of this call's own: another process may be writing the same file. What is no file of its own, such as a
    pipe or `/dev/stdout`, is nothing to replace, and is written to. A link stays, and what it names is replaced. What
    ends in `.gz` is compressed, since it is read so.

    Args:
        file: to write.
        pieces: of what it holds, in order.
        folder: of the same file system, where it is written; its own if not given, or if the file is a link.

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
    """Find out before the work whether `write_whole` could write its result; nothing is changed.

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
    """What is written where a file is asked for, which may be a link, and under which name until it is whole."""
    if file.is_symlink():
        file, folder = Path(os.path.realpath(file)), None
    return file, (folder or file.parent) / f".{file.name}.{token_hex(4)}{PARTIAL}"


def _packing(file: Path, stream: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """The stream, or what compresses into it if the file's name ends in `.gz`: the same bytes always to the same."""
    if file.suffix != ".gz":
        return nullcontext(stream)
    return gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)  # type: ignore[return-value]


def _is_no_file_of_its_own(file: Path) -> bool:
    """Whether it is a pipe or the like, or another name of what the shell may have redirected into a file.

    Were that file replaced, the shell would be left with the former one.
    """
    if not file.exists():
        return False
    return not file.is_file() or (file.is_symlink() and any(_is_open_as(file, stream) for stream in _STANDARD))


def _is_open_as(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except OSError:  # nothing is
        return False


def beside(folder: Path, ending: str = PARTIAL) -> Path:
    """The name under which this process writes a folder before it takes its place, or keeps what was there before."""
    return folder.with_name(f".{folder.name}.{os.getpid()}{ending}")


def abandoned(folder: Path, ending: str = PARTIAL) -> list[Path]:
    """What processes that are gone have left under such a name: others may be at work on the same folder."""
    name = re.compile(rf"\.{re.escape(folder.name)}\.([0-9]+){re.escape(ending)}")
    names = {path: name.fullmatch(path.name) for path in sorted(folder.parent.glob(f".*{ending}"))}
    return [path for path, found in names.items() if found and not _is_another_process(int(found[1]))]


def _is_another_process(number: int) -> bool:
    """Whether such a process runs that is not this one, which may have the number of one that is gone."""
    if number in (0, os.getpid()):
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
