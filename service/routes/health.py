"""Probes, metrics, and what this service accepts."""

from typing import Final

from fastapi import APIRouter, Response, status
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse

from service.errors import StoreUnavailableError
from service.http.responses import problems
from service.inference.catalogue import Model
from service.model_changes import NotLoaded
from service.routes.dependencies import KeyHolderDep, Services, ServicesDep
from service.routes.raised import BY_ANY_KEY
from service.schemas import Dependencies, Dependency, Health, ServiceInfo
from service.telemetry.build import release

router = APIRouter(tags=["operation"])

_UNAVAILABLE: Final = status.HTTP_503_SERVICE_UNAVAILABLE
_BUGS: Final = problems(checked=False)


@router.get(
    "/v1/info", operation_id="readInfo", summary="Which release this is", responses=problems(*BY_ANY_KEY, checked=False)
)
async def info(_who: KeyHolderDep, parts: ServicesDep) -> ServiceInfo:
    """And what it accepts, so that a client need not find out by being refused."""
    return ServiceInfo(version=release(), limits=parts.limits)


@router.head("/health/startup", include_in_schema=False)
@router.get("/health/startup", operation_id="hasStarted", summary="Whether the start is over", responses=_BUGS)
async def startup() -> Health:
    """Nothing listens before the models are loaded, so the connection is refused until then, and this always holds."""
    return Health(status="ok")


@router.head("/health/live", include_in_schema=False)
@router.get(
    "/health/live",
    operation_id="isLive",
    summary="Whether the process can go on",
    responses=_BUGS | {_UNAVAILABLE: {"model": Health, "description": "It cannot; the reasons are named."}},
)
async def live(parts: ServicesDep, response: Response) -> Health:
    """A process that does not answer this, or with 503, should be started anew: a bug ended what fed its workers."""
    reasons = [
        f"a bug has ended what feeds {model.name}" for model in parts.models.catalogue.models if model.batcher.failed
    ]
    return _health(reasons, response)


@router.head("/health/ready", include_in_schema=False)
@router.get(
    "/health/ready",
    operation_id="isReady",
    summary="Whether to send requests here",
    responses=_BUGS | {_UNAVAILABLE: {"model": Health, "description": "Not now; the reasons are named."}},
)
async def ready(parts: ServicesDep, response: Response) -> Health:
    """A model is loaded, each has a living worker that is fed, the keys are known, and the process is not about to end.

    Redis being away does not count: whole documents are served without it.
    """
    reasons = [obstacle for model in parts.models.catalogue.models for obstacle in model.obstacles()]
    if not parts.models.catalogue.models:
        reasons.append("no model is loaded")
    if not parts.access.ready:
        reasons.append("the keys have not been read yet")
    if parts.draining:
        reasons.append("draining")
    return _health(reasons, response)


@router.get(
    "/health/dependencies",
    operation_id="readDependencies",
    summary="Whether each thing that the service needs is there",
    responses=_BUGS | {_UNAVAILABLE: {"model": Dependencies, "description": "One of them is down."}},
)
async def dependencies(parts: ServicesDep, response: Response) -> Dependencies:
    """Redis, the workers of each model, and each model that all replicas shall serve and this one cannot load."""
    loaded, not_loaded = map(_workers, parts.models.catalogue.models), map(_missing, parts.models.not_loaded)
    found = [await _redis(parts), *loaded, *not_loaded]
    down = any(dependency.status == "down" for dependency in found)
    if down:
        response.status_code = _UNAVAILABLE
    return Dependencies(status="degraded" if down else "ok", dependencies=found)


@router.get(
    "/metrics",
    operation_id="readMetrics",
    summary="Prometheus metrics",
    response_class=PlainTextResponse,
    responses=_BUGS,
)
async def metrics(parts: ServicesDep) -> Response:
    """In Prometheus's text format."""
    return Response(parts.metrics.render(), media_type=CONTENT_TYPE_LATEST)


def _health(reasons: list[str], response: Response) -> Health:
    if reasons:
        response.status_code = _UNAVAILABLE
    return Health(status="unavailable" if reasons else "ok", reasons=reasons)


async def _redis(parts: Services) -> Dependency:
    try:
        await parts.redis.ping()
    except StoreUnavailableError:
        return Dependency(name="redis", status="down", detail="sessions answer 503; whole documents are served")
    return Dependency(name="redis", status="up", detail="answers")


def _missing(model: NotLoaded) -> Dependency:
    return Dependency(name=f"model:{model.name}", status="down", detail=f"cannot be loaded: {model.code}")


def _workers(model: Model) -> Dependency:
    alive, size = model.pool.alive, model.pool.size
    return Dependency(name=f"workers:{model.name}", status="up" if alive else "down", detail=f"{alive} of {size} alive")
