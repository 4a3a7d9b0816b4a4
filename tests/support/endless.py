"""`python -m tests.support.endless` is the service on the stand-in runtime, but splitting a text never finishes.

It waits a second instead of five for slow clients, and another one for its threads.
"""

import sys
import threading
from unittest import mock

from service.__main__ import main
from tests.support.stand_in import LOAD


def split(*_arguments: object, **_options: object) -> None:
    """Never return, as with a text that takes very long to split."""
    threading.Event().wait()


if __name__ == "__main__":
    with (
        mock.patch("service.use_cases.documents.split", split),
        mock.patch.multiple("service.__main__", _SLOW_CLIENT_SECONDS=1, _BUSY_SECONDS=1),
    ):
        sys.exit(main(translator=LOAD))
