"""Runs a command that dies with the process that started it, even if that is killed: `leash.py PARENT COMMAND ARG...`.

On Linux the kernel sends SIGTERM to the command when its parent is gone. Elsewhere the command outlives a parent
that is killed. Only the command's own user can read the files it writes, whoever may enter the folder.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Become `command`; `parent` is the id of the process that it must not outlive."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)  # survives exec
    os.umask(0o077)
    if os.getppid() == parent:  # else the parent died before the call of prctl
        os.execv(command[0], command)  # noqa: S606 - a path that the service has looked up itself


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
