"""What happens to memory that is freed."""

import ctypes
import subprocess
import sys

import pytest

ALLOCATE = """
import resource, sys, torch
from models.engine.heap import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for size in range(1, 25):
    torch.zeros(size << 18)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(how: str) -> int:
    """Page faults of a process that makes and frees tensors in turn, each 1 MiB larger than the one before."""
    done = subprocess.run([sys.executable, "-c", ALLOCATE, how], capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_what_was_freed_is_used_again() -> None:
    """The kernel is not asked for the same memory again: there are fewer than half as many page faults."""
    assert page_faults("kept") < page_faults("as it is") / 2
