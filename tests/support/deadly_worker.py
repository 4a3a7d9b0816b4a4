"""`python -m tests.support.deadly_worker` is `python -m models`, but certain sentences break its workers."""

import os
import signal
import sys
from typing import Any
from unittest import mock

from models.__main__ import main
from models.bulk.worker import PartTranslator

DEADLY = "こらこら、こらこら。"
CONFUSING = "きくきく、きくきく。"


class Mortal(PartTranslator):
    """A worker that one sentence kills, as if it ran out of memory, and in which another one triggers a bug."""

    def _translated(self, lines: Any) -> Any:
        if DEADLY in lines:
            os.kill(os.getpid(), signal.SIGKILL)
        if CONFUSING in lines:
            raise ZeroDivisionError("a bug")
        return super()._translated(lines)


if __name__ == "__main__":
    with mock.patch("models.bulk.cluster.PartTranslator", Mortal):
        sys.exit(main())
