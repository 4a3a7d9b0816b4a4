"""`python -m tests.support.endless` is the service on the stand-in runtime, but splitting a text never finishes."""

import sys
import threading
from unittest import mock

from service.__main__ import main
from tests.support.stand_in import LOAD


def split(*_arguments: object, **_options: object) -> None:
    """Never return, as with a text that takes very long to split."""
    threading.Event().wait()


if __name__ == "__main__":
    with mock.patch("service.use_cases.documents.split", split):
        sys.exit(main(translator=LOAD))
