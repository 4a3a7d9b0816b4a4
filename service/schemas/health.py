"""Results of probes: `/health/...`."""

from typing import Literal

from service.schemas.body import Body


class Health(Body):
    """The result of a probe, and the reasons if it failed."""

    status: Literal["ok", "unavailable"]
    reasons: list[str] = []


class Dependency(Body):
    """Something that the service depends on."""

    name: str
    status: Literal["up", "down", "read_only"]
    """`read_only`: Redis can be read, but refuses writes, for example because it is full."""
    detail: str
    """For people. If a call to Redis has just failed, this includes the reason, as in the log."""


class Dependencies(Body):
    """Everything that the service depends on."""

    status: Literal["ok", "degraded"]
    dependencies: list[Dependency]
