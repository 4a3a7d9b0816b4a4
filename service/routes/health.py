"""Probes, metrics, and what this service accepts."""

from typing import Final

from fastapi import APIRouter, Response, status
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse

from service.errors import StoreUnavailableError
from service.http.responses import problems
from service.inference.catalogue import Model
from service.routes.dependencies import KeyHolderDep, Services, ServicesDep
from service.routes.raised import BY_ANY_KEY
from service.schemas.health import Dependencies, Dependency, Health
from service.schemas.limits import ServiceInfo
from service.store.failures import code_of, is_of_writes
from service.telemetry.build import release
from service.use_cases.model_changes import NotLoaded

router = APIRouter(tags=["operation"])

_UNAVAILABLE: Final = status.HTTP_503_SERVICE_UNAVAILABLE
_BUGS: Final = problems(checked=False)


@router.head("/v1/info", include_in_schema=False)
@router.get(
    "/v1/info",
    operation_id="readInfo",
    summary="Read the release and the limits",
    responses=problems(*BY_ANY_KEY, checked=False),
)
async def info(_who: KeyHolderDep, parts: ServicesDep) -> ServiceInfo:
    """The release, and the limits for requests, so that a client need not learn them from errors."""
    return ServiceInfo(version=release(), limits=parts.limits)


@router.head("/health/startup", include_in_schema=False)
@router.get("/health/startup", operation_id="hasStarted", summary="Whether the service has started", responses=_BUGS)
async def startup() -> Health:
    """Always succeeds: connections are refused until the models are loaded."""
    return Health(status="ok")


@router.head("/health/live", include_in_schema=False)
@router.get(
    "/health/live",
    operation_id="isLive",
    summary="Whether the process works",
    responses=_BUGS | {_UNAVAILABLE: {"model": Health, "description": "It does not; the answer gives the reasons."}},
)
async def live(parts: ServicesDep, response: Response) -> Health:
    """Restart a process that does not answer, or answers 503: because of a bug, its workers no longer get any work."""
    reasons = [
        f"because of a bug, {model.name} gets no more work"
        for model in parts.models.catalogue.models
        if model.batcher.failed
    ]
    return _health(reasons, response)


@router.head("/health/ready", include_in_schema=False)
@router.get(
    "/health/ready",
    operation_id="isReady",
    summary="Whether to send requests here",
    responses=_BUGS | {_UNAVAILABLE: {"model": Health, "description": "Not now; the answer gives the reasons."}},
)
async def ready(parts: ServicesDep, response: Response) -> Health:
    """Ready means: a model is loaded, every model has a working worker, the keys are known, and no shutdown has begun.

    An outage of Redis does not count: whole documents are translated without it.
    """
    reasons = [obstacle for model in parts.models.catalogue.models for obstacle in model.obstacles()]
    if not parts.models.catalogue.models:
        reasons.append("no model is loaded")
    if not parts.access.ready:
        reasons.append("the keys have not been read yet")
    if parts.draining:
        reasons.append("draining")
    return _health(reasons, response)


@router.head("/health/dependencies", include_in_schema=False)
@router.get(
    "/health/dependencies",
    operation_id="readDependencies",
    summary="Check everything that the service depends on",
    responses=_BUGS
    | {_UNAVAILABLE: {"model": Dependencies, "description": "One of them is down, or Redis refuses writes."}},
)
async def dependencies(parts: ServicesDep, response: Response) -> Dependencies:
    """Redis, the workers of each model, and each model that all replicas should serve but this one cannot load."""
    loaded, not_loaded = map(_workers, parts.models.catalogue.models), map(_missing, parts.models.not_loaded)
    found = [await _redis(parts), *loaded, *not_loaded]
    degraded = any(dependency.status != "up" for dependency in found)
    if degraded:
        response.status_code = _UNAVAILABLE
    return Dependencies(status="degraded" if degraded else "ok", dependencies=found)


@router.head("/metrics", include_in_schema=False)
@router.get(
    "/metrics",
    operation_id="readMetrics",
    summary="Prometheus metrics",
    response_class=PlainTextResponse,
    responses=_BUGS,
)
async def metrics(parts: ServicesDep) -> Response:
    """Metrics in Prometheus's text format; `docs/metrics.md` lists them."""
    return Response(parts.metrics.render(), media_type=CONTENT_TYPE_LATEST)


def _health(reasons: list[str], response: Response) -> Health:
    if reasons:
        response.status_code = _UNAVAILABLE
    return Health(status="unavailable" if reasons else "ok", reasons=reasons)


async def _redis(parts: Services) -> Dependency:
    try:
        await parts.redis.try_to_write()
    except StoreUnavailableError as error:
        return _failing(error.__cause__)
    return Dependency(name="redis", status="up", detail="accepts writes")


def _failing(cause: BaseException | None) -> Dependency:
    why = "" if cause is None else f" ({code_of(cause)})"
    if cause is not None and is_of_writes(cause):
        effect = "what is stored can be read, but requests that write are answered with 503"
        return Dependency(name="redis", status="read_only", detail=f"{effect}{why}")
    return Dependency(
        name="redis", status="down", detail=f"sessions are answered with 503; whole documents are translated{why}"
    )


def _missing(model: NotLoaded) -> Dependency:
    return Dependency(name=f"model:{model.name}", status="down", detail=f"cannot be loaded: {model.code}")


def _workers(model: Model) -> Dependency:
    alive, size = model.pool.alive, model.pool.size
    return Dependency(name=f"workers:{model.name}", status="up" if alive else "down", detail=f"{alive} of {size} alive")
