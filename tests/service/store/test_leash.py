"""The leash: a command that ends with the process that started it."""

import os
import subprocess
import sys

import pytest

from service.store import leash
from tests.support.servers import eventually

_PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], str(os.getpid()), "/bin/sleep", "600"])
print(child.pid, flush=True)
child.wait()
"""


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's own")
def test_command_dies_with_a_killed_parent() -> None:
    """Even a parent that cannot clean up leaves no process behind."""
    with subprocess.Popen([sys.executable, "-c", _PARENT, leash.__file__], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        command = int(parent.stdout.readline())
        assert _runs(command)
        parent.kill()
        parent.wait()
        eventually(lambda: not _runs(command), "the command has ended")


def test_parent_that_is_gone_already_starts_nothing() -> None:
    """If the parent dies before the leash takes effect, the command is never started."""
    stranger = os.getppid()
    done = subprocess.run(
        [sys.executable, leash.__file__, str(stranger), "/bin/echo", "begun"], stdout=subprocess.PIPE, check=True
    )
    assert done.stdout == b""
