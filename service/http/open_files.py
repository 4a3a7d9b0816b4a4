"""The limit on open files: each connection is one, and a Linux shell or container allows 1,024."""

import resource
from typing import Final

from service.telemetry.logs import get_logger

_ENOUGH: Final = 65_536
_OTHERS: Final = 200
"""Files besides connections: logs, libraries, workers, probes, and requests that wait while every stream is open."""

_log = get_logger(__name__)


def allow_open_files(needed: int) -> None:
    """Raise the soft limit as far as the hard one allows, and warn if that is too little.

    At the limit no connection is accepted, not even a probe's, so that a healthy process is taken for dead.

    Args:
        needed: connections that may be open at a time, from streams and to Redis.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
        allowed = max(soft, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        if allowed < needed + _OTHERS:
            _log.warning("too_few_open_files", allowed=allowed, needed=needed + _OTHERS)
