"""How many files this process may have open: a connection is one, and a Linux shell or container allows 1,024."""

import resource
from typing import Final

from service.telemetry.logs import get_logger

_ENOUGH: Final = 65_536
_OTHERS: Final = 200
"""Logs, libraries, workers, probes, and requests that wait while every stream is open."""

_log = get_logger(__name__)


def allow_open_files(needed: int) -> None:
    """Raise the soft limit as far as the hard one lets us, and warn where what is needed does not fit.

    At the limit no connection is accepted, not even that of a probe, and a healthy process is taken for a dead one.

    Args:
        needed: connections that may be open at a time, of streams and to Redis.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
        allowed = max(soft, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        if allowed < needed + _OTHERS:
            _log.warning("too_few_open_files", allowed=allowed, needed=needed + _OTHERS)
