"""The limit on open files, tested in a separate process."""

import subprocess
import sys

import pytest

_CODE = """
import resource, sys
from service.http.open_files import allow_open_files
from service.telemetry import logs
logs.configure("warning")
resource.setrlimit(resource.RLIMIT_NOFILE, (128, int(sys.argv[1])))
allow_open_files(1000)
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("hard", "warned"), [(4000, False), (1100, True), (300, True)])
def test_as_many_files_as_the_hard_limit_allows(hard: int, warned: bool) -> None:
    """The limit is raised as far as possible; the log warns if streams and everything else do not fit."""
    done = subprocess.run([sys.executable, "-c", _CODE, str(hard)], capture_output=True, text=True, check=True)
    assert done.stdout == f"({hard}, {hard})\n"
    assert ("too_few_open_files" in done.stderr) == warned
